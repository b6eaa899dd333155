/* gsym transcode: the same functions in another version of the format or in the other byte order. */
#include "convert/cli/commands.h"
#include "gsym/write/copy.h"
#include "convert/cli/message.h"
#include "convert/cli/cli_options.h"
#include "convert/cli/convert/out_file.h"

#include <getopt.h>
#include <string.h>

enum {
	OPT_OUTPUT_VERSION = OPTION_LONG,
	OPT_BYTE_ORDER,
};

static const struct option_spec options[] = {
	{'o', "out-file", "FILE", "write FILE; must be given"},
	{OPT_OUTPUT_VERSION, "output-version", "1|2", "GSYM version to write (default: as it is)"},
	{OPT_BYTE_ORDER, "byte-order", "ORDER", "little or big (default: as it is)"},
	{0},
};

static const struct command_spec spec = {
	.name = "transcode",
	.operands = "FILE.gsym",
	.summary = "Writes a GSYM file again in another version or byte order, whole",
	.options = options,
};

enum byte_order {
	ORDER_AS_IT_IS,
	ORDER_LITTLE,
	ORDER_BIG,
};

struct transcoding {
	const char *input, *output;
	uint16_t version; /* 0: as it is */
	enum byte_order order;
};

static int parse_option(int key, struct transcoding *t)
{
	uint64_t version;
	switch (key) {
	case 'o': t->output = optarg; break;
	case OPT_OUTPUT_VERSION:
		if (!options_number(&spec, "output-version", optarg, 1, 2, &version))
			return STATUS_USAGE;
		t->version = (uint16_t)version;
		break;
	case OPT_BYTE_ORDER:
		if (strcmp(optarg, "little") != 0 && strcmp(optarg, "big") != 0)
			return options_error(&spec, "--byte-order is little or big, not '%s'", optarg);
		t->order = optarg[0] == 'b' ? ORDER_BIG : ORDER_LITTLE;
	}
	return STATUS_OK;
}

static int copy_all(const struct gsym_reader *reader, struct gsym_writer *writer, struct gsym_diag *diag)
{
	struct copier copier;
	struct gsym_func func;
	int err = copier_init(&copier, reader);
	if (!err)
		err = copier_begin(&copier, writer);
	if (!err)
		err = copy_tables(&copier, diag);
	for (uint32_t i = 0; !err && i < gsym_reader_info(reader)->num_addresses; i++)
		err = copy_function(&copier, i, &func, diag);
	copier_deinit(&copier);
	return err;
}

/* What @reader holds, ready to be written. */
static int encode(const struct transcoding *t, const struct gsym_reader *reader, struct gsym_writer **ret,
		  struct gsym_diag *diag)
{
	struct gsym_writer_options to = copier_options(reader);
	if (t->version)
		to.version = t->version;
	if (t->order != ORDER_AS_IT_IS)
		to.big_endian = t->order == ORDER_BIG;
	int err = gsym_writer_new(&to, ret, diag);
	if (err)
		return err;
	err = copy_all(reader, *ret, diag);
	if (err)
		gsym_writer_free(*ret);
	return err;
}

static int write_file(const char *path, struct gsym_writer *writer, struct gsym_diag *diag)
{
	struct out_file out;
	int err = out_file_open(path, &out, diag);
	if (err)
		return err;
	err = gsym_writer_finish(writer, out.fd, diag);
	if (!err)
		err = out_file_publish(&out, diag);
	out_file_discard(&out);
	return err;
}

static int transcode(const struct transcoding *t, const struct gsym_reader *reader)
{
	struct gsym_diag diag = {0};
	struct gsym_writer *writer;
	int err = encode(t, reader, &writer, &diag);
	if (err)
		return fail(t->input, err, &diag);
	err = write_file(t->output, writer, &diag);
	gsym_writer_free(writer);
	return err ? fail(t->output, err, &diag) : STATUS_OK;
}

static int run(const struct transcoding *t)
{
	struct gsym_diag diag = {0};
	struct gsym_reader *reader;
	int err = gsym_reader_open(t->input, &reader, &diag);
	if (err)
		return fail(t->input, err, &diag);
	int status = transcode(t, reader);
	gsym_reader_close(reader);
	return status;
}

int cmd_transcode(int argc, char **argv)
{
	struct transcoding t = {0};
	int key, status;
	while ((key = options_next(&spec, argc, argv)) != OPTIONS_END) {
		if (key == OPTIONS_BAD || key == OPTIONS_HELP)
			return key == OPTIONS_BAD ? STATUS_USAGE : STATUS_OK;
		status = parse_option(key, &t);
		if (status)
			return status;
	}
	if (optind + 1 != argc)
		return options_error(&spec, optind < argc ? "one FILE.gsym at a time" : "which FILE.gsym?");
	if (!t.output)
		return options_error(&spec, "write it where? Give --out-file");
	t.input = argv[optind];
	if (out_file_replaces(t.input, t.output))
		return options_error(&spec, "'%s' would be replaced by its own copy", t.input);
	return run(&t);
}

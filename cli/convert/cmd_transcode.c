/* gsym transcode: the same functions in another version of the format or in the other byte order. */
#include "cli/command/commands.h"
#include "gsym/write/copier.h"
#include "cli/command/message.h"
#include "cli/command/out_file.h"

enum byte_order {
	ORDER_AS_INPUT,
	ORDER_LITTLE,
	ORDER_BIG,
};

struct transcoding {
	const char *input, *output;
	uint16_t version; /* 0: that of the input */
	enum byte_order order;
};

static const struct option_row options[] = {
	{'o', "out-file", "FILE", "write FILE; required", OPTION_STRING(transcoding, output),
	 .required = true},
	{0, "output-version", "1|2", "GSYM version to write (default: as the input)",
	 OPTION_NUMBER(transcoding, version, 1, 2)},
	{0, "byte-order", "little|big", "byte order to write (default: as the input)",
	 OPTION_CHOICE(transcoding, order, ORDER_LITTLE)},
	OPTIONS_END,
};

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

/* Copies all of @reader into a writer. */
static int encode(const struct transcoding *t, const struct gsym_reader *reader, struct gsym_writer **ret,
		  struct gsym_diag *diag)
{
	struct gsym_writer_options to = copier_options(reader);
	if (t->version)
		to.version = t->version;
	if (t->order != ORDER_AS_INPUT)
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

static int run_transcode(int argc, char **argv)
{
	struct transcoding t = {0};
	struct gsym_diag diag = {0};
	struct gsym_reader *reader;
	int status;
	if (!options_parse(&command_transcode, &argc, argv, &t, &status))
		return status;
	t.input = argv[1];
	if (out_file_replaces(t.input, t.output))
		return options_error(&command_transcode, "%s: output would replace the input", t.input);
	int err = gsym_reader_open(t.input, &reader, &diag);
	if (err)
		return fail(t.input, err, &diag);
	status = transcode(&t, reader);
	gsym_reader_close(reader);
	return status;
}

const struct command command_transcode = {
	.name = "transcode",
	.operands = "FILE.gsym",
	.brief = "write a GSYM file again in another version or byte order",
	.summary = "Writes a whole GSYM file again in another version or byte order",
	.options = options,
	.examples = "  gsym transcode --output-version=2 -o app2.gsym app.gsym",
	.run = run_transcode,
};

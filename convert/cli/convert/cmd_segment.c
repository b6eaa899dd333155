/* gsym segment: a GSYM file cut into several of about one size. */
#include "convert/cli/commands.h"
#include "convert/cli/message.h"
#include "convert/cli/cli_options.h"
#include "convert/cli/convert/segment.h"

#include <getopt.h>

enum { OPT_SEGMENT_SIZE = OPTION_LONG };

static const struct option_spec options[] = {
	{'o', "out-file", "FILE", "write FILE-0x<address of the first function>;\nmust be given"},
	{OPT_SEGMENT_SIZE, "segment-size", "N", "begin another segment once one has N bytes;\nmust be given"},
	{0},
};

static const struct command_spec spec = {
	.name = "segment",
	.operands = "FILE.gsym",
	.summary = "Cuts a GSYM file into several that each stand alone",
	.options = options,
};

static int cut(const struct segment_options *o, const struct gsym_reader *reader)
{
	struct gsym_diag diag = {0};
	struct segment_files files = {0};
	int err = segment(reader, o, &files, &diag);
	if (!err)
		err = segment_files_publish(&files, &diag);
	segment_files_deinit(&files);
	return err ? fail(o->input, err, &diag) : STATUS_OK;
}

static int run(const struct segment_options *o)
{
	struct gsym_diag diag = {0};
	struct gsym_reader *reader;
	int err = gsym_reader_open(o->input, &reader, &diag);
	if (err)
		return fail(o->input, err, &diag);
	int status = cut(o, reader);
	gsym_reader_close(reader);
	return status;
}

int cmd_segment(int argc, char **argv)
{
	struct segment_options o = {0};
	int key;
	while ((key = options_next(&spec, argc, argv)) != OPTIONS_END) {
		if (key == OPTIONS_BAD || key == OPTIONS_HELP)
			return key == OPTIONS_BAD ? STATUS_USAGE : STATUS_OK;
		if (key == 'o')
			o.path = optarg;
		else if (!options_number(&spec, "segment-size", optarg, 1, UINT64_MAX, &o.size))
			return STATUS_USAGE;
	}
	if (optind + 1 != argc)
		return options_error(&spec, optind < argc ? "one FILE.gsym at a time" : "which FILE.gsym?");
	if (!o.path || !o.size)
		return options_error(&spec, o.path ? "how large are segments? Give --segment-size"
						   : "write them where? Give --out-file");
	o.input = argv[optind];
	return run(&o);
}

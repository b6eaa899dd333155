/* gsym segment: a GSYM file cut into several of about one size. */
#include "cli/command/commands.h"
#include "cli/command/message.h"
#include "cli/convert/segment.h"

static const struct option_row options[] = {
	{'o', "out-file", "FILE", "write FILE-0x<address of the first function>;\nrequired",
	 OPTION_STRING(segment_options, path), .required = true},
	{0, "segment-size", "N", "begin another segment once one has N bytes;\nrequired",
	 OPTION_NUMBER(segment_options, size, 1, UINT64_MAX), .required = true},
	OPTIONS_END,
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

static int run_segment(int argc, char **argv)
{
	struct segment_options o = {0};
	struct gsym_diag diag = {0};
	struct gsym_reader *reader;
	int status;
	if (!options_parse(&command_segment, &argc, argv, &o, &status))
		return status;
	o.input = argv[1];
	int err = gsym_reader_open(o.input, &reader, &diag);
	if (err)
		return fail(o.input, err, &diag);
	status = cut(&o, reader);
	gsym_reader_close(reader);
	return status;
}

const struct command command_segment = {
	.name = "segment",
	.operands = "FILE.gsym",
	.brief = "cut a GSYM file into several of about one size",
	.summary = "Cuts a GSYM file into several that each stand alone",
	.options = options,
	.examples = "  gsym segment --segment-size=1000000 -o parts app.gsym",
	.run = run_segment,
};

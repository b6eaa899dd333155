/* gsym verify: a GSYM file against the format's rules, and against the object file it was made from. */
#include "convert/cli/convert/check.h"
#include "convert/cli/commands.h"
#include "convert/cli/convert/compare.h"
#include "convert/cli/message.h"

#include <getopt.h>
#include <inttypes.h>

struct verification {
	const char *against; /* NULL: nothing to compare with */
	struct verify_options options;
};

static const struct command_option options[] = {
	{0, "against", "INPUT",
	 "derive the frames a second time from the DWARF of\nINPUT, with libdwarf, and compare",
	 OPTION_STRING(verification, against)},
	{0, "max-functions", "N", "compare about N functions, spread evenly",
	 OPTION_NUMBER(verification, options.max_functions, 1, UINT32_MAX)},
	{0},
};

static int check(const struct gsym_reader *reader, const char *path)
{
	uint64_t faults = 0;
	int err = check_gsym(reader, path, &faults);
	if (err)
		return fail(path, err, NULL);
	say(stdout, "%s: %" PRIu32 " functions, %" PRIu64 " faults", path,
	    gsym_reader_info(reader)->num_addresses, faults);
	return faults ? STATUS_FAILED : STATUS_OK;
}

static int verify_file(const struct verification *v, const char *path)
{
	struct gsym_diag diag = {0};
	struct gsym_reader *reader;
	int err = gsym_reader_open(path, &reader, &diag);
	if (err)
		return fail(path, err, &diag);
	int status = check(reader, path);
	struct comparison comparison = {
		.input = v->against, .reader = reader, .options = v->options, .file = stdout};
	if (v->against && compare(&comparison) != STATUS_OK)
		status = STATUS_FAILED;
	gsym_reader_close(reader);
	return status;
}

static int run_verify(int argc, char **argv)
{
	struct verification v = {0};
	int status;
	if (!options_parse(&command_verify, argc, argv, &v, &status))
		return status;
	if (v.against && optind + 1 != argc)
		return options_error(&command_verify, "option '--against': takes a single FILE.gsym");
	for (int i = optind; i < argc; i++)
		if (verify_file(&v, argv[i]) != STATUS_OK)
			status = STATUS_FAILED;
	return status;
}

const struct command command_verify = {
	.name = "verify",
	.operands = "FILE.gsym...",
	.brief = "check a GSYM file, alone or against the object file it was made from",
	.summary = "Decodes every record of a GSYM file and reports each fault",
	.options = options,
	.examples = "  gsym verify app.gsym\n"
		    "  gsym verify --against=./app app.gsym",
	.run = run_verify,
};

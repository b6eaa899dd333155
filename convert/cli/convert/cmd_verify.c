/* gsym verify: a GSYM file against the format's rules, and against the object file it was made from. */
#include "convert/cli/convert/check.h"
#include "convert/cli/commands.h"
#include "convert/cli/convert/compare.h"
#include "convert/cli/message.h"
#include "convert/cli/cli_options.h"

#include <getopt.h>
#include <inttypes.h>

enum {
	OPT_AGAINST = OPTION_LONG,
	OPT_MAX_FUNCTIONS,
};

static const struct option_spec options[] = {
	{OPT_AGAINST, "against", "INPUT",
	 "derive the frames once more from the DWARF of\nINPUT, with libdwarf, and compare"},
	{OPT_MAX_FUNCTIONS, "max-functions", "N", "compare about N functions, spread evenly"},
	{0},
};

static const struct command_spec spec = {
	.name = "verify",
	.operands = "FILE.gsym...",
	.summary = "Decodes every record of a GSYM file and reports each fault",
	.options = options,
};

struct verification {
	const char *against; /* NULL = nothing to compare with */
	struct verify_options options;
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

static int parse_option(int key, struct verification *v)
{
	uint64_t value;
	if (key == OPT_AGAINST) {
		v->against = optarg;
		return STATUS_OK;
	}
	if (!options_number(&spec, "max-functions", optarg, 1, UINT32_MAX, &value))
		return STATUS_USAGE;
	v->options.max_functions = (uint32_t)value;
	return STATUS_OK;
}

int cmd_verify(int argc, char **argv)
{
	struct verification v = {0};
	int key, status = STATUS_OK;
	while ((key = options_next(&spec, argc, argv)) != OPTIONS_END) {
		if (key == OPTIONS_BAD || key == OPTIONS_HELP)
			return key == OPTIONS_BAD ? STATUS_USAGE : STATUS_OK;
		if (parse_option(key, &v) != STATUS_OK)
			return STATUS_USAGE;
	}
	if (optind >= argc)
		return options_error(&spec, "which FILE.gsym?");
	if (v.against && optind + 1 != argc)
		return options_error(&spec, "--against compares one FILE.gsym");
	for (int i = optind; i < argc; i++)
		if (verify_file(&v, argv[i]) != STATUS_OK)
			status = STATUS_FAILED;
	return status;
}

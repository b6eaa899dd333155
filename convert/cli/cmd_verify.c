/* gsym verify: a GSYM file against the format's rules. */
#include "check.h"
#include "commands.h"
#include "message.h"
#include "options.h"

#include <getopt.h>
#include <inttypes.h>

static const struct option_spec options[] = {{0}};

static const struct command_spec spec = {
	.name = "verify",
	.operands = "FILE.gsym...",
	.summary = "Decodes every record of a GSYM file and reports each fault",
	.options = options,
};

static int verify_file(const char *path)
{
	struct gsym_diag diag = {0};
	struct gsym_reader *reader;
	uint64_t faults = 0;
	int err = gsym_reader_open(path, &reader, &diag);
	if (err)
		return fail(path, err, &diag);
	uint32_t functions = gsym_reader_info(reader)->num_addresses;
	err = check_gsym(reader, path, &faults);
	gsym_reader_close(reader);
	if (err)
		return fail(path, err, NULL);
	say(stdout, "%s: %" PRIu32 " functions, %" PRIu64 " faults", path, functions, faults);
	return faults ? STATUS_FAILED : STATUS_OK;
}

int cmd_verify(int argc, char **argv)
{
	int key, status = STATUS_OK;
	while ((key = options_next(&spec, argc, argv)) != OPTIONS_END)
		return key == OPTIONS_BAD ? STATUS_USAGE : STATUS_OK;
	if (optind >= argc)
		return options_error(&spec, "which FILE.gsym?");
	for (int i = optind; i < argc; i++)
		if (verify_file(argv[i]) != STATUS_OK)
			status = STATUS_FAILED;
	return status;
}

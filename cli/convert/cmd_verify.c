/* gsym verify: a GSYM file against the format's rules, and against the object file it was made from. */
#include "cli/command/commands.h"
#include "cli/convert/compare.h"
#include "cli/lookup/image_open.h"
#include "cli/command/message.h"
#include "gsym/check/check.h"

#include <inttypes.h>
#include <string.h>

enum { FAULTS_SHOWN = 100 };

struct verification {
	struct object_options object;
	const char *against; /* NULL: nothing to compare with */
	struct verify_options options;
};

static const struct option_row options[] = {
	OPTIONS_IMAGE(verification, object),
	{0, "against", "INPUT",
	 "derive the frames a second time from the DWARF of\nINPUT, with libdwarf, and compare",
	 OPTION_STRING(verification, against)},
	{0, "max-functions", "N", "compare about N functions, spread evenly",
	 OPTION_NUMBER(verification, options.max_functions, 1, UINT32_MAX)},
	OPTIONS_END,
};

/* The faults of one file, of which the first are printed. */
struct file_faults {
	const char *path;
	uint64_t n;
};

static bool print_fault(void *user, const char *text)
{
	struct file_faults *faults = user;
	if (faults->n++ >= FAULTS_SHOWN)
		return true;
	if (strncmp(text, faults->path, strlen(faults->path)) ==
	    0) /* those of the decoder begin with the file */
		complain("%s", text);
	else
		complain("%s: %s", faults->path, text);
	return true;
}

static int check_file(const struct gsym_reader *reader, const char *path)
{
	struct file_faults faults = {.path = path};
	int err = check_gsym(reader, &(struct check_report){print_fault, &faults});
	if (faults.n > FAULTS_SHOWN)
		complain("%s: %" PRIu64 " more faults", path, faults.n - FAULTS_SHOWN);
	if (err)
		return fail(path, err, NULL);
	say(stdout, "%s: %" PRIu32 " functions, %" PRIu64 " faults", path,
	    gsym_reader_info(reader)->num_addresses, faults.n);
	return faults.n ? STATUS_FAILED : STATUS_OK;
}

static int verify_image(void *user, const char *name, const struct gsym_reader *reader)
{
	const struct verification *v = user;
	int status = check_file(reader, name);
	struct comparison comparison = {
		.input = v->against, .reader = reader, .options = v->options, .file = stdout};
	if (v->against && compare(&comparison) != STATUS_OK)
		status = STATUS_FAILED;
	return status;
}

static int run_verify(int argc, char **argv)
{
	struct verification v = {0};
	int status;
	if (!options_parse(&command_verify, &argc, argv, &v, &status))
		return status;
	if (v.against && argc != 2)
		return options_error(&command_verify, "option '--against': takes a single FILE");
	return image_open_each(argc, argv, &v.object, verify_image, &v);
}

const struct command command_verify = {
	.name = "verify",
	.operands = "FILE...",
	.brief = "check a GSYM file, alone or against the object file it was made from",
	.summary = "Decodes every record of a GSYM file, or of that of an object file, which is converted "
		   "once,\n"
		   "and reports each fault",
	.options = options,
	.examples = "  gsym verify app.gsym\n"
		    "  gsym verify --against=./app app.gsym",
	.run = run_verify,
};

/* gsym convert: an object file in, a GSYM file out. */
#include "gsym/base/diag.h"
#include "gsym/base/vec.h"
#include "convert/convert.h"
#include "convert/object/identity.h"
#include "convert/cli/commands.h"
#include "convert/cli/convert/compare.h"
#include "convert/cli/message.h"
#include "convert/cli/cli_options.h"
#include "convert/cli/convert/out_file.h"
#include "convert/cli/convert/progress.h"
#include "convert/cli/convert/segment.h"
#include "convert/cli/convert/summary.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_ARCH = OPTION_LONG,
	OPT_NUM_THREADS,
	OPT_OUTPUT_VERSION,
	OPT_SEGMENT_SIZE,
	OPT_QUIET,
	OPT_VERIFY,
	OPT_JSON_SUMMARY,
	OPT_MATCH_LLVM,
	OPT_DWARF_NAMES,
	OPT_MERGED,
	OPT_CALLSITES,
	OPT_CALLSITES_FILE,
	OPT_DEBUG_DIR,
	OPT_DEBUG_FILE,
	OPT_SYMTAB_FILE,
	OPT_PROGRESS,

	THREADS_MAX = 1024,
	DEBUG_DIRS_MAX = 64,
};

static const struct option_spec options[] = {
	{'o', "out-file", "FILE", "write FILE instead of INPUT.gsym"},
	{OPT_ARCH, "arch", "ARCH",
	 "convert only the image for ARCH of a fat file, and\nrefuse others; without it, each becomes "
	 "FILE.ARCH"},
	{OPT_NUM_THREADS, "num-threads", "N",
	 "use N threads (default: one a processor);\nthe output is the same"},
	{OPT_OUTPUT_VERSION, "output-version", "1|2", "GSYM version to write (default 1)"},
	{OPT_SEGMENT_SIZE, "segment-size", "N",
	 "write several files, FILE-0x<address of the first\nfunction>, of about N bytes each"},
	{OPT_DEBUG_DIR, "debug-dir", "DIR",
	 "look for debug files below DIR; may be repeated\n(default /usr/lib/debug)"},
	{OPT_DEBUG_FILE, "debug-file", "FILE", "take the DWARF, or text symbols, from FILE"},
	{OPT_SYMTAB_FILE, "symtab-file", "FILE", "take the symbols from FILE"},
	{OPT_DWARF_NAMES, "dwarf-names", NULL,
	 "name functions as the DWARF does, not as the\nsymbol at their start"},
	{OPT_MERGED, "merged-functions", NULL,
	 "keep all functions that share a range, not\njust the one that tells most"},
	{OPT_CALLSITES, "dwarf-callsites", NULL, "keep call sites, which tell merged functions apart"},
	{OPT_CALLSITES_FILE, "callsites-yaml-file", "FILE", "add the call sites that FILE lists"},
	{OPT_MATCH_LLVM, "match-llvm", NULL, "make llvm-gsymutil's choices, for comparisons"},
	{OPT_VERIFY, "verify", NULL,
	 "derive the output's frames once more with\nlibdwarf and report differences"},
	{OPT_JSON_SUMMARY, "json-summary-file", "FILE", "write the oddities of INPUT to FILE"},
	{OPT_PROGRESS, "progress", "WHEN", "auto (default: on a terminal), always, never"},
	{OPT_QUIET, "quiet", NULL, "print errors only"},
	{0},
};

static const struct command_spec spec = {
	.name = "convert",
	.operands = "INPUT",
	.summary = "Makes a GSYM file from the debug data and symbols of an object file",
	.options = options,
};

struct conversion {
	struct convert_options convert;
	struct progress progress;
	struct segment_options segments; /* size 0: one file */
	const char *input, *output, *json;
	const char *debug_dirs[DEBUG_DIRS_MAX + 1]; /* ends with NULL */
	unsigned n_debug_dirs;
	bool quiet, verify;
};

static int parse_debug_dir(struct conversion *c)
{
	if (c->n_debug_dirs == DEBUG_DIRS_MAX)
		return options_error(&spec, "--debug-dir may be given %d times", DEBUG_DIRS_MAX);
	c->debug_dirs[c->n_debug_dirs++] = optarg;
	return STATUS_OK;
}

static int parse_progress(struct conversion *c, const char *word)
{
	if (strcmp(word, "auto") == 0)
		c->progress.visible = isatty(STDERR_FILENO);
	else if (strcmp(word, "always") == 0)
		c->progress.visible = true;
	else if (strcmp(word, "never") == 0)
		c->progress.visible = false;
	else
		return options_error(&spec, "--progress is auto, always or never, not '%s'", word);
	return STATUS_OK;
}

static int parse_number(int key, struct conversion *c)
{
	uint64_t value;
	switch (key) {
	case OPT_NUM_THREADS:
		if (!options_number(&spec, "num-threads", optarg, 1, THREADS_MAX, &value))
			return STATUS_USAGE;
		c->convert.threads = (unsigned)value;
		break;
	case OPT_OUTPUT_VERSION:
		if (!options_number(&spec, "output-version", optarg, 1, 2, &value))
			return STATUS_USAGE;
		c->convert.version = (uint16_t)value;
		break;
	case OPT_SEGMENT_SIZE:
		if (!options_number(&spec, "segment-size", optarg, 1, UINT64_MAX, &c->segments.size))
			return STATUS_USAGE;
	}
	return STATUS_OK;
}

static int parse_option(int key, struct conversion *c)
{
	switch (key) {
	case 'o': c->output = optarg; break;
	case OPT_ARCH: c->convert.arch = optarg; break;
	case OPT_NUM_THREADS:
	case OPT_OUTPUT_VERSION:
	case OPT_SEGMENT_SIZE: return parse_number(key, c);
	case OPT_DWARF_NAMES: c->convert.dwarf_names = true; break;
	case OPT_MERGED: c->convert.merged = true; break;
	case OPT_CALLSITES: c->convert.callsites = true; break;
	case OPT_CALLSITES_FILE: c->convert.callsites_file = optarg; break;
	case OPT_DEBUG_DIR: return parse_debug_dir(c);
	case OPT_DEBUG_FILE: c->convert.debug_file = optarg; break;
	case OPT_SYMTAB_FILE: c->convert.symtab_file = optarg; break;
	case OPT_MATCH_LLVM: c->convert.match_llvm = true; break;
	case OPT_VERIFY: c->verify = true; break;
	case OPT_JSON_SUMMARY: c->json = optarg; break;
	case OPT_PROGRESS: return parse_progress(c, optarg);
	case OPT_QUIET: c->quiet = true; break;
	}
	return STATUS_OK;
}

static int verify_output(const struct conversion *c, int fd)
{
	struct gsym_diag diag = {0};
	struct gsym_reader *reader;
	int err = gsym_reader_open_fd(fd, c->output, &reader, &diag);
	if (err)
		return fail(c->output, err, &diag);
	struct comparison comparison = {
		.input = c->input, .reader = reader, .file = stderr, .quiet = c->quiet, .dwarf_or_not = true};
	int status = compare(&comparison);
	gsym_reader_close(reader);
	return status;
}

static int cut(const struct conversion *c, const struct out_file *whole, struct segment_files *ret,
	       struct gsym_diag *diag)
{
	struct gsym_reader *reader;
	int err = gsym_reader_open_fd(whole->fd, c->output, &reader, diag);
	if (err)
		return err;
	err = segment(reader, &c->segments, ret, diag);
	gsym_reader_close(reader);
	return err;
}

static void tell(const struct conversion *c, const struct segment_files *segments,
		 struct convert_summary *summary)
{
	CLEANUP(freep) char *several = NULL;
	if (segments->files.n) {
		summary->output_size = segments->bytes;
		several = segment_files_name(segments);
	}
	summary_print(stderr, c->input, several ? several : c->output, summary);
}

/* What follows a conversion that went well. Differences do not keep the output from being published. */
static int conclude(const struct conversion *c, struct out_file *out, struct segment_files *segments,
		    struct convert_summary *summary)
{
	struct gsym_diag diag = {0};
	int status = STATUS_OK;
	int err = c->segments.size ? cut(c, out, segments, &diag) : 0;
	if (err)
		return fail(c->output, err, &diag);
	if (!c->quiet)
		tell(c, segments, summary);
	err = c->json ? summary_write_json(c->json, summary, &diag) : 0;
	if (err)
		return fail(c->json, err, &diag);
	if (c->verify)
		status = verify_output(c, out->fd);
	err = c->segments.size ? segment_files_publish(segments, &diag) : out_file_publish(out, &diag);
	return err ? fail(c->output, err, &diag) : status;
}

static int convert(struct conversion *c)
{
	struct gsym_diag diag = {0};
	struct convert_summary summary = {0};
	struct segment_files segments = {0};
	struct out_file out;
	int status;
	int err = out_file_open(c->output, &out, &diag);
	if (!err && c->segments.size && !out.temp)
		err = diag_set(&diag, -EINVAL, "%s: is no regular file: segments need one's name", c->output);
	if (err)
		return fail(c->output, err, &diag);
	progress_start(&c->progress, &c->convert);
	err = convert_file(c->input, &c->convert, out.fd, &summary, &diag);
	progress_end(&c->progress);
	if (err) {
		status = fail(c->input, err, &diag);
	} else {
		status = conclude(c, &out, &segments, &summary);
		convert_summary_deinit(&summary);
	}
	segment_files_deinit(&segments);
	out_file_discard(&out);
	return status;
}

/* "BASE.arm64"; "BASE.arm64.2" for the second image that is called so. NULL without memory. */
static char *slice_output(const char *base, const struct image_identity *images, size_t index)
{
	char number[24] = "", *output;
	size_t same = 1;
	for (size_t i = 0; i < index; i++)
		same += strcmp(images[i].arch, images[index].arch) == 0;
	if (same > 1)
		snprintf(number, sizeof(number), ".%zu", same);
	return asprintf(&output, "%s.%s%s", base, images[index].arch, number) < 0 ? NULL : output;
}

/* One output for each image of a fat file, called after its architecture. One that fails does not keep others
 * back. */
static int convert_each(struct conversion *c, const struct image_identity *images, size_t n)
{
	const char *base = c->output;
	int status = STATUS_OK;
	for (size_t i = 0; i < n; i++) {
		CLEANUP(freep) char *output = slice_output(base, images, i);
		if (!output)
			return fail(c->input, -ENOMEM, NULL);
		c->output = c->segments.path = output;
		c->convert.arch = images[i].arch;
		c->convert.id = images[i].id;
		c->convert.id_size = images[i].id_is_hash ? 0 : images[i].id_size;
		int failed = convert(c);
		status = status ? status : failed;
	}
	return status;
}

/* Converts the image that was chosen, or all there are. */
static int convert_all(struct conversion *c)
{
	struct image_identity images[IDENTITIES_MAX];
	size_t n = 0;
	int fd = c->convert.arch ? -1 : open(c->input, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	/* What is wrong with the file the conversion will say. */
	if (fd >= 0 && begins_like_fat_file(fd) && identify_descriptor(fd, c->input, images, &n, NULL))
		n = 0;
	if (fd >= 0)
		close(fd);
	return n > 1 ? convert_each(c, images, n) : convert(c);
}

/* The whole, of which nobody sees more than the segments, is written with wide fields: they alone need fit.
 */
static void ask_for_segments(struct conversion *c)
{
	c->segments.path = c->output;
	c->segments.input = c->input;
	c->segments.version = c->convert.version;
	c->convert.version = 2;
}

int cmd_convert(int argc, char **argv)
{
	struct conversion c = {.convert.version = 1, .progress.visible = isatty(STDERR_FILENO)};
	CLEANUP(freep) char *beside = NULL;
	int key, status;
	while ((key = options_next(&spec, argc, argv)) != OPTIONS_END) {
		if (key == OPTIONS_BAD || key == OPTIONS_HELP)
			return key == OPTIONS_BAD ? STATUS_USAGE : STATUS_OK;
		status = parse_option(key, &c);
		if (status)
			return status;
	}
	if (optind + 1 != argc)
		return options_error(&spec, optind < argc ? "one INPUT at a time" : "which INPUT?");
	c.input = argv[optind];
	if (!c.n_debug_dirs)
		c.debug_dirs[0] = "/usr/lib/debug";
	c.convert.debug_dirs = c.debug_dirs;
	if (!c.output && asprintf(&beside, "%s.gsym", c.input) < 0)
		return fail(c.input, -ENOMEM, NULL);
	if (!c.output)
		c.output = beside;
	if (c.segments.size)
		ask_for_segments(&c);
	else if (out_file_replaces(c.input, c.output))
		return options_error(&spec, "'%s' would be replaced by its own conversion", c.input);
	return convert_all(&c);
}

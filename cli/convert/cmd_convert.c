/* gsym convert: an object file in, a GSYM file out. */
#include "gsym/base/diag.h"
#include "gsym/codec/format.h"
#include "gsym/base/vec.h"
#include "convert/convert.h"
#include "convert/identity/identity.h"
#include "convert/object/macho/macho.h"
#include "cli/command/bundle.h"
#include "cli/command/commands.h"
#include "cli/convert/compare.h"
#include "cli/command/message.h"
#include "cli/command/out_file.h"
#include "cli/convert/segment.h"
#include "cli/convert/summary.h"
#include "cli/convert/recursive.h"
#include "cli/store/convert_shared.h"
#include "work/run/defaults.h"
#include "work/os/monotonic.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	THREADS_MAX = 1024,
	JOBS_MAX = 1024,
	PROGRESS_INTERVAL_MS = 100,
};

/* ---- A line on the terminal while a conversion runs, and a way to stop it ---- */

struct progress_line {
	bool visible;
	bool dirty;    /* a line is shown and has to be erased */
	int64_t shown; /* milliseconds of the monotonic clock when the line was last written */
};

/* Static, because a signal handler takes no argument. */
static volatile sig_atomic_t stopped;

static void stop_on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static double megabytes(uint64_t bytes)
{
	return (double)bytes / 1e6;
}

static void show_progress(const struct convert_progress *p)
{
	fprintf(stderr, "\r%s %" PRIu64, p->phase == CONVERT_READING ? "reading unit" : "writing function",
		p->done);
	if (p->total)
		fprintf(stderr, " of %" PRIu64, p->total);
	if (p->bytes_total)
		fprintf(stderr, ", %.1f of %.1f MB", megabytes(p->bytes_done), megabytes(p->bytes_total));
	fputs("\033[K", stderr);
}

static int report_progress(void *user, const struct convert_progress *p)
{
	struct progress_line *progress = user;
	int64_t now = progress->visible ? monotonic_ms() : 0;
	if (progress->visible && now - progress->shown >= PROGRESS_INTERVAL_MS) {
		show_progress(p);
		progress->shown = now;
		progress->dirty = true;
	}
	return stopped;
}

/*
 * Makes @options report to @progress. From now on SIGINT and SIGTERM make the conversion return
 * -ECANCELED, so that its output can be removed; a second signal terminates the process.
 */
static void progress_start(struct progress_line *progress, struct convert_options *options)
{
	struct sigaction action = {.sa_handler = stop_on_signal, .sa_flags = SA_RESETHAND};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	progress->shown = monotonic_ms();
	options->progress = report_progress;
	options->progress_user = progress;
}

/* Erases the line. */
static void progress_end(struct progress_line *progress)
{
	if (progress->dirty)
		fputs("\r\033[K", stderr);
	progress->dirty = false;
}

/* ---- Options ---- */

enum progress_mode {
	PROGRESS_AUTO,
	PROGRESS_ALWAYS,
	PROGRESS_NEVER,
};

struct convert_command {
	struct convert_options convert;
	struct progress_line progress;
	enum progress_mode progress_mode;
	struct segment_options segments; /* size 0: one file */
	const char *input, *output, *json;
	const char *output_dir; /* of a whole directory */
	unsigned jobs;
	struct option_list debug_dirs, sources;
	const char *shared; /* address of a store */
	struct session_options session;
	bool quiet, verify, names_only, recursive;
	bool silent; /* with @recursive: --quiet was given */
};

static const struct option_row options[] = {
	{'o', "out-file", "FILE", "write FILE instead of INPUT.gsym", OPTION_STRING(convert_command, output)},
	{0, "arch", "ARCH",
	 "convert only the image for ARCH of a universal\n(fat) file, and refuse files for others;\n"
	 "without it, each becomes FILE.ARCH",
	 OPTION_STRING(convert_command, convert.arch)},
	{0, "num-threads", "N", "use N threads (default: number of processors);\nthe output is the same",
	 OPTION_NUMBER(convert_command, convert.threads, 1, THREADS_MAX)},
	{0, "output-version", "1|2", "GSYM version to write (default: 1, or 2 if that\ncannot hold the file)",
	 OPTION_NUMBER(convert_command, convert.version, 1, 2)},
	{0, "segment-size", "N",
	 "write several files, FILE-0x<address of the first\nfunction>, of about N bytes each",
	 OPTION_NUMBER(convert_command, segments.size, 1, UINT64_MAX)},
	{0, "debug-dir", "DIR",
	 "search DIR for debug files; may be repeated\n(default " DEBUG_DIR_DEFAULT ")",
	 OPTION_LIST(convert_command, debug_dirs)},
	{0, "debug-file", "FILE", "read the DWARF, PDB or text symbols from FILE",
	 OPTION_STRING(convert_command, convert.debug_file)},
	{0, "symtab-file", "FILE", "read the symbol table from FILE",
	 OPTION_STRING(convert_command, convert.symtab_file)},
	{0, "dwarf-names", NULL, "name functions as the DWARF does, not as the\nsymbol at their start",
	 OPTION_FLAG(convert_command, convert.dwarf_names)},
	{0, "merged-functions", NULL,
	 "keep all functions that share a range, not just\nthe one with the most debug information",
	 OPTION_FLAG(convert_command, convert.merged)},
	{0, "dwarf-callsites", NULL, "keep call sites, which tell merged functions apart",
	 OPTION_FLAG(convert_command, convert.callsites)},
	{0, "no-lines", NULL, "leave out the line tables", OPTION_FLAG(convert_command, convert.omit_lines)},
	{0, "no-inline", NULL, "leave out the inlined calls",
	 OPTION_FLAG(convert_command, convert.omit_inlines)},
	{0, "names-only", NULL, "leave out both: a small file for the names of\nfunctions",
	 OPTION_FLAG(convert_command, names_only)},
	{0, "callsites-yaml-file", "FILE", "add the call sites listed in FILE",
	 OPTION_STRING(convert_command, convert.callsites_file)},
	{0, "match-llvm", NULL, "make llvm-gsymutil's choices, for comparisons",
	 OPTION_FLAG(convert_command, convert.match_llvm)},
	{0, "verify", NULL, "derive the output's frames a second time with\nlibdwarf and report differences",
	 OPTION_FLAG(convert_command, verify)},
	{0, "json-summary-file", "FILE", "write the warnings of INPUT to FILE",
	 OPTION_STRING(convert_command, json)},
	{0, "progress", "auto|always|never", "show progress; auto (default): on a terminal",
	 OPTION_CHOICE(convert_command, progress_mode, PROGRESS_AUTO)},
	{0, "recursive", NULL, "INPUT is a directory: convert all object files in it",
	 OPTION_FLAG(convert_command, recursive)},
	{0, "output-dir", "DIR",
	 "with --recursive: write to DIR, in directories as\nthose of INPUT, instead of beside the object "
	 "files",
	 OPTION_STRING(convert_command, output_dir)},
	{0, "jobs", "N", "with --recursive: convert N files at a time\n(default: number of processors)",
	 OPTION_NUMBER(convert_command, jobs, 1, JOBS_MAX)},
	{0, "quiet", NULL, "print errors only", OPTION_FLAG(convert_command, quiet)},
	{0, "shared", "ADDRESS",
	 "convert as gsymfs does, and publish the conversion\nin the store ADDRESS: a directory,\n"
	 "https://HOST/PATH or s3://BUCKET/PREFIX",
	 OPTION_STRING(convert_command, shared)},
	{0, "source", "DIR",
	 "with --shared: SOURCE of the daemons that use the\nstore; may be repeated (default: the directory\n"
	 "of INPUT)",
	 OPTION_LIST(convert_command, sources)},
	OPTIONS_SESSION(convert_command, session),
	OPTIONS_END,
};

static int verify_output(const struct convert_command *c, int fd)
{
	struct gsym_diag diag = {0};
	struct gsym_reader *reader;
	int err = gsym_reader_open_fd(fd, c->output, &reader, &diag);
	if (err)
		return fail(c->output, err, &diag);
	struct comparison comparison = {.input = c->input,
					.reader = reader,
					.file = stderr,
					.quiet = c->quiet,
					.dwarf_optional = true};
	int status = compare(&comparison);
	gsym_reader_close(reader);
	return status;
}

static int cut(const struct convert_command *c, const struct out_file *whole, struct segment_files *ret,
	       struct gsym_diag *diag)
{
	struct gsym_reader *reader;
	int err = gsym_reader_open_fd(whole->fd, c->output, &reader, diag);
	if (err)
		return err;
	struct segment_options to = c->segments;
	if (!to.version)
		to.version = gsym_reader_info(reader)->uuid_size > V1_UUID_MAX ? 2 : 1;
	err = segment(reader, &to, ret, diag);
	gsym_reader_close(reader);
	return err;
}

static int report_output(const struct convert_command *c, const struct segment_files *segments,
			 struct convert_summary *summary)
{
	CLEANUP(freep) char *several = NULL;
	if (segments->files.n) {
		summary->output_size = segments->bytes;
		several = segment_files_name(segments);
		if (!several)
			return -ENOMEM;
	}
	summary_print(stderr, c->input, several ? several : c->output, summary);
	return 0;
}

/* After a successful conversion. The output is published even if verification finds differences. */
static int conclude(const struct convert_command *c, struct out_file *out, struct segment_files *segments,
		    struct convert_summary *summary)
{
	struct gsym_diag diag = {0};
	int status = STATUS_OK;
	int err = c->segments.size ? cut(c, out, segments, &diag) : 0;
	if (err)
		return fail(c->output, err, &diag);
	err = c->quiet ? 0 : report_output(c, segments, summary);
	if (err)
		return fail(c->output, err, NULL);
	err = c->json ? summary_write_json(c->json, summary, &diag) : 0;
	if (err)
		return fail(c->json, err, &diag);
	if (c->verify)
		status = verify_output(c, out->fd);
	err = c->segments.size ? segment_files_publish(segments, &diag) : out_file_publish(out, &diag);
	return err ? fail(c->output, err, &diag) : status;
}

static int convert(struct convert_command *c)
{
	struct gsym_diag diag = {0};
	struct convert_summary summary = {0};
	struct segment_files segments = {0};
	struct out_file out;
	int status;
	int err = out_file_open(c->output, &out, &diag);
	if (!err && c->segments.size && !out.temp)
		err = diag_set(&diag, -EINVAL,
			       "%s: not a regular file; segments are named after a regular file", c->output);
	if (err)
		return fail(c->output, err, &diag);
	progress_start(&c->progress, &c->convert);
	err = convert_file(c->input, &c->convert, out.fd, &summary, &diag);
	progress_end(&c->progress);
	if (err == -ENODATA && c->recursive) { /* among the object files of a directory some have no code */
		if (!c->silent)
			fail(c->input, err, &diag);
		status = RECURSIVE_NOT_OBJECT;
	} else if (err) {
		status = fail(c->input, err, &diag);
	} else {
		status = conclude(c, &out, &segments, &summary);
		convert_summary_deinit(&summary);
	}
	segment_files_deinit(&segments);
	out_file_discard(&out);
	return status;
}

/* "BASE.arm64"; "BASE.arm64.2" for the second image of that architecture. NULL without memory. */
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

/*
 * Writes a file for each image of a universal file, named after its architecture; continues after failures.
 */
static int convert_each(struct convert_command *c, const struct image_identity *images, size_t n)
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

/* Converts the image that was chosen, or all images of the file. */
static int convert_all(struct convert_command *c)
{
	struct identities images = {.n = 0};
	int fd = c->convert.arch ? -1 : open(c->input, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	/* Errors are left to the conversion, which reports them. */
	if (fd >= 0 && begins_like_fat_file(fd) && identify_descriptor(fd, c->input, 0, &images, NULL))
		images.n = 0;
	if (fd >= 0)
		close(fd);
	return images.n > 1 ? convert_each(c, images.list, images.n) : convert(c);
}

/* Whether the file is an object file, or may be one. */
static bool may_be_object(const char *path)
{
	struct identities images = {.n = 0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return true; /* the conversion reports why */
	int err = identify_descriptor(fd, path, 0, &images, NULL);
	close(fd);
	return err || images.n;
}

/* Converts one of the files of a directory. */
static int convert_below(void *user, const char *input, const char *output)
{
	struct convert_command *c = user;
	CLEANUP(freep) char *path = strdup(output);
	if (!may_be_object(input))
		return RECURSIVE_NOT_OBJECT;
	int err = !path ? -ENOMEM : c->output_dir ? recursive_make_parents(path) : 0;
	if (err)
		return fail(output, err, NULL);
	c->input = input;
	c->output = path;
	return convert_all(c);
}

static int convert_tree(struct convert_command *c)
{
	const struct recursive_job job = {.dir = c->input,
					  .output = c->output_dir,
					  .jobs = c->jobs,
					  .convert = convert_below,
					  .user = c};
	struct recursive_outcome outcome;
	c->silent = c->quiet;
	c->quiet = true; /* the files have no summaries of their own */
	if (!c->convert.threads)
		c->convert.threads = 1; /* each job has a processor */
	int err = recursive_convert(&job, &outcome);
	if (!c->silent)
		say(stderr, "%s: %lu files converted, %lu failed, %lu without code to convert", job.dir,
		    outcome.converted, outcome.failed, outcome.skipped);
	return err || outcome.failed ? STATUS_FAILED : STATUS_OK;
}

static int check_tree(const struct convert_command *c)
{
	if (!c->recursive && (c->output_dir || c->jobs))
		return options_error(&command_convert, "option '--%s': needs '--recursive'",
				     c->output_dir ? "output-dir" : "jobs");
	if (c->recursive && (c->output || c->json || c->segments.size))
		return options_error(&command_convert, "option '--%s': conflicts with '--recursive'",
				     c->output ? "out-file"
				     : c->json ? "json-summary-file"
					       : "segment-size");
	return STATUS_OK;
}

/* Only the segments have to fit the version: the whole, a temporary file, is written with wide fields. */
static void convert_for_segments(struct convert_command *c)
{
	c->segments.path = c->output;
	c->segments.input = c->input;
	c->segments.version = c->convert.version;
	c->convert.version = 2;
}

/* The name of an option whose effect a store has no place for; NULL: none is given. */
static const char *unshared_option(const struct convert_command *c)
{
	const struct convert_options *o = &c->convert;
	const struct {
		bool given;
		const char *name;
	} options_given[] = {
		{o->threads, "num-threads"},
		{o->version, "output-version"},
		{c->segments.size, "segment-size"},
		{o->debug_file, "debug-file"},
		{o->symtab_file, "symtab-file"},
		{o->dwarf_names, "dwarf-names"},
		{o->callsites, "dwarf-callsites"},
		{c->names_only, "names-only"},
		{o->omit_lines, "no-lines"},
		{o->omit_inlines, "no-inline"},
		{o->callsites_file, "callsites-yaml-file"},
		{o->match_llvm, "match-llvm"},
		{c->verify, "verify"},
		{c->json, "json-summary-file"},
		{c->progress_mode != PROGRESS_AUTO, "progress"},
		{c->recursive, "recursive"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(options_given); i++)
		if (options_given[i].given)
			return options_given[i].name;
	return NULL;
}

static int check_shared(const struct convert_command *c)
{
	const struct session_options *s = &c->session;
	const char *unshared = unshared_option(c), *server = session_secret(s);
	if (c->shared && unshared)
		return options_error(
			&command_convert,
			"option '--%s': conflicts with '--shared', which converts as gsymfs does", unshared);
	if (!c->shared && (server || s->sign_key || s->trusted_keys || c->sources.n))
		return options_error(&command_convert, "option '--%s': needs '--shared'",
				     server            ? server
				     : s->sign_key     ? "sign-key"
				     : s->trusted_keys ? "trusted-keys"
						       : "source");
	return STATUS_OK;
}

static int convert_into_store(const struct convert_command *c)
{
	const struct convert_shared shared = {
		.address = c->shared,
		.session = c->session,
		.object = {.arch = c->convert.arch, .debug_dirs = &c->debug_dirs, .sources = &c->sources},
		.input = c->input,
		.output = c->output,
		.quiet = c->quiet,
	};
	return convert_shared(&shared);
}

/* Beside the input, also if that is a directory: a bundle. NULL without memory. */
static char *default_name(const char *input)
{
	int size = (int)strlen(input);
	char *name;
	while (size > 1 && input[size - 1] == '/')
		size--;
	return asprintf(&name, "%.*s.gsym", size, input) < 0 ? NULL : name;
}

static int run_convert(int argc, char **argv)
{
	struct convert_command c = {0};
	CLEANUP(freep) char *default_output = NULL;
	char file[PATH_MAX];
	struct gsym_diag diag = {""};
	int status;
	if (!options_parse(&command_convert, &argc, argv, &c, &status))
		return status;
	status = check_shared(&c);
	if (status != STATUS_OK)
		return status;
	c.convert.omit_lines |= c.names_only;
	c.convert.omit_inlines |= c.names_only;
	if (c.verify && (c.convert.omit_lines || c.convert.omit_inlines))
		return options_error(&command_convert,
				     "option '--verify': conflicts with leaving out lines or inlined calls");
	c.progress.visible = c.progress_mode == PROGRESS_ALWAYS ||
			     (c.progress_mode == PROGRESS_AUTO && isatty(STDERR_FILENO));
	c.input = argv[1];
	if (!c.debug_dirs.n)
		c.debug_dirs.v[0] = DEBUG_DIR_DEFAULT;
	c.convert.debug_dirs = c.debug_dirs.v;
	status = check_tree(&c);
	if (status != STATUS_OK || c.recursive)
		return status != STATUS_OK ? status : convert_tree(&c);
	if (!c.output && !(default_output = default_name(c.input)))
		return fail(c.input, -ENOMEM, NULL);
	if (!c.output)
		c.output = default_output;
	int err = bundle_resolve(c.input, file, &diag);
	if (err)
		return fail(c.input, err, &diag);
	c.input = file;
	if (c.segments.size)
		convert_for_segments(&c);
	else if (out_file_replaces(c.input, c.output))
		return options_error(&command_convert, "%s: output would replace the input", c.input);
	return c.shared ? convert_into_store(&c) : convert_all(&c);
}

const struct command command_convert = {
	.name = "convert",
	.operands = "INPUT",
	.brief = "make a GSYM file from an object file",
	.summary = "Makes a GSYM file from the debug data and symbols of an object file",
	.options = options,
	.examples = "  gsym convert ./app\n"
		    "  gsym convert -o app.gsym --debug-file=app.debug ./app\n"
		    "  gsym convert --names-only -o names.gsym ./app\n"
		    "  gsym convert --recursive --output-dir=symbols ./build",
	.run = run_convert,
};

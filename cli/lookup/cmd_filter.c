/*
 * gsym filter: copies a log from standard input to standard output with its addresses symbolized.
 *
 * Output is flushed when no input is pending, and an open stack after a short time without input, so that
 * "dmesg -w | gsym filter" keeps up.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/commands.h"
#include "cli/command/message.h"
#include "cli/lookup/core_maps.h"
#include "cli/lookup/fixed_program.h"
#include "cli/lookup/image_files.h"
#include "cli/lookup/load_options.h"
#include "cli/lookup/process_maps.h"

enum {
	INPUT_SIZE = 64 * 1024,
	PAUSE_MS = 100, /* without input for this long, a stack has ended */
};

/* ---- Where modules are in memory, as options tell it ---- */

struct filter_maps {
	struct option_list maps;  /* files with lines of /proc/PID/maps among others */
	struct option_list pids;  /* processes */
	struct option_list cores; /* ELF core files */
	struct load_options load;
};

#define LOADED_MAX (UINT64_C(4) << 30) /* bytes of memory that a module is taken to have */

static int out_of_memory(void)
{
	return fail("mappings", -ENOMEM, NULL);
}

/* ---- Lists of mappings ---- */

static int read_lines(const char *path, struct filter *filter)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int err = 0;
	if (!file)
		return fail(path, -errno, NULL);
	while (!err && (n = getline(&line, &room, file)) >= 0)
		err = filter_add_mapping(filter, line, (size_t)n);
	int status = err ? out_of_memory() : feof(file) ? STATUS_OK : fail(path, -errno, NULL);
	free(line);
	fclose(file);
	return status;
}

/* Tells @filter of lines, unless they could not be read: @err, of @path. */
static int add_lines(const char *path, const struct text_buf *lines, int err, const struct gsym_diag *diag,
		     struct filter *filter)
{
	int status = err ? fail(path, err, diag) : STATUS_OK;
	for (size_t at = 0, size; status == STATUS_OK && at < lines->n; at += size) {
		size = (size_t)((char *)memchr(lines->v + at, '\n', lines->n - at) + 1 - (lines->v + at));
		if (filter_add_mapping(filter, lines->v + at, size))
			status = out_of_memory();
	}
	return status;
}

static int read_process(const struct command *command, const char *pid, struct filter *filter)
{
	char path[64];
	struct text_buf lines = {0};
	if (!*pid || pid[strspn(pid, "0123456789")] ||
	    snprintf(path, sizeof(path), "/proc/%s/maps", pid) >= (int)sizeof(path))
		return options_error(command, "option '--pid': invalid value '%s'; allowed is a process ID",
				     pid);
	int err = process_maps_read(pid, &lines);
	int status = add_lines(path, &lines, err, NULL, filter);
	text_deinit(&lines);
	return status;
}

static int read_core(const char *path, struct filter *filter)
{
	struct text_buf lines = {0};
	struct gsym_diag diag = {""};
	int err = core_maps_read(path, &lines, &diag);
	int status = add_lines(path, &lines, err, &diag, filter);
	text_deinit(&lines);
	return status;
}

/* ---- Load addresses ---- */

/* The range of a module ends where the next one begins. */
static int add_base(const struct load_options *load, size_t i, const struct image_files *images,
		    struct filter *filter)
{
	const struct load_base *base = &load->bases[i];
	struct filter_module module = {.is_kernel = false};
	uint64_t end = base->addr;
	if (__builtin_add_overflow(end, LOADED_MAX, &end))
		end = UINT64_MAX;
	for (size_t k = 0; k < load->n; k++)
		if (load->bases[k].addr > base->addr && load->bases[k].addr < end)
			end = load->bases[k].addr;
	if (base->name)
		memcpy(module.name, base->name, base->size);
	else
		load_module_name(images->list.v[0].name, module.name, sizeof(module.name));
	module.is_kernel = strcmp(module.name, "vmlinux") == 0;
	return filter_add_module(filter, &module, base->addr, end, 0, false) ? out_of_memory() : STATUS_OK;
}

/* The only file is where it was linked to, but for the slide. */
static int add_slide(uint64_t slide, const struct image_files *images, struct filter *filter)
{
	struct filter_module module = {.is_kernel = false};
	load_module_name(images->list.v[0].name, module.name, sizeof(module.name));
	return filter_add_module(filter, &module, slide, UINT64_MAX, 0, true) ? out_of_memory() : STATUS_OK;
}

/* Adds where the code of @path is, if that is a program that cannot move; other files are read elsewhere. */
static int add_fixed(const char *path, struct filter *filter)
{
	struct filter_module module = {.is_kernel = false};
	struct address_list code = {.list = {NULL}};
	const char *name = strrchr(path, '/');
	int err = fixed_program_read(path, &code);
	snprintf(module.name, sizeof(module.name), "%s", name ? name + 1 : path);
	for (size_t i = 0; !err && i + 1 < code.list.n; i += 2)
		err = filter_add_fixed(filter, &module, code.list.v[i], code.list.v[i + 1]);
	vec_free(&code.list);
	return err ? out_of_memory() : STATUS_OK;
}

/* Tells @filter of them. Prints errors and returns an enum command_status. */
static int filter_maps_read(const struct command *command, const struct filter_maps *maps,
			    const struct image_files *images, struct filter *filter)
{
	int status = STATUS_OK;
	for (size_t i = 0; status == STATUS_OK && i < maps->maps.n; i++)
		status = read_lines(maps->maps.v[i], filter);
	for (size_t i = 0; status == STATUS_OK && i < maps->pids.n; i++)
		status = read_process(command, maps->pids.v[i], filter);
	for (size_t i = 0; status == STATUS_OK && i < maps->cores.n; i++)
		status = read_core(maps->cores.v[i], filter);
	for (size_t i = 0; status == STATUS_OK && i < maps->load.n; i++)
		status = add_base(&maps->load, i, images, filter);
	for (size_t i = 0; status == STATUS_OK && !maps->load.has_slide && i < images->n_given; i++)
		status = add_fixed(images->list.v[i].name, filter);
	return status == STATUS_OK && maps->load.has_slide ? add_slide(maps->load.slide, images, filter)
							   : status;
}

struct filtering {
	struct image_files images;
	struct filter_options how;
	struct filter_maps maps;
	size_t reported; /* of the entries of filter_unexplained() */
	bool quiet;
	int style; /* enum log_style */
	int color; /* enum color */
	bool full_names;
};

enum log_style { STYLE_LOG, STYLE_FOLDED_STACKS };
enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

static const struct option_row options[] = {
	OPTIONS_IMAGE(filtering, images.options),
	{0, "by-name", NULL,
	 "find them there by file name if the log has no id\nand only one image has that name",
	 OPTION_FLAG(filtering, images.by_name)},
	{0, "maps", "FILE",
	 "addresses in memory are of the mappings in FILE,\nas in /proc/PID/maps; may be repeated",
	 OPTION_LIST(filtering, maps.maps)},
	{0, "pid", "PID", "they are of this process", OPTION_LIST(filtering, maps.pids)},
	{0, "core", "FILE", "they are of the process with this core file",
	 OPTION_LIST(filtering, maps.cores)},
	OPTIONS_LOAD(filtering, maps.load),
	OPTION_STRIP_PREFIX(filtering, images.strip),
	{0, "format", "log|json|stack",
	 "output: the log, an object for each frame and for\nthe text between, or stacks for 'gsym stack'\n"
	 "(default log)",
	 OPTION_CHOICE(filtering, how.output, FILTER_LOG)},
	{0, "style", "log|folded", "input: any log, or folded stacks of flame graphs\n(default log)",
	 OPTION_CHOICE(filtering, style, 0)},
	{0, "color", "auto|always|never",
	 "mark what was added, and shorten it as on a\nterminal (default auto)",
	 OPTION_CHOICE(filtering, color, COLOR_AUTO)},
	{0, "full-names", NULL,
	 "on a terminal, print template arguments of long\nnames, and inlined calls in the middle of a "
	 "line",
	 OPTION_FLAG(filtering, full_names)},
	OPTION_APPROXIMATE(filtering, how.near),
	OPTION_MARK_MERGED(filtering, how.mark_merged),
	OPTIONS_DEMANGLE(filtering, how.demangle),
	{0, "quiet", NULL, "do not tell what was not explained, and why", OPTION_FLAG(filtering, quiet)},
	OPTIONS_END,
};

/* ---- What was not explained ---- */

static bool is_of_other_build(const struct filter_unexplained *frame)
{
	return frame->cause == FILTER_OTHER_BUILD || frame->cause == FILTER_REJECTED;
}

static void report_build(const struct filter_unexplained *frame)
{
	bool rejected = frame->cause == FILTER_REJECTED;
	if (!frame->logged_size) {
		complain("%s: the log is of another build: %s, too, starts elsewhere in the image; all its "
			 "frames are left as they are while others do",
			 frame->module.name, frame->symbol);
		return;
	}
	complain("%s: the log %s of another build: %s%s has 0x%" PRIx64 " bytes there, 0x%" PRIx64
		 " in the image; %s left as they are",
		 frame->module.name, rejected ? "is" : "seems to be", frame->symbol, rejected ? ", too," : "",
		 frame->logged_size, frame->image_size,
		 rejected ? "all its frames from here on are" : "such frames are");
}

/*
 * Tells at once of frames with another size than in the image: a log that is followed has no end.
 *
 * @filter: after a call of filter_write()
 * @reported:   entries of filter_unexplained() looked at; advanced
 */
static void filter_report_builds(const struct filter *filter, size_t *reported)
{
	const struct filter_unexplained *v;
	size_t n = filter_unexplained(filter, &v);
	for (; *reported < n; (*reported)++)
		if (is_of_other_build(&v[*reported]))
			report_build(&v[*reported]);
}

/* ---- Summary ---- */

static const char *reason_of(const struct filter_unexplained *frame, const struct image_files *images)
{
	bool mounted = images->options.mount;
	switch (frame->cause) {
	case FILTER_NO_IMAGE:
		if (images->refused.n)
			return "not found, but not all of the mount could be read, see above";
		if (frame->module.id[0])
			return mounted ? "not mounted; add the file with this id to SOURCE"
				       : "no FILE has this id; give the GSYM file of that build, or --mount";
		return mounted ? "the log has no id, and nothing has this name; add the file to SOURCE"
			       : "the log has no id, and no FILE has this name; give that object file or its "
				 "GSYM file";
	case FILTER_NO_ID:
		return "the log has no id; give --by-name if the mount has the build that wrote the log";
	case FILTER_OTHER_RELEASE:
		return "of another build: the log is of another release of the kernel; give the files of "
		       "that "
		       "release";
	case FILTER_AMBIGUOUS:
		return "the log has no id, and several builds have this name; give the GSYM file of the "
		       "right one";
	case FILTER_NO_MAPPING:
		return "nothing tells what was there in memory; give --maps, --pid, --core or --base";
	case FILTER_NO_FUNCTION:
		return "not in a function of the image; another build may have written the log";
	case FILTER_NO_DEBUG_DATA:
		return "not in a function of the image, which has no debug data; give the file that has it";
	case FILTER_NO_NAME:
		return "no function of the image has the name in the log; another build may have written it";
	case FILTER_FILE_OFFSET:
		return "not in a function of the image; read as offsets in the file they would be in one";
	case FILTER_SEVERAL: return "several functions of the image have the name in the log";
	case FILTER_NO_SEGMENTS:
		return "the log has offsets in the file, which GSYM alone cannot translate; give the program "
		       "or --mount";
	case FILTER_OTHER_FUNCTION:
		return "of another build: the function that the log names is elsewhere in the image; give "
		       "the build that wrote the log";
	case FILTER_OTHER_BUILD: return "of another build: the function's size differs";
	case FILTER_REJECTED: break;
	}
	return frame->logged_size ? "of another build: the sizes of other functions differ"
				  : "of another build: other functions that the log names start elsewhere";
}

/* The kernel itself, of which no file was given: logs of programs have frames of it, too. */
static bool is_kernel_missing(const struct filter_unexplained *frame, const struct image_files *images)
{
	bool is_kernel = frame->module.is_kernel && strcmp(frame->module.name, "vmlinux") == 0;
	return is_kernel && (frame->cause == FILTER_NO_IMAGE ||
			     ((frame->cause == FILTER_NO_FUNCTION || frame->cause == FILTER_NO_NAME ||
			       frame->cause == FILTER_NO_DEBUG_DATA) &&
			      images_lack_kernel(images)));
}

static void tell_module(const struct filter_unexplained *frame, struct image_files *images)
{
	const struct filter_module *module = &frame->module;
	bool both = module->name[0] && module->id[0];
	/* The frame whose size led to the rejection is among those of another size, too. */
	uint64_t n = frame->n_frames - (frame->cause == FILTER_REJECTED && frame->logged_size);
	if (!n)
		return;
	char reason[512], other[FILTER_ID_SIZE];
	bool may_differ =
		frame->cause == FILTER_OTHER_RELEASE || (frame->cause == FILTER_NO_IMAGE && module->id[0]);
	if (may_differ && images_tell_other(images, module, other))
		snprintf(reason, sizeof(reason),
			 "of another build: the log is of %s, the file of %s; give that of the log",
			 module->id[0] ? module->id : module->release, other);
	else if (is_kernel_missing(frame, images) && !images->refused.n)
		snprintf(reason, sizeof(reason), "%s vmlinux%s%s%s", images->options.mount ? "add" : "give",
			 module->id[0]        ? " with this id"
			 : module->release[0] ? " of "
					      : "",
			 module->id[0] ? "" : module->release, images->options.mount ? " to SOURCE" : "");
	else
		snprintf(reason, sizeof(reason), "%s", reason_of(frame, images));
	const char *name = !module->name[0] && !module->id[0] ? "addresses"
			   : is_kernel_missing(frame, images) ? "kernel"
							      : module->name;
	complain("%s%s%s%s: %" PRIu64 " frame%s not explained: %s", name, both ? " (" : "", module->id,
		 both ? ")" : "", n, n == 1 ? "" : "s", reason);
}

/* Tells at the end how many frames were explained, and of each module that was not, with what is at hand. */
static void filter_tell_summary(const struct filter *filter, struct image_files *images)
{
	const struct filter_counts counts = filter_count(filter);
	const struct filter_unexplained *v;
	size_t n = filter_unexplained(filter, &v);
	if (!counts.met && !counts.known && counts.bare) {
		const struct filter_unexplained bare = {.cause = FILTER_NO_MAPPING, .n_frames = counts.bare};
		complain("0 of %" PRIu64 " frames explained", counts.bare);
		tell_module(&bare, images);
		return;
	}
	if (!counts.met && !counts.known) {
		complain("no frames found: no line of the log names a module and an offset in it, or an "
			 "address "
			 "that --maps, --pid, --core or --base would place in one");
		return;
	}
	char known[128] = "";
	if (counts.known)
		snprintf(known, sizeof(known), "; of %" PRIu64 " more the log has all that is known",
			 counts.known);
	complain("%" PRIu64 " of %" PRIu64 " frames explained%s", counts.found, counts.met, known);
	if (counts.as_offsets)
		complain("%" PRIu64 " of them by an id and an offset in the file, as of BPF; read as "
			 "link-time addresses they would be elsewhere",
			 counts.as_offsets);
	if (counts.as_addresses)
		complain("%" PRIu64 " of them by an id and a link-time address; read as offsets in the file "
			 "they would be elsewhere",
			 counts.as_addresses);
	if (counts.as_relative)
		complain("%" PRIu64
			 " of them by an id and an offset from the load address; read as offsets in "
			 "the file they would be elsewhere",
			 counts.as_relative);
	for (size_t i = 0; i < n; i++)
		tell_module(&v[i], images);
}

static bool input_is_pending(int milliseconds)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	return poll(&input, 1, milliseconds) != 0; /* read(2) reports errors */
}

static int filter_bytes(struct filtering *f, struct filter *filter, const char *bytes, size_t size,
			enum filter_rest rest, struct text_buf *out)
{
	size_t used;
	int err = filter_write(filter, bytes, size, rest, out, &used);
	if (!f->quiet)
		filter_report_builds(filter, &f->reported);
	return err ? err : rest == FILTER_MORE ? output_drain(out) : output_flush(out);
}

/* Called before each read. */
static int flush_if_idle(struct filtering *f, struct filter *filter, struct text_buf *out)
{
	if (input_is_pending(0))
		return 0;
	int err = output_flush(out);
	return err || input_is_pending(PAUSE_MS) ? err : filter_bytes(f, filter, NULL, 0, FILTER_PAUSE, out);
}

static int filter_input(struct filtering *f, struct filter *filter, struct text_buf *out, int *ret_status)
{
	static char input[INPUT_SIZE];
	int err = 0;
	while (!err && !(err = flush_if_idle(f, filter, out))) {
		ssize_t n = read(STDIN_FILENO, input, sizeof(input));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			*ret_status = fail("standard input", -errno, NULL);
		if (n <= 0)
			return filter_bytes(f, filter, NULL, 0, FILTER_END, out);
		err = filter_bytes(f, filter, input, (size_t)n, FILTER_MORE, out);
	}
	return err;
}

static int filter_log(struct filtering *f)
{
	const struct filter_images images = {.find = images_find_for_filter,
					     .segment = images_segment,
					     .module = images_module,
					     .user = &f->images};
	struct text_buf out = {0};
	int status = STATUS_OK, err = -ENOMEM;
	struct filter *filter = filter_new(&images, &f->how);
	if (filter) {
		err = 0;
		status = filter_maps_read(&command_filter, &f->maps, &f->images, filter);
	}
	if (!err && status == STATUS_OK) {
		err = filter_input(f, filter, &out, &status);
		if (!err && !f->quiet)
			filter_tell_summary(filter, &f->images);
	}
	filter_free(filter);
	text_deinit(&out);
	return err ? output_fail(err) : status;
}

/* People read a terminal, and what is made for one. */
static void take_color(struct filtering *f)
{
	const char *no_color = getenv("NO_COLOR");
	bool is_read = f->how.output == FILTER_LOG && (f->color == COLOR_ALWAYS || isatty(STDOUT_FILENO));
	f->how.colored = is_read &&
			 (f->color == COLOR_ALWAYS || (f->color == COLOR_AUTO && (!no_color || !*no_color)));
	f->how.brief = is_read && !f->full_names;
}

static int run_filter(int argc, char **argv)
{
	struct filtering f = {.how.demangle = DEMANGLE_AUTO};
	int status;
	if (!options_parse(&command_filter, &argc, argv, &f, &status))
		return status;
	/* The kernel's are stripped from text, as decode_stacktrace.sh does. */
	path_strip_settle(&f.images.strip, f.how.output == FILTER_LOG ? STRIP_KERNEL : STRIP_NONE);
	f.how.strip = f.images.strip.dirs.v;
	f.how.n_strip = f.images.strip.dirs.n;
	if (f.images.by_name && !f.images.options.mount)
		return options_error(&command_filter, "option '--by-name': needs '--mount'");
	if (f.style == STYLE_FOLDED_STACKS && f.how.output != FILTER_LOG)
		return options_error(&command_filter, "option '--style=folded': excludes '--format'");
	if (f.style == STYLE_FOLDED_STACKS)
		f.how.output = FILTER_FOLDED;
	take_color(&f);
	const char *fault = load_options_fault(&f.maps.load, (size_t)argc - 1);
	if (fault)
		return options_error(&command_filter, "%s", fault);
	status = images_open_all(&command_filter, &f.images, argc, argv);
	if (status == STATUS_OK)
		status = filter_log(&f);
	if (status == STATUS_OK && f.images.refused.n)
		status = STATUS_FAILED;
	images_deinit(&f.images);
	return status;
}

const struct command command_filter = {
	.name = "filter",
	.operands = "[FILE...]",
	.brief = "copy a log, adding functions, files and lines to its addresses",
	.summary =
		"Copies a log from standard input to standard output and adds functions, files and lines to\n"
		"the addresses in it. FILE is a GSYM file, or an object file, which is converted once",
	.options = options,
	.examples = "  dmesg | gsym filter --mount=/mnt/sym --by-name\n"
		    "  ./app 2>&1 | gsym filter app.gsym",
	.run = run_filter,
};

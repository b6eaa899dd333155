/*
 * gsym filter: copies a log from standard input to standard output with its addresses symbolized.
 *
 * Output is flushed when no input is pending, and an open stack after a short time without input, so that
 * "dmesg -w | gsym filter" keeps up.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/commands.h"
#include "cli/lookup/filter_maps.h"
#include "cli/lookup/filter_summary.h"
#include "cli/lookup/image_files.h"
#include "cli/command/message.h"
#include "cli/command/output.h"

enum {
	INPUT_SIZE = 64 * 1024,
	PAUSE_MS = 100, /* without input for this long, a stack has ended */
};

struct filtering {
	struct image_files images;
	struct filter_options how;
	struct option_list strip;
	struct filter_maps maps;
	size_t reported; /* of the entries of filter_unexplained() */
	bool quiet;
};

static const struct option_row options[] = {
	OPTIONS_MOUNT(filtering, images),
	{0, "by-name", NULL,
	 "find them there by file name if the log has no id\nand only one image has that name",
	 OPTION_FLAG(filtering, images.by_name)},
	{0, "maps", "FILE",
	 "addresses in memory are of the mappings in FILE,\nas in /proc/PID/maps; may be repeated",
	 OPTION_LIST(filtering, maps.maps)},
	{0, "pid", "PID", "they are of this process", OPTION_LIST(filtering, maps.pids)},
	{0, "core", "FILE", "they are of the process with this core file",
	 OPTION_LIST(filtering, maps.cores)},
	{0, "base", "NAME=ADDRESS", "module NAME was loaded at ADDRESS; may be repeated",
	 OPTION_LIST(filtering, maps.bases)},
	{0, "slide", "NUMBER", "the only FILE was loaded at its link-time\naddress and NUMBER",
	 OPTION_STRING(filtering, maps.slide)},
	{0, "strip-prefix", "DIR",
	 "remove DIR from the beginning of paths; auto: the\ndirectory of all sources of an image, but "
	 "those\nbelow /usr; may be repeated",
	 OPTION_LIST(filtering, strip)},
	OPTION_MARK_MERGED(filtering, how.mark_merged),
	OPTIONS_DEMANGLE(filtering, how.demangle),
	{0, "quiet", NULL, "do not tell what was not explained, and why", OPTION_FLAG(filtering, quiet)},
	OPTIONS_END,
};

static bool input_is_pending(int milliseconds)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	return poll(&input, 1, milliseconds) != 0; /* read(2) reports errors */
}

static int pass(struct filtering *f, struct filter *filter, const char *bytes, size_t size,
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
	return err || input_is_pending(PAUSE_MS) ? err : pass(f, filter, NULL, 0, FILTER_PAUSE, out);
}

static int copy(struct filtering *f, struct filter *filter, struct text_buf *out, int *ret_status)
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
			return pass(f, filter, NULL, 0, FILTER_END, out);
		err = pass(f, filter, input, (size_t)n, FILTER_MORE, out);
	}
	return err;
}

static int filter_log(struct filtering *f)
{
	const struct filter_images images = {
		.find = images_find_for_filter, .segment = images_segment, .user = &f->images};
	struct text_buf out = {0};
	int status = STATUS_OK, err = -ENOMEM;
	struct filter *filter = filter_new(&images, &f->how);
	if (filter) {
		err = 0;
		status = filter_maps_read(&command_filter, &f->maps, &f->images, filter);
	}
	if (!err && status == STATUS_OK) {
		err = copy(f, filter, &out, &status);
		if (!err && !f->quiet)
			filter_tell_summary(filter, &f->images);
	}
	filter_free(filter);
	text_deinit(&out);
	return err ? output_fail(err) : status;
}

/* "auto" is no directory. */
static void take_auto(struct filtering *f)
{
	size_t n = 0;
	for (size_t i = 0; i < f->strip.n; i++) {
		if (strcmp(f->strip.v[i], "auto") == 0)
			f->images.wants_root = true;
		else
			f->strip.v[n++] = f->strip.v[i];
	}
	f->strip.n = n;
}

static int run_filter(int argc, char **argv)
{
	struct filtering f = {.how.demangle = DEMANGLE_AUTO};
	int status;
	if (!options_parse(&command_filter, &argc, argv, &f, &status))
		return status;
	take_auto(&f);
	f.how.strip = f.strip.v;
	f.how.n_strip = f.strip.n;
	if (f.images.by_name && !f.images.mount)
		return options_error(&command_filter, "option '--by-name': needs '--mount'");
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

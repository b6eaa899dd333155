/*
 * gsym filter: copies a log from standard input to standard output with its addresses symbolized.
 *
 * Output is flushed when no input is pending, and an open stack after a short time without input, so that
 * "dmesg -w | gsym filter" keeps up.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <unistd.h>

#include "convert/cli/commands.h"
#include "convert/cli/lookup/image_files.h"
#include "convert/cli/message.h"
#include "convert/cli/output.h"

enum {
	INPUT_SIZE = 64 * 1024,
	PAUSE_MS = 100, /* without input for this long, a stack has ended */
};

struct filtering {
	struct image_files images;
	struct filter_options how;
	struct option_list strip;
	size_t told; /* of the entries of filter_unexplained() */
};

static const struct command_option options[] = {
	OPTIONS_MOUNT(filtering, images),
	{0, "by-name", NULL,
	 "find them there by file name if the log has no id\nand only one image has that name",
	 OPTION_FLAG(filtering, images.by_name)},
	{0, "strip-prefix", "DIR", "remove DIR from the beginning of paths; may be\nrepeated",
	 OPTION_LIST(filtering, strip)},
	OPTION_MARK_MERGED(filtering, how.mark_merged),
	OPTIONS_DEMANGLE(filtering, how.demangle),
	{0},
};

static bool input_is_pending(int milliseconds)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	return poll(&input, 1, milliseconds) != 0; /* read(2) reports errors */
}

static void tell(const struct filter_unexplained *frame)
{
	bool rejected = frame->cause == FILTER_REJECTED;
	complain("%s: the log %s of another build: %s%s has 0x%" PRIx64 " bytes there, 0x%" PRIx64
		 " in the image; %s left as they are",
		 frame->module.name, rejected ? "is" : "seems to be", frame->symbol, rejected ? ", too," : "",
		 frame->logged_size, frame->image_size,
		 rejected ? "all its frames from here on are" : "such frames are");
}

/* Tells of each module and cause once, as soon as it is known: a log that is followed has no end. */
static void tell_unexplained(struct filtering *f, const struct filter *filter)
{
	const struct filter_unexplained *v;
	size_t n = filter_unexplained(filter, &v);
	for (; f->told < n; f->told++)
		tell(&v[f->told]);
}

static int pass(struct filtering *f, struct filter *filter, const char *bytes, size_t size,
		enum filter_rest rest, struct text_buf *out)
{
	size_t used;
	int err = filter_write(filter, bytes, size, rest, out, &used);
	tell_unexplained(f, filter);
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
	const struct filter_images images = {.find = images_find_for_filter, .user = &f->images};
	struct text_buf out = {0};
	int status = STATUS_OK, err = -ENOMEM;
	struct filter *filter = filter_new(&images, &f->how);
	if (filter)
		err = copy(f, filter, &out, &status);
	filter_free(filter);
	text_deinit(&out);
	return err ? output_fail(err) : status;
}

static int run_filter(int argc, char **argv)
{
	struct filtering f = {.how.demangle = DEMANGLE_AUTO};
	int status;
	if (!options_parse(&command_filter, argc, argv, &f, &status))
		return status;
	f.how.strip = f.strip.v;
	f.how.n_strip = f.strip.n;
	if (f.images.by_name && !f.images.mount)
		return options_error(&command_filter, "option '--by-name': needs '--mount'");
	status = images_open_all(&command_filter, &f.images, argc, argv);
	if (status == STATUS_OK)
		status = filter_log(&f);
	images_deinit(&f.images);
	return status;
}

const struct command command_filter = {
	.name = "filter",
	.operands = "[FILE.gsym...]",
	.brief = "copy a log, adding functions, files and lines to its addresses",
	.summary =
		"Copies a log from standard input to standard output and adds functions, files and lines to\n"
		"the addresses in it",
	.options = options,
	.run = run_filter,
};

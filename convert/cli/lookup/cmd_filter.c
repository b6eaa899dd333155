/*
 * gsym filter: a log from standard input to standard output, with its addresses explained.
 *
 * What is written is flushed when no input waits, and a stack that is still open when none has come for a
 * moment, so that "dmesg -w | gsym filter" keeps up.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <unistd.h>

#include "convert/cli/commands.h"
#include "convert/cli/lookup/image_files.h"
#include "convert/cli/message.h"
#include "convert/cli/cli_options.h"
#include "convert/cli/output.h"

enum {
	OPT_MOUNT = OPTION_LONG,
	OPT_BY_NAME,
	OPT_STRIP_PREFIX,
	OPT_DEMANGLE,
	OPT_NO_DEMANGLE,

	STRIP_MAX = 64, /* directories left out of paths */
	INPUT_SIZE = 64 * 1024,
	PAUSE_MS = 100, /* without input for so long, a stack has ended */
};

static const struct option_spec options[] = {
	{OPT_MOUNT, "mount", "DIR", "find images by their ids below DIR, where gsymfs is mounted"},
	{OPT_BY_NAME, "by-name", NULL,
	 "find them there by file name if the log tells no id and just one has it"},
	{OPT_STRIP_PREFIX, "strip-prefix", "DIR",
	 "leave DIR out at the beginning of paths; may be given again"},
	{OPT_DEMANGLE, "demangle", "LANGUAGE", "auto (default: C++, Rust, D) or ada"},
	{OPT_NO_DEMANGLE, "no-demangle", NULL, "print names as they are stored"},
	{0},
};

static const struct command_spec spec = {
	.name = "filter",
	.operands = "[FILE.gsym...]",
	.summary =
		"Copies a log from standard input to standard output and writes functions, files and lines\n"
		"to the addresses in it",
	.options = options,
};

static bool input_waits(int milliseconds)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	return poll(&input, 1, milliseconds) != 0; /* a failure shows when it is read */
}

static int pass(struct filter *filter, const char *bytes, size_t size, enum filter_rest rest,
		struct text_buf *out)
{
	size_t used;
	int err = filter_write(filter, bytes, size, rest, out, &used);
	return err ? err : rest == FILTER_MORE ? output_drain(out) : output_flush(out);
}

/* Between two reads. */
static int settle(struct filter *filter, struct text_buf *out)
{
	if (input_waits(0))
		return 0;
	int err = output_flush(out);
	return err || input_waits(PAUSE_MS) ? err : pass(filter, NULL, 0, FILTER_PAUSE, out);
}

static int copy(struct filter *filter, struct text_buf *out, int *ret_status)
{
	static char input[INPUT_SIZE];
	int err = 0;
	while (!err && !(err = settle(filter, out))) {
		ssize_t n = read(STDIN_FILENO, input, sizeof(input));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			*ret_status = fail("standard input", -errno, NULL);
		if (n <= 0)
			return pass(filter, NULL, 0, FILTER_END, out);
		err = pass(filter, input, (size_t)n, FILTER_MORE, out);
	}
	return err;
}

static int run(struct image_files *images, const struct filter_options *how)
{
	const struct filter_images found = {.find = images_find_for_filter, .user = images};
	struct text_buf out = {0};
	int status = STATUS_OK, err = -ENOMEM;
	struct filter *filter = filter_new(&found, how);
	if (filter)
		err = copy(filter, &out, &status);
	filter_free(filter);
	text_deinit(&out);
	return err ? output_fail(err) : status;
}

int cmd_filter(int argc, char **argv)
{
	struct image_files images = {0};
	const char *strip[STRIP_MAX];
	struct filter_options how = {.demangle = DEMANGLE_AUTO, .strip = strip};
	int key, status = STATUS_OK;
	while (status == STATUS_OK && (key = options_next(&spec, argc, argv)) != OPTIONS_END) {
		switch (key) {
		case OPTIONS_BAD: return STATUS_USAGE;
		case OPTIONS_HELP: return STATUS_OK;
		case OPT_MOUNT: status = images_mount(&images, optarg); break;
		case OPT_BY_NAME: images.by_name = true; break;
		case OPT_STRIP_PREFIX:
			if (how.n_strip == STRIP_MAX)
				return options_error(&spec, "--strip-prefix can be given %d times",
						     STRIP_MAX);
			strip[how.n_strip++] = optarg;
			break;
		case OPT_DEMANGLE: status = options_demangle(&spec, optarg, &how.demangle); break;
		case OPT_NO_DEMANGLE: how.demangle = DEMANGLE_OFF; break;
		}
	}
	if (status == STATUS_OK && images.by_name && !images.mount)
		return options_error(&spec, "--by-name needs a --mount");
	if (status == STATUS_OK && optind >= argc && !images.mount)
		return options_error(&spec, "which FILE.gsym, or which --mount?");
	for (int i = optind; status == STATUS_OK && i < argc; i++)
		status = images_open(&images, argv[i]);
	if (status == STATUS_OK)
		status = run(&images, &how);
	images_deinit(&images);
	return status;
}

#include "cli/convert/progress.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "work/os/monotonic.h"

enum { INTERVAL_MS = 100 };

/* Static, because a signal handler takes no argument. */
static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static double megabytes(uint64_t bytes)
{
	return (double)bytes / 1e6;
}

static void show(const struct convert_progress *p)
{
	fprintf(stderr, "\r%s %" PRIu64, p->phase == CONVERT_READING ? "reading unit" : "writing function",
		p->done);
	if (p->total)
		fprintf(stderr, " of %" PRIu64, p->total);
	if (p->bytes_total)
		fprintf(stderr, ", %.1f of %.1f MB", megabytes(p->bytes_done), megabytes(p->bytes_total));
	fputs("\033[K", stderr);
}

static int report(void *user, const struct convert_progress *p)
{
	struct progress_line *progress = user;
	int64_t now = progress->visible ? monotonic_ms() : 0;
	if (progress->visible && now - progress->shown >= INTERVAL_MS) {
		show(p);
		progress->shown = now;
		progress->dirty = true;
	}
	return stopped;
}

void progress_start(struct progress_line *progress, struct convert_options *options)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	progress->shown = monotonic_ms();
	options->progress = report;
	options->progress_user = progress;
}

void progress_end(struct progress_line *progress)
{
	if (progress->dirty)
		fputs("\r\033[K", stderr);
	progress->dirty = false;
}

#include "fs/convert/idle.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "work/os/monotonic.h"
#include "fs/images/fragments.h"
#include "fs/images/revision.h"

/* An image that was begun so often is converted only when it is asked for. */
enum { GIVEN_UP_MAX = 3 };

void idle_init(struct idle *idle, struct images *images)
{
	idle->images = images;
	idle->cancel_fd = -1;
	monotonic_cond_init(&idle->wake);
}

int idle_start(struct idle *idle)
{
	idle->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return idle->cancel_fd < 0 ? -errno : 0;
}

void idle_deinit(struct idle *idle)
{
	pthread_cond_destroy(&idle->wake);
	if (idle->cancel_fd >= 0)
		close(idle->cancel_fd);
}

bool idle_is_pending(const struct idle *idle, const struct revision *rev)
{
	return idle->load_percent && rev->state == STATE_COLD && !rev->stale && rev->n_fragments &&
	       rev->given_up < GIVEN_UP_MAX;
}

/* ---- Demand ---- */

static void cancel(const struct idle *idle) REQUIRES(&idle->images->lock)
{
	if (idle->running)
		(void)eventfd_write(idle->cancel_fd, 1); /* it fails only if that was written already */
}

void idle_begin_demand(struct idle *idle)
{
	mutex_assert_held(&idle->images->lock);
	idle->demanded++;
	cancel(idle);
}

void idle_end_demand(struct idle *idle)
{
	mutex_assert_held(&idle->images->lock);
	invariant(idle->demanded);
	idle->demanded--;
	idle->quiet_since = monotonic_ms();
	pthread_cond_signal(&idle->wake);
}

void idle_note_wait(struct idle *idle, const struct revision *rev)
{
	mutex_assert_held(&idle->images->lock);
	if (idle->running == rev)
		cancel(idle);
}

void idle_stop(struct idle *idle)
{
	mutex_assert_held(&idle->images->lock);
	idle->stopping = true;
	cancel(idle);
	pthread_cond_signal(&idle->wake);
}

/* ---- Whether the host is idle ---- */

static bool host_is_idle(const struct idle *idle)
{
	double load;
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return getloadavg(&load, 1) == 1 && load * 100 < (double)idle->load_percent * (double)(n < 1 ? 1 : n);
}

static bool is_pending(const void *idle, const struct revision *rev)
{
	return idle_is_pending(idle, rev);
}

static struct revision *choose(const struct idle *idle) REQUIRES(&idle->images->lock)
{
	bool free = !idle->demanded && !idle->stopping;
	return free ? fragments_oldest(idle->images, is_pending, idle) : NULL;
}

static void wait_until(struct idle *idle, int64_t ms) REQUIRES(&idle->images->lock)
{
	const struct timespec until = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	mutex_wait_until(&idle->images->lock, &idle->wake, &until);
}

/* The next image, or NULL after a wait. */
static struct revision *attempt(struct idle *idle) REQUIRES(&idle->images->lock)
{
	int64_t begin = idle->quiet_since + idle->seconds * INT64_C(1000);
	if (!choose(idle)) {
		mutex_wait(&idle->images->lock, &idle->wake);
		return NULL;
	}
	if (monotonic_ms() < begin) {
		wait_until(idle, begin);
		return NULL;
	}
	mutex_unlock(&idle->images->lock);
	bool is_idle = host_is_idle(idle);
	mutex_lock(&idle->images->lock);
	if (!is_idle)
		idle->quiet_since = monotonic_ms();
	return is_idle ? choose(idle) : NULL;
}

static void start(struct idle *idle, struct revision *rev) REQUIRES(&idle->images->lock)
{
	eventfd_t unused;
	(void)eventfd_read(idle->cancel_fd, &unused); /* of the one before */
	revision_set_state(idle->images, rev, STATE_OPENING);
	idle->running = rev;
}

struct revision *idle_next(struct idle *idle)
{
	struct revision *rev = NULL;
	mutex_lock(&idle->images->lock);
	while (!idle->stopping && !rev)
		rev = attempt(idle);
	if (rev)
		start(idle, rev);
	mutex_unlock(&idle->images->lock);
	return rev;
}

void idle_end(struct idle *idle)
{
	mutex_assert_held(&idle->images->lock);
	idle->running = NULL;
	idle->quiet_since = monotonic_ms();
}

#include "work/run/run_slots.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

int run_slots_init(struct run_slots *slots, unsigned n)
{
	slots->fd = eventfd(n, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	return slots->fd < 0 ? -errno : 0;
}

void run_slots_deinit(struct run_slots *slots)
{
	close(slots->fd);
}

bool run_slot_take(struct run_slots *slots, int event)
{
	eventfd_t one;
	if (!slots)
		return true;
	struct pollfd fds[] = {{.fd = event, .events = POLLIN}, {.fd = slots->fd, .events = POLLIN}};
	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents)
			return false;
		/* Another thread may have been faster. */
		if (eventfd_read(slots->fd, &one) == 0)
			return true;
	}
}

void run_slot_give(struct run_slots *slots)
{
	if (slots)
		eventfd_write(slots->fd, 1);
}

#include "store/share/share_lease.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work/os/monotonic.h"

enum { REQUEST_MS = 5000 };

/* What a lease holds is for those who look at the store. */
static int lease_file(unsigned seconds)
{
	char text[64], host[256] = "";
	int fd = memfd_create("gsymfs-lease", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	gethostname(host, sizeof(host) - 1);
	snprintf(text, sizeof(text), "gsymfs-lease 1\nseconds %u\nhost %.24s\n", seconds, host);
	ssize_t n = write(fd, text, strlen(text));
	if (n == (ssize_t)strlen(text))
		return fd;
	close(fd);
	return -EIO;
}

void share_lease_ask(struct share *share, struct share_lease *lease)
{
	struct store_reply reply = {.err = 0};
	int fd = lease_file(lease->state.seconds);
	const struct store_request request = {
		.operation = STORE_PUT,
		.condition = lease->state.step == LEASE_TAKE ? STORE_IF_ABSENT : STORE_IF_MATCH,
		.name = lease->name,
		.etag = lease->state.etag,
		.fd = fd,
		.size = fd < 0 ? 0 : (uint64_t)lseek(fd, 0, SEEK_CUR),
	};
	lease->until = monotonic_ms() + (int64_t)lease->state.seconds * 1000;
	if (fd < 0)
		reply.err = fd;
	else
		lease->call = store_start(share->store, &request, &reply.err);
	if (!lease->call)
		share_lease_note(share, lease, &reply);
	if (fd >= 0)
		close(fd);
}

void share_lease_note(struct share *share, struct share_lease *lease, const struct store_reply *reply)
{
	const enum lease_step step = lease->state.step;
	struct store_counters *counters = &share->counters;
	/* Without a lease to replace, it is the place for it that is missing. */
	bool gone = reply->err == -ENOENT && step == LEASE_TAKE;
	lease_note_put(&lease->state, gone ? -EREMOTEIO : reply->err);
	if (lease->state.held)
		atomic_fetch_add_explicit(step == LEASE_TAKE_OVER ? &counters->leases_broken
								  : &counters->leases_taken,
					  1, memory_order_relaxed);
	store_call_end(lease->call);
	lease->call = NULL;
}

bool share_lease_is_ours(const struct share_lease *lease)
{
	return lease->call || lease->state.held;
}

void share_lease_end(struct share *share, struct share_lease *lease, bool patiently)
{
	const struct store_request request = {.operation = STORE_DELETE, .name = lease->name, .fd = -1};
	struct store_reply reply = {.err = -ETIMEDOUT};
	int err;
	if (lease->call) {
		store_wait(lease->call, patiently ? monotonic_ms() + REQUEST_MS : 0, &reply);
		share_lease_note(share, lease, &reply);
	}
	/* Once it is over it may be another host's. */
	if (lease->state.held && monotonic_ms() + REQUEST_MS < lease->until)
		store_call_end(store_start(share->store, &request, &err));
	lease->state.held = false;
}

#include "convert/run/share/share_hold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "convert/os/monotonic.h"

enum { REQUEST_MS = 5000 };

struct share_hold {
	struct list link; /* in share.holds, unless the thread is at it */
	struct lease lease;
	int64_t due;
	bool over;
	char name[STORE_NAME_SIZE];
};

struct share_hold *share_hold_new(struct share *share, const char *name, const struct lease *lease)
{
	struct share_hold *hold = calloc(1, sizeof(*hold));
	if (!hold)
		return NULL;
	hold->lease = *lease;
	hold->due = monotonic_ms() + lease_renew_ms(lease);
	snprintf(hold->name, sizeof(hold->name), "%s", name);
	mutex_lock(&share->lock);
	list_append(&share->holds, &hold->link);
	share->n_holds++;
	pthread_cond_signal(&share->held);
	mutex_unlock(&share->lock);
	return hold;
}

void share_hold_end(struct share *share, struct share_hold *hold)
{
	if (!hold)
		return;
	mutex_lock(&share->lock);
	hold->over = true;
	pthread_cond_signal(&share->held);
	mutex_unlock(&share->lock);
}

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

void share_put_lease(struct share *share, const char *name, unsigned ms, struct lease *lease)
{
	struct store_reply reply = {.err = -ETIMEDOUT};
	int fd = lease_file(lease->seconds);
	struct store_request request = {
		.operation = STORE_PUT,
		.condition = lease->step == LEASE_TAKE ? STORE_IF_ABSENT : STORE_IF_MATCH,
		.name = name,
		.etag = lease->etag,
		.fd = fd,
		.size = fd < 0 ? 0 : (uint64_t)lseek(fd, 0, SEEK_CUR),
	};
	if (fd < 0)
		reply.err = fd;
	else if (ms)
		store_do(share->store, &request, ms, &reply);
	/* Without a lease to replace, it is the place for it that is missing. */
	bool gone = reply.err == -ENOENT && lease->step == LEASE_TAKE;
	lease_note_put(lease, gone ? -EREMOTEIO : reply.err, reply.etag);
	if (fd >= 0)
		close(fd);
}

/* Only ours: it may be another host's by now. */
static struct store_request deletion(const struct share_hold *hold)
{
	return (struct store_request){
		.operation = STORE_DELETE,
		.condition = *hold->lease.etag ? STORE_IF_MATCH : STORE_ALWAYS,
		.name = hold->name,
		.etag = hold->lease.etag,
		.fd = -1,
	};
}

static void delete_lease(struct share *share, const struct share_hold *hold)
{
	struct store_reply reply;
	const struct store_request request = deletion(hold);
	if (hold->lease.held)
		store_do(share->store, &request, REQUEST_MS, &reply);
}

/* The next one that is over, or due; NULL, with the time until which there is none. */
static struct share_hold *next_hold(struct share *share, int64_t *ret_until) REQUIRES(&share->lock)
{
	int64_t now = monotonic_ms();
	*ret_until = INT64_MAX;
	for (struct list *at = share->holds.next; at != &share->holds; at = at->next) {
		struct share_hold *hold = LIST_ENTRY(at, struct share_hold);
		if (hold->over || hold->due <= now)
			return hold;
		*ret_until = hold->due < *ret_until ? hold->due : *ret_until;
	}
	return NULL;
}

static void await_hold(struct share *share, int64_t until) REQUIRES(&share->lock)
{
	const struct timespec at = {.tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000};
	if (until == INT64_MAX)
		mutex_wait(&share->lock, &share->held);
	else
		mutex_wait_until(&share->lock, &share->held, &at);
}

/* Renews it, unless it is over: then it is deleted, and freed. */
static void serve(struct share *share, struct share_hold *hold) REQUIRES(&share->lock)
{
	list_remove(&hold->link);
	if (!hold->over && hold->lease.held) {
		mutex_unlock(&share->lock);
		share_put_lease(share, hold->name, REQUEST_MS, &hold->lease);
		mutex_lock(&share->lock);
	}
	if (!hold->over) {
		hold->due = monotonic_ms() + lease_renew_ms(&hold->lease);
		list_append(&share->holds, &hold->link);
		return;
	}
	mutex_unlock(&share->lock);
	delete_lease(share, hold);
	free(hold);
	mutex_lock(&share->lock);
	if (--share->n_holds == 0)
		pthread_cond_broadcast(&share->idle);
}

void *share_holder(void *arg)
{
	struct share *share = arg;
	int64_t until;
	mutex_lock(&share->lock);
	while (!atomic_load(&share->stopping)) {
		struct share_hold *hold = next_hold(share, &until);
		if (hold)
			serve(share, hold);
		else
			await_hold(share, until);
	}
	mutex_unlock(&share->lock);
	return NULL;
}

/* Waits for @n calls, and frees them. */
static void end_calls(struct store_call **calls, unsigned n, int64_t by)
{
	struct store_reply reply;
	for (unsigned i = 0; i < n; i++) {
		store_wait(calls[i], by, &reply);
		store_call_end(calls[i]);
	}
}

/* Many at a time, since each may take as long as all have. */
void share_holds_release(struct share *share, int64_t by)
{
	struct store_call *calls[STORE_QUEUE_MAX / 2];
	unsigned n = 0;
	int err = 0;
	mutex_lock(&share->lock);
	for (struct list *at = share->holds.next; at != &share->holds; at = at->next) {
		const struct share_hold *hold = LIST_ENTRY(at, struct share_hold);
		const struct store_request request = deletion(hold);
		struct store_call *call = hold->lease.held ? store_start(share->store, &request, &err) : NULL;
		if (call)
			calls[n++] = call;
		if (n == ARRAY_SIZE(calls)) {
			end_calls(calls, n, by);
			n = 0;
		}
	}
	mutex_unlock(&share->lock);
	end_calls(calls, n, by);
}

void share_holds_free(struct share *share)
{
	struct list *at;
	mutex_lock(&share->lock);
	while ((at = list_take(&share->holds)))
		free(LIST_ENTRY(at, struct share_hold));
	mutex_unlock(&share->lock);
}

#include "store/share/share_hold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work/os/monotonic.h"

enum {
	REQUEST_MS = 5000,
	ANSWER_MS = 100, /* for a lease that was asked for, and is over when the answer comes */
	RETRY_MS = 2000, /* to delete one when the store failed */
};

struct share_hold {
	struct list link; /* in share.holds, unless the thread is at it */
	struct lease lease;
	struct store_call *call; /* makes it; NULL: was answered */
	int64_t due;             /* monotonic_ms(), as is the next: the thread looks at it */
	int64_t until;           /* another host may take it over then */
	bool over;               /* guarded by share.lock */
	bool is_left;            /* over, and a request failed: not counted by share.n_holds any more */
	char name[STORE_NAME_SIZE];
};

static int64_t end_of(const struct lease *lease)
{
	return monotonic_ms() + (int64_t)lease->seconds * 1000;
}

struct share_hold *share_hold_new(struct share *share, const char *name, const struct lease *lease,
				  struct store_call *call)
{
	struct share_hold *hold = calloc(1, sizeof(*hold));
	if (!hold) {
		store_call_end(call);
		return NULL;
	}
	hold->lease = *lease;
	hold->call = call;
	hold->due = monotonic_ms() + lease_renew_ms(lease);
	hold->until = end_of(lease);
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
	hold->due = 0;
	pthread_cond_signal(&share->held);
	mutex_unlock(&share->lock);
}

/* ---- Requests ---- */

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

struct store_call *share_lease_begin(struct share *share, const char *name, struct lease *lease)
{
	struct store_call *ret = NULL;
	struct store_reply reply = {.err = 0};
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
	else
		ret = store_start(share->store, &request, &reply.err);
	if (!ret)
		share_lease_note(share, lease, &reply);
	if (fd >= 0)
		close(fd);
	return ret;
}

void share_lease_note(struct share *share, struct lease *lease, const struct store_reply *reply)
{
	const enum lease_step step = lease->step;
	struct store_counters *counters = &share->counters;
	/* Without a lease to replace, it is the place for it that is missing. */
	bool gone = reply->err == -ENOENT && step == LEASE_TAKE;
	lease_note_put(lease, gone ? -EREMOTEIO : reply->err, reply->etag);
	if (lease->held && step != LEASE_CONVERT)
		atomic_fetch_add_explicit(step == LEASE_TAKE_OVER ? &counters->leases_broken
								  : &counters->leases_taken,
					  1, memory_order_relaxed);
}

/* Whether what makes the lease was answered. */
static bool is_answered(struct share *share, struct share_hold *hold)
{
	struct store_reply reply;
	if (!hold->call)
		return true;
	if (!store_wait(hold->call, 0, &reply))
		return false;
	share_lease_note(share, &hold->lease, &reply);
	store_call_end(hold->call);
	hold->call = NULL;
	return true;
}

static void renew(struct share *share, struct share_hold *hold)
{
	const int64_t until = end_of(&hold->lease);
	struct store_reply reply = {.err = -ETIMEDOUT};
	struct store_call *call = share_lease_begin(share, hold->name, &hold->lease);
	if (!call)
		return;
	store_wait(call, monotonic_ms() + REQUEST_MS, &reply);
	store_call_end(call);
	share_lease_note(share, &hold->lease, &reply);
	if (!reply.err)
		hold->until = until;
}

/* Of the store, which may be there again before the lease is over. */
static bool is_passing(int err)
{
	return err == -ETIMEDOUT || err == -EHOSTUNREACH || err == -EREMOTEIO || err == -ENETDOWN ||
	       err == -EBUSY;
}

/* Once it is over it may be another host's, and is left to whoever takes it over. */
static bool is_ours(const struct share_hold *hold)
{
	return hold->lease.held && monotonic_ms() + REQUEST_MS < hold->until;
}

static struct store_request deletion(const struct share_hold *hold)
{
	return (struct store_request){.operation = STORE_DELETE, .name = hold->name, .fd = -1};
}

/* False if it is to be tried again. */
static bool delete_lease(struct share *share, const struct share_hold *hold)
{
	struct store_reply reply;
	const struct store_request request = deletion(hold);
	store_do(share->store, &request, REQUEST_MS, &reply);
	return !is_passing(reply.err);
}

/* ---- The thread ---- */

/* Renews @hold, or deletes it if it is over. When to come back; 0 if it is not needed any more. */
static int64_t attend(struct share *share, struct share_hold *hold, bool over)
{
	if (!is_answered(share, hold))
		return monotonic_ms() + ANSWER_MS;
	if (over)
		return !is_ours(hold) || delete_lease(share, hold) ? 0 : monotonic_ms() + RETRY_MS;
	if (!hold->lease.held)
		return INT64_MAX;
	renew(share, hold);
	return monotonic_ms() + lease_renew_ms(&hold->lease);
}

/* The next one that is due; NULL, with the time until which there is none. */
static struct share_hold *next_hold(struct share *share, int64_t *ret_until) REQUIRES(&share->lock)
{
	int64_t now = monotonic_ms();
	*ret_until = INT64_MAX;
	for (struct list *at = share->holds.next; at != &share->holds; at = at->next) {
		struct share_hold *hold = LIST_ENTRY(at, struct share_hold);
		if (hold->due <= now)
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

/* A lease that the store keeps for now is not waited for by who ends. */
static void leave(struct share *share, struct share_hold *hold) REQUIRES(&share->lock)
{
	if (!hold->is_left && --share->n_holds == 0)
		pthread_cond_broadcast(&share->idle);
	hold->is_left = true;
}

static void serve(struct share *share, struct share_hold *hold) REQUIRES(&share->lock)
{
	const bool over = hold->over;
	list_remove(&hold->link);
	mutex_unlock(&share->lock);
	int64_t due = attend(share, hold, over);
	mutex_lock(&share->lock);
	if (over && !hold->call)
		leave(share, hold);
	if (!due) {
		free(hold);
		return;
	}
	hold->due = over == hold->over ? due : 0;
	list_append(&share->holds, &hold->link);
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
		struct share_hold *hold = LIST_ENTRY(at, struct share_hold);
		bool held = is_answered(share, hold) && is_ours(hold);
		const struct store_request request = deletion(hold);
		struct store_call *call = held ? store_start(share->store, &request, &err) : NULL;
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
	while ((at = list_take(&share->holds))) {
		struct share_hold *hold = LIST_ENTRY(at, struct share_hold);
		store_call_end(hold->call);
		free(hold);
	}
	mutex_unlock(&share->lock);
}

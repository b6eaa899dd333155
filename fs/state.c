/* Everything is copied under the locks and logged without them, since a log message may block. */
#include "fs/gsymfs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fs/images/revision.h"

enum { BUSY_MAX = 80 /* images listed: all that are converting, and some that wait */ };

/* An image that is being opened or converted. */
struct busy {
	char id[ID_TEXT_SIZE];
	enum revision_state state;
	unsigned percent;
	pid_t worker;
	size_t calls;
};

struct counts {
	size_t images, states[STATES];
	size_t scan_calls; /* that wait for the first scan */
	bool scanned, complete;
	size_t n_busy;
	struct busy busy[BUSY_MAX];
};

static void count_busy(struct counts *c, const struct revision *rev)
{
	if (c->n_busy == BUSY_MAX)
		return;
	struct busy *b = &c->busy[c->n_busy++];
	snprintf(b->id, sizeof(b->id), "%s", rev->image->id);
	b->state = rev->state;
	b->percent = atomic_load(&rev->progress);
	b->worker = atomic_load(&rev->worker);
	b->calls = list_count(&rev->waiters);
}

static bool is_busy(enum revision_state state)
{
	return state == STATE_OPENING || state == STATE_QUEUED || state == STATE_CONVERTING;
}

/* Two passes: images that are converting come first. */
static void count_images(struct images *images, struct counts *c)
{
	mutex_lock(&images->lock);
	c->scanned = images->scanned;
	c->complete = images->complete;
	c->scan_calls = list_count(&images->scan_waiters);
	const struct image *image;
	for (uint32_t i = 0; (image = slots_from(&images->all, &i)); i++) {
		if (!image_is_there(image))
			continue;
		c->images++;
		c->states[image_state(image)]++;
		if (image_state(image) == STATE_CONVERTING)
			count_busy(c, image->revision);
	}
	const struct revision *rev;
	for (uint32_t i = 0; (rev = slots_from(&images->revisions, &i)); i++) {
		if (!rev->stale && is_busy(rev->state) && rev->state != STATE_CONVERTING)
			count_busy(c, rev);
	}
	mutex_unlock(&images->lock);
}

static void log_busy(const struct log *log, const struct busy *b)
{
	char how[64] = "";
	if (b->worker)
		snprintf(how, sizeof(how), ", %u%%, worker %ld", b->percent, (long)b->worker);
	log_info(log, "state: %s: %s%s, %zu calls wait", b->id, state_words[b->state], how, b->calls);
}

static void log_images(const struct log *log, const struct counts *c)
{
	log_info(
		log,
		"state: %zu images: %zu cold, %zu opening, %zu queued, %zu converting, %zu ready, %zu failed",
		c->images, c->states[STATE_COLD], c->states[STATE_OPENING], c->states[STATE_QUEUED],
		c->states[STATE_CONVERTING], c->states[STATE_READY], c->states[STATE_FAILED]);
	for (size_t i = 0; i < c->n_busy; i++)
		log_busy(log, &c->busy[i]);
	log_info(log, "state: scan: %s, %zu calls wait for it",
		 !c->scanned   ? "the first one runs"
		 : c->complete ? "all of the source was seen"
			       : "none was complete yet",
		 c->scan_calls);
}

void state_log(struct gsymfs *fs)
{
	struct counts counts = {.n_busy = 0};
	count_images(&fs->images, &counts);
	log_images(&fs->log, &counts);

	struct nodes_counts nodes = nodes_count(&fs->tree.nodes);
	log_info(&fs->log, "state: cache '%s': %" PRIu64 " of %" PRIu64 " bytes", fs->cache.path,
		 atomic_load(&fs->cache.bytes), fs->cache.limit);
	log_info(&fs->log,
		 "state: nodes: %" PRIu64 " in use, %" PRIu64 " since the start, %" PRIu64 " bytes kept",
		 nodes.used, nodes.made, nodes.content_bytes);
	log_info(&fs->log, "state: open files: %zu, %zu bytes in answers of q",
		 open_files_count(&fs->tree.open_files),
		 (size_t)atomic_load(&fs->answers.accounts.charged[ACCOUNT_FILES]));
}

static uint64_t sum_of(const _Atomic uint64_t *counters, size_t n)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += atomic_load(&counters[i]);
	return sum;
}

void state_log_end(const struct gsymfs *fs)
{
	const struct metrics *m = &fs->metrics;
	uint64_t all = sum_of(m->conversions, CONVERSION_RESULTS),
		 ok = atomic_load(&m->conversions[CONVERSION_OK]);
	log_info(&fs->log,
		 "ends after %lld s: %" PRIu64 " lookups, %" PRIu64 " lines of q, %" PRIu64
		 " addresses in logs; %" PRIu64 " conversions in %.1f s, %" PRIu64 " of them failed, %" PRIu64
		 " crashed; %" PRIu64 " images from the cache",
		 (long long)(time(NULL) - fs->tree.mounted_at.tv_sec), sum_of(m->lookups, LOOKUP_RESULTS),
		 atomic_load(&m->batch_addresses), sum_of(m->log_addresses, LOOKUP_RESULTS), all,
		 (double)atomic_load(&m->conversion_ms) / 1e3,
		 all - ok - atomic_load(&m->conversions[CONVERSION_REPLACED]),
		 atomic_load(&m->conversions[CONVERSION_CRASHED]), atomic_load(&m->cache[CACHE_HIT]));
}

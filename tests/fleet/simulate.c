/*
 * Simulates hosts that share a store of conversions: what they ask of it, what they convert, and how long
 * uses wait. The decisions are those of the daemon: lease.c and breaker.c. The rest is a model: see
 * docs/fleet.md.
 *
 *	simulate [NAME=VALUE]...    parameters and their defaults: struct parameters
 *
 * Prints a line a simulated minute, and one that begins with "sum". The same parameters give the same output.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/client/breaker.h"
#include "store/client/lease.h"

enum {
	MINUTE_MS = 60000,
	HOUR_MS = 60 * MINUTE_MS,
	WAIT_BUCKETS = 64, /* of waiting times: two for each power of two of milliseconds */
	ETAG_MAX = 24,
};

/* ---- Parameters ---- */

static struct parameters {
	double hosts, images, hours;
	double fresh;      /* images that a release replaces, one release an hour */
	double storm;      /* new images that all hosts use after a release, as when it crashes everywhere, */
	double storm_s;    /* within so many seconds */
	double rate;       /* uses of an image, for each host and second */
	double slots;      /* conversions at once, on each host */
	double zipf;       /* exponent of the images' popularity */
	double median_mib; /* of debug data of an image: log-normal, */
	double sigma;      /* with this deviation */
	double ratio;      /* bytes of a conversion, of one of debug data, compressed */
	double rtt_ms;     /* median of a request without a body: log-normal, */
	double rtt_sigma;  /* with this deviation */
	double mib_second; /* from and to the store, for each transfer */
	double leases;     /* 0: the server has no conditional PUT */
	double store;      /* 0: there is none */
	double crash;      /* part of the conversions whose host dies with the lease */
	double down_minute; /* the store is silent from this minute on, */
	double down_length; /* for so many minutes */
	double seed;
} p = {
	.hosts = 1000,
	.images = 100000,
	.hours = 4,
	.fresh = 5000,
	.storm = 20,
	.storm_s = 10,
	.rate = 0.5,
	.slots = 2,
	.zipf = 0.9,
	.median_mib = 8,
	.sigma = 1.6,
	.ratio = 0.12,
	.rtt_ms = 15,
	.rtt_sigma = 0.6,
	.mib_second = 60,
	.leases = 1,
	.store = 1,
	.crash = 0.001,
	.down_minute = -1,
	.down_length = 0,
	.seed = 1,
};

static const struct {
	const char *name;
	size_t offset;
} names[] = {
#define NAME(x)                                    \
	{                                          \
#x, offsetof(struct parameters, x) \
	}
	NAME(hosts),       NAME(images),      NAME(hours),      NAME(fresh),      NAME(storm), NAME(storm_s),
	NAME(rate),        NAME(slots),       NAME(zipf),       NAME(median_mib), NAME(sigma), NAME(ratio),
	NAME(rtt_ms),      NAME(rtt_sigma),   NAME(mib_second), NAME(leases),     NAME(store), NAME(crash),
	NAME(down_minute), NAME(down_length), NAME(seed),
#undef NAME
};

static bool set_parameter(const char *text)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i].name);
		char *end;
		if (strncmp(text, names[i].name, n) != 0 || text[n] != '=')
			continue;
		double value = strtod(text + n + 1, &end);
		if (*end || end == text + n + 1)
			return false;
		*(double *)((char *)&p + names[i].offset) = value;
		return true;
	}
	return false;
}

/* ---- Chance ---- */

static uint64_t state;

static uint64_t next_random(void) /* SplitMix64 */
{
	uint64_t z = state += 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static double uniform(void) /* above 0, below 1 */
{
	return ((double)(next_random() >> 11) + 0.5) / 9007199254740992.0;
}

static double log_normal(double median, double sigma)
{
	return median * exp(sigma * sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()));
}

static double exponential(double mean)
{
	return -mean * log(uniform());
}

/* ---- State ---- */

struct image {
	float mib; /* of debug data */
	uint8_t version;
	bool stored;      /* a conversion of this version */
	bool converted;   /* some host did, whether or not it is stored yet */
	bool leased;      /* the lease in the store: */
	double leased_at; /* ms */
	unsigned tag;
};

/* What a host does about an image that it does not have. */
struct task {
	struct task *next; /* in the queue of a host, or among the unused */
	uint32_t host, image;
	uint32_t generation; /* incremented at its end: events of former tasks are void */
	uint8_t version;
	bool has_slot, converting, converted, has_waited;
	bool asking; /* GET is under way, */
	unsigned predicted_ms, tag;
	double since, converting_since, asking_since; /* ms */
	struct lease lease;
};

struct host {
	struct breaker breaker;
	unsigned busy; /* slots */
	struct task *first, **last;
	uint8_t *have; /* for each image 1 + the version that it has; 0: none; ASKED */
};

enum { ASKED = 255, VERSIONS = 250 };

static struct image *images;
static struct host *hosts;
static double *popularity; /* sums, for a binary search */
static struct task *unused;

static struct sums {
	uint64_t uses, first_uses, hits, waited, conversions, duplicates, hedged, get, head, put, delete,
		taken_over, broken;
	double bytes_in, bytes_out, converting_ms;
	uint64_t waits[WAIT_BUCKETS];
} all, minute;

#define COUNT(field, n) (all.field += (n), minute.field += (n))

/* ---- Events: a binary heap ---- */

enum kind {
	EV_USE,
	EV_STORM, /* one use of an image that all hosts use */
	EV_RELEASE,
	EV_MINUTE,
	/* of a task: */
	EV_HEDGE,
	EV_GOT,       /* the answer to GET */
	EV_LATE,      /* there was none */
	EV_LEASE,     /* the answer to a conditional PUT */
	EV_LOOK,      /* the time has come to look again */
	EV_HEAD,      /* the answer to HEAD */
	EV_TAKEN,     /* a conversion was transferred */
	EV_CONVERTED, /* ours is ready */
	EV_GIVEN,     /* and has been published */
};

struct event {
	double at; /* ms */
	enum kind kind;
	uint32_t host, generation;
	uint32_t image; /* with EV_STORM */
	struct task *task;
};

static struct event *heap;
static size_t n_heap, max_heap;
static double now;

static void *need(void *memory)
{
	if (!memory) {
		fputs("simulate: no memory\n", stderr);
		exit(1);
	}
	return memory;
}

static void add_event(struct event event)
{
	if (n_heap == max_heap) {
		max_heap = max_heap ? 2 * max_heap : 4096;
		heap = need(realloc(heap, max_heap * sizeof(*heap)));
	}
	size_t i = n_heap++;
	for (; i && heap[(i - 1) / 2].at > event.at; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = event;
}

static struct event take_event(void)
{
	struct event first = heap[0], last = heap[--n_heap];
	size_t i = 0;
	for (size_t child; (child = 2 * i + 1) < n_heap; i = child) {
		child += child + 1 < n_heap && heap[child + 1].at < heap[child].at;
		if (last.at <= heap[child].at)
			break;
		heap[i] = heap[child];
	}
	heap[i] = last;
	return first;
}

static void after(double ms, enum kind kind, struct task *task)
{
	add_event((struct event){.at = now + ms, .kind = kind, .generation = task->generation, .task = task});
}

/* ---- The store ---- */

static bool is_down(double at)
{
	double from = p.down_minute * MINUTE_MS;
	return p.down_minute >= 0 && at >= from && at < from + p.down_length * MINUTE_MS;
}

static double round_trip(void)
{
	return log_normal(p.rtt_ms, p.rtt_sigma);
}

static double conversion_bytes(const struct task *task)
{
	return (double)images[task->image].mib * p.ratio * (1 << 20);
}

static double transfer_ms(const struct task *task)
{
	return conversion_bytes(task) / (p.mib_second * (1 << 20)) * 1000;
}

static bool is_current(const struct task *task)
{
	return images[task->image].version == task->version;
}

static void tag_text(unsigned tag, char ret[static ETAG_MAX])
{
	snprintf(ret, ETAG_MAX, "\"%u\"", tag);
}

/* ---- Tasks ---- */

static void step_get(struct task *task);

static struct task *new_task(uint32_t host, uint32_t image)
{
	struct task *task = unused;
	uint32_t generation = 0;
	if (task) {
		unused = task->next;
		generation = task->generation;
	} else {
		task = need(malloc(sizeof(*task)));
	}
	*task = (struct task){.host = host, .image = image, .generation = generation, .since = now};
	task->version = images[image].version;
	task->lease.seed = (uint32_t)next_random();
	return task;
}

/* An answer that has not even begun when the conversion ends is one that came too late. */
static void end_request(struct task *task)
{
	struct breaker *breaker = &hosts[task->host].breaker;
	if (!task->asking)
		return;
	task->asking = false;
	if (now - task->asking_since >= LEASE_HEDGE_MS)
		breaker_note(breaker, (int64_t)now, true);
	else
		breaker_note_canceled(breaker);
}

static void free_task(struct task *task)
{
	end_request(task);
	task->generation++;
	task->next = unused;
	unused = task;
}

static void take_slot(struct task *task)
{
	struct host *host = &hosts[task->host];
	if (host->busy < (unsigned)p.slots) {
		host->busy++;
		task->has_slot = true;
		step_get(task);
		return;
	}
	task->next = NULL;
	*host->last = task;
	host->last = &task->next;
}

static void leave_slot(struct task *task)
{
	struct host *host = &hosts[task->host];
	struct task *next = host->first;
	if (!task->has_slot)
		return;
	task->has_slot = false;
	host->busy--;
	if (!next)
		return;
	host->first = next->next;
	if (!host->first)
		host->last = &host->first;
	take_slot(next);
}

static void note_wait(double ms)
{
	int bucket = ms < 1 ? 0 : (int)(2 * log2(ms)) + 1;
	COUNT(waits[bucket < WAIT_BUCKETS ? bucket : WAIT_BUCKETS - 1], 1);
}

/* The host has the conversion: those that wait for it are answered. */
static void answer(struct task *task)
{
	note_wait(now - task->since);
	hosts[task->host].have[task->image] = is_current(task) ? (uint8_t)(1 + task->version) : 0;
	leave_slot(task);
}

static void convert(struct task *task)
{
	if (task->converting)
		return;
	task->converting = true;
	task->converting_since = now;
	if (task->lease.held && uniform() < p.crash) { /* the host restarts; its lease stays */
		hosts[task->host].have[task->image] = 0;
		COUNT(broken, 1);
		leave_slot(task);
		free_task(task);
		return;
	}
	after(log_normal(task->predicted_ms, 0.4), EV_CONVERTED, task);
}

static void send_get(struct task *task)
{
	COUNT(get, 1);
	task->asking = true;
	task->asking_since = now;
	if (is_down(now))
		after(2000, EV_LATE, task);
	else
		after(round_trip(), EV_GOT, task);
}

/* Asks the store, or converts at once. In a slot. */
static void step_get(struct task *task)
{
	struct image *image = &images[task->image];
	unsigned threads = 2;
	task->predicted_ms = predict_conversion_ms((uint64_t)((double)image->mib * (1 << 20)), threads);
	if (task->lease.step == LEASE_CONVERT &&
	    task->has_waited) { /* it has waited for another that did not give it */
		convert(task);
		return;
	}
	if (p.store == 0 || !breaker_allows(&hosts[task->host].breaker, (int64_t)now)) {
		convert(task);
		return;
	}
	send_get(task);
	after(LEASE_HEDGE_MS, EV_HEDGE, task);
}

/* Does what the lease says. */
static void step_lease(struct task *task)
{
	switch (task->lease.step) {
	case LEASE_TAKE:
	case LEASE_TAKE_OVER:
		COUNT(put, 1);
		after(round_trip(), EV_LEASE, task);
		return;
	case LEASE_LOOK:
		task->has_waited = true;
		leave_slot(task);
		after(task->lease.wait_ms, EV_LOOK, task);
		return;
	case LEASE_CONVERT:
		if (task->has_slot)
			convert(task);
		else
			take_slot(task);
		return;
	}
}

/* ---- What happens ---- */

static void on_got(struct task *task)
{
	struct image *image = &images[task->image];
	task->asking = false;
	breaker_note(&hosts[task->host].breaker, (int64_t)now, false);
	if (image->stored && is_current(task)) {
		COUNT(bytes_in, conversion_bytes(task));
		after(transfer_ms(task), EV_TAKEN, task);
	} else if (task->has_waited) {
		COUNT(head, 1);
		after(round_trip(), EV_HEAD, task);
	} else if (!task->converting) {
		lease_begin(&task->lease, p.leases != 0, task->predicted_ms);
		step_lease(task);
	}
}

static void on_lease(struct task *task)
{
	struct image *image = &images[task->image];
	char tag[ETAG_MAX];
	bool over = task->lease.step == LEASE_TAKE_OVER;
	tag_text(image->tag, tag);
	bool granted = over ? image->leased && strcmp(tag, task->lease.etag) == 0 : !image->leased;
	if (granted) {
		image->leased = true;
		image->leased_at = now;
		task->tag = ++image->tag;
		COUNT(taken_over, over);
	}
	if (task->converting) { /* the hedge was faster */
		task->lease.held = granted;
		return;
	}
	lease_note_put(&task->lease, granted ? 0 : -EEXIST);
	step_lease(task);
}

static void on_head(struct task *task)
{
	const struct image *image = &images[task->image];
	char tag[ETAG_MAX];
	tag_text(image->tag, tag);
	lease_note_head(&task->lease, image->leased ? 0 : -ENOENT, (int64_t)(now / 1000),
			(int64_t)(image->leased_at / 1000), tag);
	step_lease(task);
}

static void on_converted(struct task *task)
{
	struct image *image = &images[task->image];
	COUNT(conversions, 1);
	COUNT(duplicates, is_current(task) && image->converted);
	COUNT(converting_ms, now - task->converting_since);
	image->converted |= is_current(task);
	task->converted = true;
	end_request(task);
	answer(task);
	if (p.store == 0 || is_down(now)) {
		free_task(task);
		return;
	}
	COUNT(put, 1);
	after(round_trip() + transfer_ms(task), EV_GIVEN, task);
}

static void on_given(struct task *task)
{
	struct image *image = &images[task->image];
	if (is_current(task) && !image->stored) {
		image->stored = true;
		COUNT(bytes_out, conversion_bytes(task));
	}
	if (task->lease.held) {
		COUNT(delete, 1);
		image->leased &= image->tag != task->tag;
	}
	free_task(task);
}

static void on_taken(struct task *task)
{
	if (task->converting) {
		COUNT(hedged, 1);
		COUNT(converting_ms, now - task->converting_since);
	}
	if (task->has_waited)
		COUNT(waited, 1);
	COUNT(hits, 1);
	answer(task);
	if (task->lease.held)
		images[task->image].leased &= images[task->image].tag != task->tag;
	free_task(task);
}

static void on_task(enum kind kind, struct task *task)
{
	switch (kind) {
	case EV_HEDGE:
		if (!task->has_waited)
			convert(task);
		return;
	case EV_GOT:
		if (!task->converted)
			on_got(task);
		return;
	case EV_LATE:
		if (!task->asking)
			return;
		task->asking = false;
		breaker_note(&hosts[task->host].breaker, (int64_t)now, true);
		if (task->has_waited) {
			task->lease.step = LEASE_CONVERT;
			step_lease(task);
		}
		return;
	case EV_LEASE: on_lease(task); return;
	case EV_LOOK: send_get(task); return;
	case EV_HEAD: on_head(task); return;
	case EV_TAKEN:
		if (!task->converted)
			on_taken(task);
		return;
	case EV_CONVERTED: on_converted(task); return;
	case EV_GIVEN: on_given(task); return;
	default: abort();
	}
}

static uint32_t choose_image(void)
{
	size_t low = 0, high = (size_t)p.images - 1;
	double at = uniform() * popularity[high];
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (popularity[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)low;
}

static void use(uint32_t host, uint32_t image)
{
	uint8_t *have = &hosts[host].have[image];
	COUNT(uses, 1);
	if (*have == ASKED || *have == 1 + images[image].version)
		return;
	COUNT(first_uses, 1);
	*have = ASKED;
	take_slot(new_task(host, image));
}

static void on_use(uint32_t host)
{
	add_event((struct event){.at = now + exponential(1000 / p.rate), .kind = EV_USE, .host = host});
	use(host, choose_image());
}

/* All hosts use @image soon. */
static void begin_storm(uint32_t image)
{
	for (uint32_t host = 0; host < (uint32_t)p.hosts; host++)
		add_event((struct event){.at = now + uniform() * p.storm_s * 1000,
					 .kind = EV_STORM,
					 .host = host,
					 .image = image});
}

/* Half of the new images take the places of popular ones, as a program that is deployed does. */
static void on_release(void)
{
	for (unsigned i = 0; i < (unsigned)p.fresh; i++) {
		uint64_t range = (uint64_t)(i % 2 ? p.images : p.images / 20 + 1);
		uint32_t number = (uint32_t)(next_random() % range);
		struct image *image = &images[number];
		image->version = (uint8_t)((image->version + 1) % VERSIONS);
		image->stored = image->converted = image->leased = false;
		if (i < (unsigned)p.storm)
			begin_storm(number);
	}
	add_event((struct event){.at = now + HOUR_MS, .kind = EV_RELEASE});
}

/* ---- Results ---- */

/* The waiting time, ms, that @part of the first uses did not exceed. */
static double quantile(const struct sums *sums, double part)
{
	uint64_t total = 0, seen = 0;
	for (int i = 0; i < WAIT_BUCKETS; i++)
		total += sums->waits[i];
	for (int i = 0; i < WAIT_BUCKETS; i++)
		if ((double)(seen += sums->waits[i]) >= part * (double)total)
			return i ? exp2(i / 2.0) : 1;
	return 0;
}

static void print_sums(const char *label, const struct sums *s)
{
	printf("%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
	       "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
	       "\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\n",
	       label, s->uses, s->first_uses, s->hits, s->waited, s->hedged, s->conversions, s->duplicates,
	       s->taken_over, s->get, s->head, s->put, s->delete, s->bytes_in / (1 << 20),
	       s->bytes_out / (1 << 20), s->converting_ms / 1000, quantile(s, 0.5), quantile(s, 0.99));
}

static void print_heading(void)
{
	puts("minute\tuses\tfirst_uses\thits\twaited\thedged\tconversions\tduplicates\ttaken_"
	     "over\tget\thead\tput"
	     "\tdelete\tmib_in\tmib_out\tconverting_s\twait_p50_ms\twait_p99_ms");
}

static void on_minute(void)
{
	char label[16];
	snprintf(label, sizeof(label), "%.0f", now / MINUTE_MS);
	print_sums(label, &minute);
	minute = (struct sums){0};
	add_event((struct event){.at = now + MINUTE_MS, .kind = EV_MINUTE});
}

/* ---- The whole ---- */

static void begin(void)
{
	double sum = 0;
	state = (uint64_t)p.seed;
	images = need(calloc((size_t)p.images, sizeof(*images)));
	hosts = need(calloc((size_t)p.hosts, sizeof(*hosts)));
	popularity = need(calloc((size_t)p.images, sizeof(*popularity)));
	for (size_t i = 0; i < (size_t)p.images; i++) {
		images[i].mib = (float)fmin(log_normal(p.median_mib, p.sigma), 4096);
		popularity[i] = sum += pow((double)(i + 1), -p.zipf);
	}
	for (uint32_t i = 0; i < (uint32_t)p.hosts; i++) {
		hosts[i].last = &hosts[i].first;
		hosts[i].breaker.jitter = (uint8_t)next_random();
		hosts[i].have = need(calloc((size_t)p.images, 1));
		add_event((struct event){.at = exponential(1000 / p.rate), .kind = EV_USE, .host = i});
	}
	add_event((struct event){.at = HOUR_MS, .kind = EV_RELEASE});
	add_event((struct event){.at = MINUTE_MS, .kind = EV_MINUTE});
}

static void run(void)
{
	while (heap[0].at <= p.hours * HOUR_MS) {
		struct event event = take_event();
		now = event.at;
		switch (event.kind) {
		case EV_USE: on_use(event.host); break;
		case EV_STORM: use(event.host, event.image); break;
		case EV_RELEASE: on_release(); break;
		case EV_MINUTE: on_minute(); break;
		default:
			if (event.task->generation == event.generation)
				on_task(event.kind, event.task);
		}
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!set_parameter(argv[i])) {
			fprintf(stderr, "simulate: no such parameter: '%s'\n", argv[i]);
			return 2;
		}
	}
	print_heading();
	begin();
	run();
	print_sums("sum", &all);
	return 0;
}

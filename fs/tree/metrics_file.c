/*
 * The file metrics. Names follow debuginfod's where it has the same thing: thread_work_pending, thread_busy,
 * scanned_files_total.
 */
#include "fs/tree/root_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "gsym/base/text_buf.h"
#include "work/os/beneath.h"
#include "work/run/counters.h"
#include "work/run/converter.h"
#include "work/sandbox/sandbox.h"
#include "work/worker/child.h"
#include "work/types/convert_revision.h"
#include "fs/call/runners.h"
#include "fs/convert/queue.h"
#include "fs/images/revision.h"
#include "fs/scan/remote.h"
#include "fs/sys/metrics.h"

/* ---- The format ---- */

/* All samples have the mount point as a label, so that those of two mounts on a host differ. */
struct exposition {
	struct text_buf text;
	struct text_buf mount; /* the label's value, escaped */
};

/* A backslash, a quote and a newline are escaped. */
static void escape_label(struct text_buf *out, const char *value)
{
	for (; *value; value++) {
		if (*value == '\n') {
			text_lit(out, "\\n");
			continue;
		}
		if (*value == '\\' || *value == '"')
			text_char(out, '\\');
		text_char(out, *value);
	}
}

static void describe(struct exposition *out, const char *name, const char *type, const char *help)
{
	text_lit(&out->text, "# HELP gsymfs_");
	text_str(&out->text, name);
	text_char(&out->text, ' ');
	text_str(&out->text, help);
	text_lit(&out->text, "\n# TYPE gsymfs_");
	text_str(&out->text, name);
	text_char(&out->text, ' ');
	text_str(&out->text, type);
	text_char(&out->text, '\n');
}

/* @label: what distinguishes the samples of a metric, name="value"; or "". */
static void sample(struct exposition *out, const char *name, const char *label, const char *value)
{
	struct text_buf *text = &out->text;
	text_lit(text, "gsymfs_");
	text_str(text, name);
	text_lit(text, "{mount=\"");
	text_bytes(text, out->mount.v, out->mount.n);
	text_str(text, *label ? "\"," : "\"");
	text_str(text, label);
	text_lit(text, "} ");
	text_str(text, value);
	text_char(text, '\n');
}

static void number(struct exposition *out, const char *name, const char *label, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	sample(out, name, label, text);
}

static void seconds(struct exposition *out, const char *name, uint64_t ms)
{
	char text[40];
	snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ms / 1000, (unsigned)(ms % 1000));
	sample(out, name, "", text);
}

static void single(struct exposition *out, const char *name, const char *type, const char *help,
		   uint64_t value)
{
	describe(out, name, type, help);
	number(out, name, "", value);
}

/* A sample for each of @n words of the label. */
static void by_label(struct exposition *out, const char *name, const char *label, const char *const *words,
		     size_t n, const uint64_t *values)
{
	for (size_t i = 0; i < n; i++) {
		char labels[64];
		snprintf(labels, sizeof(labels), "%s=\"%s\"", label, words[i]);
		number(out, name, labels, values[i]);
	}
}

static uint64_t load(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Counters by result. */
static void results(struct exposition *out, const char *name, const char *help, const char *const *words,
		    size_t n, const _Atomic uint64_t *counters)
{
	uint64_t values[16];
	for (size_t i = 0; i < n; i++)
		values[i] = load(&counters[i]);
	describe(out, name, "counter", help);
	by_label(out, name, "result", words, n, values);
}

/* A series of a histogram. */
struct times {
	const char *name, *label; /* @label: as of sample() */
	const double *bounds;
	size_t n;
	const _Atomic uint64_t *counts; /* one more than @n */
	double sum;
};

static void histogram(struct exposition *out, const struct times *t)
{
	uint64_t sum = 0;
	char name[64], label[64];
	snprintf(name, sizeof(name), "%s_bucket", t->name);
	for (size_t i = 0; i <= t->n; i++) {
		int n = snprintf(label, sizeof(label), "%s%sle=\"", t->label, *t->label ? "," : "");
		if (i < t->n)
			snprintf(label + n, sizeof(label) - (size_t)n, "%g\"", t->bounds[i]);
		else
			snprintf(label + n, sizeof(label) - (size_t)n, "+Inf\"");
		sum += load(&t->counts[i]);
		number(out, name, label, sum);
	}
	snprintf(name, sizeof(name), "%s_sum", t->name);
	snprintf(label, sizeof(label), "%.6f", t->sum);
	sample(out, name, t->label, label);
	snprintf(name, sizeof(name), "%s_count", t->name);
	number(out, name, t->label, sum);
}

/* ---- What is counted ---- */

static void lookup_times(struct exposition *out, const struct metrics *m)
{
	static const char *const labels[] = {
		[TIER_CACHE] = "tier=\"cache\"",
		[TIER_FRAGMENT] = "tier=\"fragment\"",
		[TIER_CONVERSION] = "tier=\"conversion\"",
	};
	describe(out, "lookup_seconds", "histogram",
		 "How long names of addresses and symbols took, by what answered.");
	for (size_t i = 0; i < LOOKUP_TIERS; i++)
		histogram(out, &(struct times){"lookup_seconds", labels[i], lookup_bounds, LOOKUP_BUCKETS,
					       m->lookup_times[i], (double)load(&m->lookup_us[i]) / 1e6});
}

static void answers(struct exposition *out, const struct metrics *m)
{
	static const char *const words[] = {
		[LOOKUP_FOUND] = "found", [LOOKUP_UNKNOWN] = "unknown", [LOOKUP_ERROR] = "error"};
	results(out, "lookups_total", "Names of addresses and symbols that were answered.", words,
		LOOKUP_RESULTS, m->lookups);
	lookup_times(out, m);
	single(out, "batch_addresses_total", "counter", "Lines of q that were answered.",
	       load(&m->batch_addresses));
	results(out, "log_addresses_total", "Addresses met in log.", words, LOOKUP_ERROR, m->log_addresses);
}

static void conversion_times(struct exposition *out, const struct metrics *m)
{
	describe(out, "conversion_seconds", "histogram", "How long conversions took.");
	histogram(out, &(struct times){"conversion_seconds", "", conversion_bounds, CONVERSION_BUCKETS,
				       m->conversion_times, (double)load(&m->conversion_ms) / 1e3});
}

static void conversions(struct exposition *out, const struct metrics *m)
{
	static const char *const words[] = {
		[CONVERSION_OK] = "ok",
		[CONVERSION_FAILED] = "failed",
		[CONVERSION_CRASHED] = "crashed",
		[CONVERSION_LIMIT] = "limit",
		[CONVERSION_REPLACED] = "replaced",
	};
	results(out, "conversions_total", "Conversions that ended.", words, CONVERSION_RESULTS,
		m->conversions);
	conversion_times(out, m);
	static const char *const idle[] = {[IDLE_CONVERTED] = "converted", [IDLE_GIVEN_UP] = "given_up"};
	results(out, "idle_conversions_total",
		"Conversions of images of which only addresses were asked, on an idle host.", idle,
		IDLE_RESULTS, m->idle);
}

static void fetches(struct exposition *out, const struct run_counters *counters)
{
	static const char *const words[] = {
		[FETCH_FOUND] = "found", [FETCH_MISSING] = "missing", [FETCH_FAILED] = "failed"};
	results(out, "debuginfod_requests_total", "Debug files that servers of debuginfod were asked for.",
		words, FETCH_RESULTS, counters->fetches);
}

static void cache(struct exposition *out, struct tree *tree)
{
	static const char *const words[] = {
		[CACHE_HIT] = "hit", [CACHE_MISS] = "miss", [CACHE_FAILURE] = "failure"};
	results(out, "cache_requests_total",
		"Images looked for in the cache; failure: one that was remembered.", words, CACHE_RESULTS,
		tree->metrics->cache);
	single(out, "cache_bytes", "gauge", "Size of the files in the cache.",
	       atomic_load(&tree->cache->bytes));
	single(out, "cache_limit_bytes", "gauge", "Size they may have.", tree->cache->limit);
	single(out, "cache_files", "gauge", "Converted files in the cache.",
	       atomic_load(&tree->cache->files));
}

static void shared_requests(struct exposition *out, const struct store_counters *counters)
{
	static const char *const operations[STORE_OPERATIONS] = {
		[STORE_GET] = "get",
		[STORE_HEAD] = "head",
		[STORE_PUT] = "put",
		[STORE_DELETE] = "delete",
	};
	static const char *const words[STORE_RESULTS] = {
		[STORE_OK] = "ok",
		[STORE_MISSING] = "missing",
		[STORE_CONDITION] = "condition",
		[STORE_FORBIDDEN] = "forbidden",
		[STORE_DAMAGED] = "damaged",
		[STORE_LATE] = "late",
		[STORE_FAILED] = "failed",
		[STORE_SKIPPED] = "skipped",
		[STORE_CANCELED] = "canceled",
	};
	describe(out, "shared_requests_total", "counter", "Requests to the shared store.");
	for (size_t i = 0; i < STORE_OPERATIONS; i++)
		for (size_t j = 0; j < STORE_RESULTS; j++) {
			char labels[64];
			snprintf(labels, sizeof(labels), "operation=\"%s\",result=\"%s\"", operations[i],
				 words[j]);
			number(out, "shared_requests_total", labels, load(&counters->requests[i][j]));
		}
	describe(out, "shared_request_seconds_total", "counter", "How long they took together.");
	seconds(out, "shared_request_seconds_total", load(&counters->milliseconds));
	single(out, "shared_sent_bytes_total", "counter", "Bytes of objects that were sent.",
	       load(&counters->sent));
	single(out, "shared_received_bytes_total", "counter", "Bytes of objects that were received.",
	       load(&counters->received));
}

static void shared_leases(struct exposition *out, const struct store_counters *counters)
{
	static const char *const words[] = {"taken", "waited", "broken"};
	const uint64_t values[] = {load(&counters->leases_taken), load(&counters->leases_waited),
				   load(&counters->leases_broken)};
	describe(out, "shared_leases_total", "counter",
		 "Leases of conversions: taken, waited for, and taken over.");
	by_label(out, "shared_leases_total", "result", words, ARRAY_SIZE(words), values);
	single(out, "shared_breaker_opened_total", "counter", "How often the store was given up for a while.",
	       load(&counters->breaker_opened));
}

/* Gauges of the store; @c has one. */
static void shared_state(struct exposition *out, const struct converter *c)
{
	struct store_status status;
	CLEANUP(text_deinit) struct text_buf label = {0};
	c->store->describe(c->share, &status);
	single(out, "shared_breaker_open", "gauge", "Whether the store is not asked for a while.",
	       status.breaker_open);
	single(out, "shared_read_only", "gauge", "Whether the store takes nothing.", status.read_only);
	text_lit(&label, "reason=\"");
	escape_label(&label, status.reason);
	text_bytes(&label, "\"", 2);
	if (label.failed || !*status.reason)
		return;
	describe(out, "shared_trouble", "gauge", "Why either is so.");
	number(out, "shared_trouble", label.v, 1);
}

/* The store that hosts share. */
static void shared(struct exposition *out, const struct converter *c)
{
	static const char *const words[SHARE_RESULTS] = {
		[SHARE_HIT] = "hit",         [SHARE_FAILURE] = "failure",   [SHARE_MISS] = "miss",
		[SHARE_WAITED] = "waited",   [SHARE_HEDGED] = "hedged",     [SHARE_REFUSED] = "refused",
		[SHARE_DAMAGED] = "damaged", [SHARE_OUTDATED] = "outdated", [SHARE_DOWN] = "down",
		[SHARE_GIVEN] = "given",     [SHARE_DROPPED] = "dropped",
	};
	static const struct store_counters none;
	const struct store_counters *counters = c->store ? c->store->counters(c->share) : &none;
	results(out, "shared_conversions_total",
		"Conversions that were looked for in the shared store, and given to it.", words,
		SHARE_RESULTS, counters->shares);
	shared_requests(out, counters);
	shared_leases(out, counters);
	if (c->store)
		shared_state(out, c);
}

/* Present states. */
static void gauges(struct exposition *out, struct tree *tree)
{
	const struct metrics *m = tree->metrics;
	const int64_t completed = atomic_load(&m->scan_completed);
	const int64_t age = time(NULL) - (completed ? completed : tree->mounted_at.tv_sec);
	const struct {
		const char *name, *help;
		uint64_t value;
	} rows[] = {
		{"start_time_seconds", "When it was mounted, in seconds since the epoch.",
		 (uint64_t)tree->mounted_at.tv_sec},
		{"scan_completed_time_seconds",
		 "When the last complete scan ended, in seconds since the epoch; 0: none has.",
		 (uint64_t)completed},
		{"scan_completed_age_seconds", "How long ago that was, or the mount if none has.",
		 age < 0 ? 0 : (uint64_t)age}, /* the clock may have been set back */
		{"source_emptied", "Whether the last complete scan found no image, and one before did.",
		 atomic_load(&m->source_emptied)},
		{"cache_in_memory", "Whether the cache cannot be written to, and memory is used instead.",
		 atomic_load(&tree->cache->retry_at) != 0},
		{"cache_memory_bytes", "Converted files that are kept in memory for that.",
		 atomic_load(&tree->cache->in_memory)},
		{"worker_failing", "Whether the last start of a worker failed.", child_start_error() != 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		single(out, rows[i].name, "gauge", rows[i].help, rows[i].value);
	uint64_t layers[SANDBOX_LAYERS];
	for (unsigned i = 0; i < SANDBOX_LAYERS; i++)
		layers[i] = child_layers() >> i & 1;
	describe(out, "sandbox_layer", "gauge", "Whether this layer of the sandbox of workers holds.");
	by_label(out, "sandbox_layer", "layer", sandbox_layer_words, SANDBOX_LAYERS, layers);
	single(out, "openat2", "gauge", "Whether paths are kept below the source by openat2(2).",
	       beneath_refused() == 0);
}

static void scans(struct exposition *out, const struct metrics *m)
{
	static const char *const words[] = {
		[SCAN_COMPLETE] = "complete", [SCAN_INCOMPLETE] = "incomplete", [SCAN_PARTIAL] = "partial"};
	results(out, "scans_total", "Walks over the source that ended.", words, SCAN_RESULTS, m->scans);
	describe(out, "scan_seconds_total", "counter", "How long they took together.");
	seconds(out, "scan_seconds_total", load(&m->scan_ms));
	single(out, "scanned_files_total", "counter", "Files they met.", load(&m->scanned_files));
}

/* Returns when the call began that waits for longest, of monotonic_us(); @now if none does. */
static int64_t oldest_call(struct tree *tree, int64_t now) REQUIRES(&tree->images->lock)
{
	struct images *images = tree->images;
	int64_t oldest = calls_oldest(&images->scan_waiters, now);
	const struct revision *rev;
	for (uint32_t i = 0; (rev = slots_from(&images->revisions, &i)); i++)
		oldest = calls_oldest(&rev->waiters, oldest);
	if (!tree->remote)
		return oldest;
	mutex_assert_held(&tree->remote->images->lock); /* the same */
	return remote_oldest(tree->remote, oldest);
}

static void work(struct exposition *out, struct tree *tree)
{
	static const char *const roles[] = {"open", "convert", "measure", "names", "run", "idle", "fragment"};
	const struct queue *queue = tree->answers->queue;
	uint64_t states[STATES] = {0}, pending[ARRAY_SIZE(roles)], n_idle = 0;
	mutex_lock(&tree->images->lock);
	const struct image *image;
	for (uint32_t i = 0; (image = slots_from(&tree->images->all, &i)); i++)
		if (image_is_there(image)) {
			states[image_state(image)]++;
			n_idle += image->revision && idle_is_pending(&queue->idle, image->revision);
		}
	pending[0] = revision_queue_count(&queue->opening);
	pending[1] = revision_queue_count(&queue->converting);
	pending[2] = background_count(&tree->answers->tables);
	pending[3] = background_count(&tree->answers->names);
	pending[4] = user_queues_count(&tree->runners->waiting);
	pending[5] = n_idle;
	pending[6] = revision_queue_count(&queue->fragments.further);
	const int64_t now = monotonic_us(), oldest = oldest_call(tree, now);
	mutex_unlock(&tree->images->lock);
	describe(out, "images", "gauge", "Images by the state of their conversion.");
	by_label(out, "images", "state", state_words, STATES, states);
	describe(out, "waiting_seconds", "gauge", "For how long the oldest call waits; 0: none does.");
	seconds(out, "waiting_seconds", (uint64_t)(now - oldest) / 1000);
	describe(out, "thread_work_pending", "gauge", "Work that no thread has taken up.");
	by_label(out, "thread_work_pending", "role", roles, ARRAY_SIZE(roles), pending);
	describe(out, "thread_busy", "gauge", "Workers that convert.");
	number(out, "thread_busy", "role=\"convert\"", states[STATE_CONVERTING]);
}

static void kept(struct exposition *out, struct tree *tree)
{
	struct nodes_counts nodes = nodes_count(&tree->nodes);
	single(out, "nodes", "gauge", "Files of addresses that the kernel knows.", nodes.used);
	single(out, "nodes_total", "counter", "Files of addresses that it has known.", nodes.made);
	single(out, "node_bytes", "gauge", "Answers kept for them.", nodes.content_bytes);
	single(out, "open_files", "gauge", "Open files that hold something.",
	       open_files_count(&tree->open_files));
	single(out, "batch_bytes", "gauge", "Memory of all open q and log.",
	       atomic_load(&tree->answers->accounts.charged[ACCOUNT_FILES]));
}

static void revisions(struct exposition *out)
{
	describe(out, "converter_revision", "gauge",
		 "What is made of files: another revision of a reader converts its formats again.");
	for (size_t i = 0; i < READERS; i++) {
		char label[64];
		const char *revision = convert_revisions[i], *equals = strchr(revision, '=');
		snprintf(label, sizeof(label), "reader=\"%.*s\"", (int)(equals - revision), revision);
		sample(out, "converter_revision", label, equals + 1);
	}
}

struct content *root_metrics(struct tree *tree, struct revision *dir, const struct caller *caller)
{
	(void)dir, (void)caller;
	struct exposition out = {.text = {0}};
	escape_label(&out.mount, tree->mountpoint);
	describe(&out, "build_info", "gauge", "The version of the daemon.");
	number(&out, "build_info", "version=\"" GSYMFS_VERSION "\"", 1);
	revisions(&out);
	answers(&out, tree->metrics);
	conversions(&out, tree->metrics);
	fetches(&out, tree->counters);
	cache(&out, tree);
	shared(&out, tree->answers->queue->converter);
	scans(&out, tree->metrics);
	gauges(&out, tree);
	work(&out, tree);
	kept(&out, tree);
	bool failed = out.text.failed || out.mount.failed;
	struct content *content = failed ? NULL : content_new(out.text.v, out.text.n);
	text_deinit(&out.text);
	text_deinit(&out.mount);
	return content;
}

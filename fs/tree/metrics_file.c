/*
 * The file metrics. Names follow debuginfod's where it has the same thing: thread_work_pending, thread_busy,
 * scanned_files_total.
 */
#include "fs/tree/root_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gsym/base/text_buf.h"
#include "work/run/counters.h"
#include "work/run/converter.h"
#include "work/types/convert_revision.h"
#include "fs/call/runners.h"
#include "fs/convert/queue.h"
#include "fs/images/revision.h"
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

/* ---- What is counted ---- */

static void answers(struct exposition *out, const struct metrics *m)
{
	static const char *const words[] = {
		[LOOKUP_FOUND] = "found", [LOOKUP_UNKNOWN] = "unknown", [LOOKUP_ERROR] = "error"};
	results(out, "lookups_total", "Names of addresses and symbols that were answered.", words,
		LOOKUP_RESULTS, m->lookups);
	single(out, "batch_addresses_total", "counter", "Lines of q that were answered.",
	       load(&m->batch_addresses));
	results(out, "log_addresses_total", "Addresses met in log.", words, LOOKUP_ERROR, m->log_addresses);
}

static void conversion_times(struct exposition *out, const struct metrics *m)
{
	uint64_t sum = 0;
	describe(out, "conversion_seconds", "histogram", "How long conversions took.");
	for (size_t i = 0; i < CONVERSION_BUCKETS; i++) {
		char labels[40];
		snprintf(labels, sizeof(labels), "le=\"%g\"", conversion_bounds[i]);
		sum += load(&m->conversion_times[i]);
		number(out, "conversion_seconds_bucket", labels, sum);
	}
	sum += load(&m->conversion_times[CONVERSION_BUCKETS]);
	number(out, "conversion_seconds_bucket", "le=\"+Inf\"", sum);
	seconds(out, "conversion_seconds_sum", load(&m->conversion_ms));
	number(out, "conversion_seconds_count", "", sum);
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

static void work(struct exposition *out, struct tree *tree)
{
	static const char *const roles[] = {"open", "convert", "measure", "names", "run", "idle"};
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
	mutex_unlock(&tree->images->lock);
	describe(out, "images", "gauge", "Images by the state of their conversion.");
	by_label(out, "images", "state", state_words, STATES, states);
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
	work(&out, tree);
	kept(&out, tree);
	bool failed = out.text.failed || out.mount.failed;
	struct content *content = failed ? NULL : content_new(out.text.v, out.text.n);
	text_deinit(&out.text);
	text_deinit(&out.mount);
	return content;
}

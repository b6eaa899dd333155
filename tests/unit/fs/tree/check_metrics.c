/* The file metrics: each counter under its name, with its label and type. */
#include "tests/unit/fs/images/images_fixture.h"

#include "work/run/converter.h"
#include "fs/call/runners.h"
#include "fs/convert/queue.h"
#include "fs/sys/metrics.h"
#include "fs/tree/root_files.h"
#include "fs/tree/tree.h"

#include <stdlib.h>
#include <string.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

enum { ALWAYS = 100000 /* per cent of load: a host is idle below that */ };

struct parts {
	struct metrics metrics;
	struct run_counters counters;
	struct cache cache;
	struct store_counters store;
	struct converter converter;
	struct queue queue;
	struct runners runners;
	struct answers answers;
	struct tree tree;
};

static void begin(struct parts *p, struct images_fixture *f)
{
	p->converter.store = NULL;
	p->queue =
		(struct queue){.images = &f->images, .converter = &p->converter, .idle.load_percent = ALWAYS};
	queue_init(&p->queue);
	runners_init(&p->runners, &f->images.lock, NULL, NULL);
	p->answers = (struct answers){.images = &f->images, .queue = &p->queue};
	answers_init(&p->answers, NULL, NULL);
	p->tree = (struct tree){.images = &f->images,
				.cache = &p->cache,
				.metrics = &p->metrics,
				.counters = &p->counters,
				.runners = &p->runners,
				.answers = &p->answers,
				.mountpoint = "/m"};
	tree_init(&p->tree);
}

static void end(struct parts *p)
{
	tree_deinit(&p->tree);
	answers_deinit(&p->answers);
	runners_deinit(&p->runners);
	queue_deinit(&p->queue);
}

/* A store of which only the counters are asked for: they are what stands for it. */
static const struct store_counters *counters_of(const struct share *share)
{
	return (const struct store_counters *)share;
}

static void describe_store(struct share *share, struct store_status *ret)
{
	(void)share;
	*ret = (struct store_status){.breaker_open = true, .reason = "it said \"no\""};
}

static const struct result_store store = {.counters = counters_of, .describe = describe_store};

/* One count after another. */
static void count_up(_Atomic uint64_t *counters, size_t n, uint64_t first)
{
	for (size_t i = 0; i < n; i++)
		atomic_store(&counters[i], first + i);
}

static char *text_of(struct parts *p)
{
	struct content *content = root_metrics(&p->tree, NULL, NULL);
	assert_non_null(content);
	char *text = strndup(content->data, content->size);
	content_put(content);
	return text;
}

/* The sample @line is there, after a description of the type @type. */
static void expect_sample(const char *text, const char *type, const char *line)
{
	char whole[256], head[256];
	snprintf(whole, sizeof(whole), "\ngsymfs_%s\n", line);
	const char *at = strstr(text, whole);
	if (!at)
		fail_msg("no line %s", line);
	assert_null(strstr(at + 1, whole));
	size_t n = strcspn(line, "{");
	if (strcmp(type, "histogram") == 0)
		n = (size_t)(strstr(line, "_seconds") - line) + strlen("_seconds");
	snprintf(head, sizeof(head), "\n# TYPE gsymfs_%.*s %s\ngsymfs_", (int)n, line, type);
	const char *described = strstr(text, head);
	assert_non_null(described);
	assert_true(described < at);
	const char *other = strstr(described + 1, "\n# ");
	assert_true(!other || at < other); /* of no other metric in between */
	snprintf(head, sizeof(head), "# HELP gsymfs_%.*s ", (int)n, line);
	const char *help = strstr(text, head);
	assert_true(help && help < described);
}

static void expect_samples(const char *text, const char *type, size_t n, const char *const lines[])
{
	for (size_t i = 0; i < n; i++)
		expect_sample(text, type, lines[i]);
}

#define SAMPLES(type, ...)                                                                            \
	expect_samples(text, type, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), \
		       (const char *const[]){__VA_ARGS__})

TEST(of_the_daemon)
{
	static struct parts p;
	begin(&p, *state);
	count_up(p.metrics.lookups, LOOKUP_RESULTS, 101);
	metrics_add_lookup(&p.metrics, TIER_FRAGMENT, 1500);
	metrics_add_lookup(&p.metrics, TIER_FRAGMENT, 200000000);
	p.metrics.scan_completed = 161;
	p.metrics.source_emptied = true;
	p.cache.in_memory = 184;
	p.cache.retry_at = 1;
	p.tree.mounted_at.tv_sec = 185;
	p.metrics.batch_addresses = 110;
	count_up(p.metrics.log_addresses, LOOKUP_RESULTS, 111);
	count_up(p.metrics.conversions, CONVERSION_RESULTS, 121);
	count_up(p.metrics.conversion_times, CONVERSION_BUCKETS + 1, 1);
	p.metrics.conversion_ms = 12034;
	count_up(p.metrics.cache, CACHE_RESULTS, 131);
	count_up(p.metrics.idle, IDLE_RESULTS, 141);
	count_up(p.metrics.scans, SCAN_RESULTS, 151);
	p.metrics.scan_ms = 5999;
	p.metrics.scanned_files = 160;
	count_up(p.counters.fetches, FETCH_RESULTS, 171);
	p.cache.bytes = 181;
	p.cache.limit = 182;
	p.cache.files = 183;
	char *text = text_of(&p);
	SAMPLES("gauge", "build_info{mount=\"/m\",version=\"" GSYMFS_VERSION "\"} 1",
		"cache_bytes{mount=\"/m\"} 181", "cache_limit_bytes{mount=\"/m\"} 182",
		"cache_files{mount=\"/m\"} 183", "cache_in_memory{mount=\"/m\"} 1",
		"cache_memory_bytes{mount=\"/m\"} 184", "start_time_seconds{mount=\"/m\"} 185",
		"scan_completed_time_seconds{mount=\"/m\"} 161", "source_emptied{mount=\"/m\"} 1",
		"worker_failing{mount=\"/m\"} 0", "sandbox_layer{mount=\"/m\",layer=\"landlock\"} 0",
		"openat2{mount=\"/m\"} 1", "waiting_seconds{mount=\"/m\"} 0.000");
	SAMPLES("histogram", "lookup_seconds_bucket{mount=\"/m\",tier=\"fragment\",le=\"0.001\"} 0",
		"lookup_seconds_bucket{mount=\"/m\",tier=\"fragment\",le=\"0.01\"} 1",
		"lookup_seconds_bucket{mount=\"/m\",tier=\"fragment\",le=\"+Inf\"} 2",
		"lookup_seconds_sum{mount=\"/m\",tier=\"fragment\"} 200.001500",
		"lookup_seconds_count{mount=\"/m\",tier=\"cache\"} 0");
	SAMPLES("counter", "lookups_total{mount=\"/m\",result=\"found\"} 101",
		"lookups_total{mount=\"/m\",result=\"unknown\"} 102",
		"lookups_total{mount=\"/m\",result=\"error\"} 103", "batch_addresses_total{mount=\"/m\"} 110",
		"log_addresses_total{mount=\"/m\",result=\"found\"} 111",
		"log_addresses_total{mount=\"/m\",result=\"unknown\"} 112");
	assert_null(strstr(text, "log_addresses_total{mount=\"/m\",result=\"error\"}"));
	SAMPLES("counter", "conversions_total{mount=\"/m\",result=\"ok\"} 121",
		"conversions_total{mount=\"/m\",result=\"failed\"} 122",
		"conversions_total{mount=\"/m\",result=\"crashed\"} 123",
		"conversions_total{mount=\"/m\",result=\"limit\"} 124",
		"conversions_total{mount=\"/m\",result=\"replaced\"} 125",
		"idle_conversions_total{mount=\"/m\",result=\"converted\"} 141",
		"idle_conversions_total{mount=\"/m\",result=\"given_up\"} 142",
		"cache_requests_total{mount=\"/m\",result=\"hit\"} 131",
		"cache_requests_total{mount=\"/m\",result=\"miss\"} 132",
		"cache_requests_total{mount=\"/m\",result=\"failure\"} 133");
	SAMPLES("histogram", "conversion_seconds_bucket{mount=\"/m\",le=\"0.01\"} 1",
		"conversion_seconds_bucket{mount=\"/m\",le=\"0.1\"} 3",
		"conversion_seconds_bucket{mount=\"/m\",le=\"1\"} 6",
		"conversion_seconds_bucket{mount=\"/m\",le=\"1800\"} 28",
		"conversion_seconds_bucket{mount=\"/m\",le=\"+Inf\"} 36",
		"conversion_seconds_sum{mount=\"/m\"} 12.034000",
		"conversion_seconds_count{mount=\"/m\"} 36");
	SAMPLES("counter", "scans_total{mount=\"/m\",result=\"complete\"} 151",
		"scans_total{mount=\"/m\",result=\"incomplete\"} 152",
		"scans_total{mount=\"/m\",result=\"partial\"} 153", "scan_seconds_total{mount=\"/m\"} 5.999",
		"scanned_files_total{mount=\"/m\"} 160",
		"debuginfod_requests_total{mount=\"/m\",result=\"found\"} 171",
		"debuginfod_requests_total{mount=\"/m\",result=\"missing\"} 172",
		"debuginfod_requests_total{mount=\"/m\",result=\"failed\"} 173");
	/* Without a store, too, so that rules have something to sum. */
	SAMPLES("counter", "shared_conversions_total{mount=\"/m\",result=\"hit\"} 0",
		"shared_breaker_opened_total{mount=\"/m\"} 0");
	free(text);
	end(&p);
}

TEST(of_the_store)
{
	static struct parts p;
	begin(&p, *state);
	struct store_counters *c = &p.store;
	p.converter.store = &store;
	p.converter.share = (struct share *)c;
	count_up(&c->requests[0][0], STORE_OPERATIONS * STORE_RESULTS, 201);
	count_up(c->shares, SHARE_RESULTS, 301);
	c->milliseconds = 1;
	c->sent = 311;
	c->received = 312;
	c->leases_taken = 313;
	c->leases_waited = 314;
	c->leases_broken = 315;
	c->breaker_opened = 316;
	char *text = text_of(&p);
	static const char *const words[] = {"hit",     "failure",  "miss", "waited", "hedged", "refused",
					    "damaged", "outdated", "down", "given",  "dropped"},
				 *const operations[] = {"get", "head", "put", "delete"},
				 *const ends[] = {"ok",   "missing", "condition", "forbidden", "damaged",
						  "late", "failed",  "skipped",   "canceled"};
	char line[128];
	static_assert(ARRAY_SIZE(words) == SHARE_RESULTS && ARRAY_SIZE(ends) == STORE_RESULTS, "a word each");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		snprintf(line, sizeof(line), "shared_conversions_total{mount=\"/m\",result=\"%s\"} %zu",
			 words[i], 301 + i);
		expect_sample(text, "counter", line);
	}
	for (size_t i = 0; i < ARRAY_SIZE(operations) * ARRAY_SIZE(ends); i++) {
		snprintf(line, sizeof(line),
			 "shared_requests_total{mount=\"/m\",operation=\"%s\",result=\"%s\"} %zu",
			 operations[i / ARRAY_SIZE(ends)], ends[i % ARRAY_SIZE(ends)], 201 + i);
		expect_sample(text, "counter", line);
	}
	SAMPLES("counter", "shared_request_seconds_total{mount=\"/m\"} 0.001",
		"shared_sent_bytes_total{mount=\"/m\"} 311", "shared_received_bytes_total{mount=\"/m\"} 312",
		"shared_leases_total{mount=\"/m\",result=\"taken\"} 313",
		"shared_leases_total{mount=\"/m\",result=\"waited\"} 314",
		"shared_leases_total{mount=\"/m\",result=\"broken\"} 315",
		"shared_breaker_opened_total{mount=\"/m\"} 316");
	SAMPLES("gauge", "shared_breaker_open{mount=\"/m\"} 1", "shared_read_only{mount=\"/m\"} 0",
		"shared_trouble{mount=\"/m\",reason=\"it said \\\"no\\\"\"} 1");
	free(text);
	end(&p);
}

/* Images by their state, and work that waits. */
TEST_OF(of_images, struct images_fixture, f)
{
	static struct parts p;
	static const char *const ids[] = {"0a", "0b", "0c", "0d"};
	struct list link[3];
	begin(&p, f);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		put_as(f, ids[i], WITH(debug_file(), w.ino = 50 + i));
	struct revision *wanted = revision_of(f, "0a"), *idle = revision_of(f, "0b"),
			*late = revision_of(f, "0c");
	give_fragment(f, idle, new_handle());
	mutex_lock(&f->images.lock);
	queue_want(&p.queue, wanted, OWNER, false);
	revision_set_state(&f->images, late, STATE_OPENING);
	revision_set_state(&f->images, late, STATE_QUEUED);
	revision_queue_add(&p.queue.converting, late);
	for (size_t i = 0; i < ARRAY_SIZE(link); i++)
		user_queues_add(&p.runners.waiting, OWNER, &link[i], false);
	mutex_unlock(&f->images.lock);
	atomic_store(&p.answers.accounts.charged[ACCOUNT_FILES], 8);
	char *text = text_of(&p);
	SAMPLES("gauge", "images{mount=\"/m\",state=\"cold\"} 2", "images{mount=\"/m\",state=\"opening\"} 1",
		"images{mount=\"/m\",state=\"queued\"} 1", "images{mount=\"/m\",state=\"ready\"} 0",
		"thread_work_pending{mount=\"/m\",role=\"open\"} 1",
		"thread_work_pending{mount=\"/m\",role=\"convert\"} 1",
		"thread_work_pending{mount=\"/m\",role=\"measure\"} 0",
		"thread_work_pending{mount=\"/m\",role=\"names\"} 0",
		"thread_work_pending{mount=\"/m\",role=\"run\"} 3",
		"thread_work_pending{mount=\"/m\",role=\"idle\"} 1",
		"thread_busy{mount=\"/m\",role=\"convert\"} 0", "nodes{mount=\"/m\"} 0",
		"node_bytes{mount=\"/m\"} 0", "open_files{mount=\"/m\"} 0", "batch_bytes{mount=\"/m\"} 8");
	SAMPLES("counter", "nodes_total{mount=\"/m\"} 0");
	free(text);
	atomic_store(&p.answers.accounts.charged[ACCOUNT_FILES], 0);
	mutex_lock(&f->images.lock);
	revision_set_state(&f->images, late, STATE_CONVERTING);
	mutex_unlock(&f->images.lock);
	text = text_of(&p);
	SAMPLES("gauge", "thread_busy{mount=\"/m\",role=\"convert\"} 1");
	free(text);
	take_fragments(f, idle);
	mutex_lock(&f->images.lock);
	list_remove(&wanted->link);
	list_remove(&late->link);
	while (user_queues_take(&p.runners.waiting))
		;
	revision_set_state(&f->images, wanted, STATE_COLD);
	revision_set_state(&f->images, late, STATE_COLD);
	mutex_unlock(&f->images.lock);
	end(&p);
}

/* The mount point is a label whose value may have any byte. */
TEST(labels)
{
	static struct parts p;
	begin(&p, *state);
	p.tree.mountpoint = "/a\\b\"c\nd e";
	char *text = text_of(&p);
	assert_non_null(strstr(text, "\ngsymfs_cache_files{mount=\"/a\\\\b\\\"c\\nd e\"} 0\n"));
	assert_memory_equal(text, "# HELP gsymfs_build_info The version of the daemon.\n", 52);
	assert_int_equal(text[strlen(text) - 1], '\n');
	free(text);
	end(&p);
}

/* A time that is a bound belongs to its bucket. */
TEST(buckets)
{
	struct metrics m = {.conversion_ms = 1};
	metrics_add_conversion(&m, CONVERSION_OK, 0.01);
	metrics_add_conversion(&m, CONVERSION_OK, 0.0125);
	metrics_add_conversion(&m, CONVERSION_LIMIT, 1800);
	metrics_add_conversion(&m, CONVERSION_LIMIT, 1800.5);
	assert_int_equal(m.conversion_times[0], 1);
	assert_int_equal(m.conversion_times[1], 1);
	assert_int_equal(m.conversion_times[CONVERSION_BUCKETS - 1], 1);
	assert_int_equal(m.conversion_times[CONVERSION_BUCKETS], 1);
	assert_int_equal(m.conversions[CONVERSION_OK], 2);
	assert_int_equal(m.conversions[CONVERSION_LIMIT], 2);
	assert_int_equal(m.conversion_ms, 1 + 10 + 12 + 1800000 + 1800500);
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

/* Connecting the parts: what each begins with, what decides the salt of answers, and what is freed. */
#include "fs/setup.h"

#include <string.h>

#include "fs/answer/symbol_names.h"
#include "fs/answer/tsv_file.h"
#include "fs/images/catalogue.h"
#include "fs/images/kept.h"
#include "fs/images/retired.h"
#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

static struct gsymfs fs;

/* ---- In place of the parts ---- */

enum { EVENTS_MAX = 40 };

static const char *events[EVENTS_MAX];
static size_t n_events;
static uint64_t places; /* where neighbours may be */

static void event(const char *name)
{
	assert_true(n_events < EVENTS_MAX);
	events[n_events++] = name;
}

static size_t when(const char *name)
{
	size_t at = n_events;
	for (size_t i = 0; i < n_events; i++) {
		if (strcmp(events[i], name) != 0)
			continue;
		if (at != n_events)
			fail_msg("%s twice", name);
		at = i;
	}
	if (at == n_events)
		fail_msg("no %s", name);
	return at;
}

#define PART(function, type, object)               \
	void __wrap_##function(struct type *part); \
	void __wrap_##function(struct type *part)  \
	{                                          \
		assert_ptr_equal(part, &(object)); \
		event(#function);                  \
	}

PART(images_init, images, fs.images)
PART(zygote_init, zygote, fs.zygote)
PART(scanner_init, scanner, fs.scanner)
PART(remote_init, remote, fs.remote)
PART(queue_init, queue, fs.queue)
PART(tree_init, tree, fs.tree)
PART(tree_deinit, tree, fs.tree)
PART(answers_deinit, answers, fs.answers)
PART(queue_deinit, queue, fs.queue)
PART(remote_deinit, remote, fs.remote)
PART(scanner_deinit, scanner, fs.scanner)
PART(skipped_deinit, skipped, fs.skipped)
PART(runners_deinit, runners, fs.runners)
PART(run_slots_deinit, run_slots, fs.slots)
PART(zygote_deinit, zygote, fs.zygote)
PART(images_deinit, images, fs.images)
PART(images_free_retired, images, fs.images)
PART(open_files_rest, open_files, fs.tree.open_files)

void __wrap_runners_init(struct runners *runners, struct mutex *lock, const struct runner_kind *kind,
			 struct readers *readers);
void __wrap_skipped_init(struct skipped *skipped, const struct log *log);
void __wrap_answers_init(struct answers *answers, const struct job_kind *tables,
			 const struct job_kind *names);
uint64_t __wrap_search_path_fingerprint(const struct search_path *search);

void __wrap_runners_init(struct runners *runners, struct mutex *lock, const struct runner_kind *kind,
			 struct readers *readers)
{
	assert_ptr_equal(runners, &fs.runners);
	assert_ptr_equal(lock, &fs.images.lock);
	assert_ptr_equal(kind, &call_runner_kind);
	assert_ptr_equal(readers, &fs.images.readers);
	event("runners_init");
}

void __wrap_skipped_init(struct skipped *skipped, const struct log *log)
{
	assert_ptr_equal(skipped, &fs.skipped);
	assert_ptr_equal(log, &fs.log);
	event("skipped_init");
}

void __wrap_answers_init(struct answers *answers, const struct job_kind *tables, const struct job_kind *names)
{
	assert_ptr_equal(answers, &fs.answers);
	assert_ptr_equal(tables, &tsv_file_kind);
	assert_ptr_equal(names, &symbol_names_kind);
	event("answers_init");
}

uint64_t __wrap_search_path_fingerprint(const struct search_path *search)
{
	assert_ptr_equal(search, &fs.converter.search);
	assert_ptr_equal(search->dirs, fs.debug_dirs);
	assert_int_equal(search->n_sources, 1);
	assert_string_equal(search->mountpoint, "/m");
	assert_int_equal(search->servers, 99);
	return places;
}

/* ---- A daemon that was checked ---- */

static char *dirs[] = {(char *)"/usr/lib/debug", (char *)"/src", NULL};

static int set_up(void **state)
{
	(void)state;
	memset(&fs, 0, sizeof(fs));
	n_events = 0;
	places = 5;
	fs.source = fs.prefix = "/src";
	fs.source_names = (char *)"/src";
	fs.n_roots = 1;
	fs.mountpoint = (char *)"/m";
	fs.worker = (char *)"/gsym";
	fs.debug_dirs = dirs;
	fs.stop_fd = 77;
	fs.fetcher.servers = 99;
	fs.options = (struct options){
		.digest_rate = 11,
		.convert_memory = 12,
		.convert_time = 13,
		.kept_answers = 14,
		.open_images = 15,
		.batch_threads = 16,
		.threads = 17,
		.rescan = 18,
		.idle_load = 19,
		.idle_time = 20,
		.max_read = 21,
		.demangle = true,
	};
	return 0;
}

/* Each part begins once, after those that it uses. */
TEST(begin)
{
	static const char *const inits[] = {"images_init",  "runners_init", "zygote_init",
					    "skipped_init", "scanner_init", "remote_init",
					    "queue_init",   "answers_init", "tree_init"};
	setup_parts(&fs);
	assert_int_equal(n_events, ARRAY_SIZE(inits));
	for (size_t i = 0; i < ARRAY_SIZE(inits); i++)
		when(inits[i]);
	assert_true(when("images_init") < when("runners_init"));
	assert_true(when("skipped_init") < when("scanner_init"));
	assert_true(when("answers_init") < when("tree_init"));
}

/* All are freed once, a part before those that it uses. */
TEST(end)
{
	static const char *const deinits[] = {
		"tree_deinit",    "answers_deinit", "queue_deinit",     "remote_deinit", "scanner_deinit",
		"skipped_deinit", "runners_deinit", "run_slots_deinit", "zygote_deinit", "images_deinit"};
	setup_undo(&fs);
	assert_int_equal(n_events, ARRAY_SIZE(deinits));
	for (size_t i = 0; i < ARRAY_SIZE(deinits); i++)
		when(deinits[i]);
	assert_true(when("tree_deinit") < when("answers_deinit")); /* open files are charged to users */
	assert_true(when("answers_deinit") < when("images_deinit"));
	assert_true(when("queue_deinit") < when("images_deinit"));
	assert_true(when("scanner_deinit") < when("images_deinit"));
	assert_true(when("runners_deinit") < when("images_deinit"));
}

TEST(connected)
{
	setup_parts(&fs);
	assert_string_equal(fs.zygote.program, "/gsym");
	assert_ptr_equal(fs.zygote.log, &fs.log);
	assert_int_equal(fs.zygote.stop_fd, 77);
	const struct converter *c = &fs.converter;
	assert_string_equal(c->root, "/src");
	assert_string_equal(c->worker, "/gsym");
	assert_ptr_equal(c->zygote, &fs.zygote);
	assert_ptr_equal(c->cache, &fs.cache);
	assert_ptr_equal(c->slots, &fs.slots);
	assert_ptr_equal(c->counters, &fs.counters);
	assert_ptr_equal(c->log, &fs.log);
	assert_ptr_equal(c->fetcher, &fs.fetcher);
	assert_int_equal(c->memory, 12);
	assert_int_equal(c->seconds, 13);
	assert_int_equal(c->threads, 17);
	assert_int_equal(c->stop_fd, 77);
	assert_ptr_equal(fs.cache.drop_kept, images_drop_kept);
	assert_ptr_equal(fs.cache.drop_user, &fs.images);
	assert_int_equal(fs.images.ready_max, 15);
	assert_int_equal(fs.images.places, 5);
	const struct scan *s = &fs.scanner.scan;
	assert_string_equal(s->source, "/src");
	assert_ptr_equal(s->roots, fs.roots);
	assert_int_equal(s->n_roots, 1);
	assert_string_equal(s->names, "/src");
	assert_string_equal(s->mountpoint, "/m");
	assert_string_equal(s->worker, "/gsym");
	assert_ptr_equal(s->images, &fs.images);
	assert_ptr_equal(s->search, &c->search);
	assert_ptr_equal(s->cache, &fs.cache);
	assert_ptr_equal(s->metrics, &fs.metrics);
	assert_ptr_equal(s->skipped, &fs.skipped);
	assert_ptr_equal(s->log, &fs.log);
	assert_int_equal(s->stop_fd, 77);
	assert_ptr_equal(fs.scanner.starter, &fs.starter);
	assert_int_equal(fs.scanner.interval, 18);
	assert_false(fs.scanner.watching);
	assert_ptr_equal(fs.remote.images, &fs.images);
	assert_ptr_equal(fs.remote.fetcher, &fs.fetcher);
	assert_string_equal(fs.remote.worker, "/gsym");
	assert_int_equal(fs.remote.stop_fd, 77);
	assert_ptr_equal(fs.queue.images, &fs.images);
	assert_ptr_equal(fs.queue.scanner, &fs.scanner);
	assert_ptr_equal(fs.queue.converter, c);
	assert_ptr_equal(fs.queue.metrics, &fs.metrics);
	assert_int_equal(fs.queue.idle.load_percent, 19);
	assert_int_equal(fs.queue.idle.seconds, 20);
	const struct answers *a = &fs.answers;
	assert_string_equal(a->source, "/src");
	assert_ptr_equal(a->images, &fs.images);
	assert_ptr_equal(a->cache, &fs.cache);
	assert_ptr_equal(a->queue, &fs.queue);
	assert_ptr_equal(a->runners, &fs.runners);
	assert_ptr_equal(a->metrics, &fs.metrics);
	assert_ptr_equal(a->log, &fs.log);
	assert_int_equal(a->batch_threads, 16);
	assert_true(a->demangle);
	const struct tree *t = &fs.tree;
	assert_ptr_equal(t->images, &fs.images);
	assert_ptr_equal(t->cache, &fs.cache);
	assert_ptr_equal(t->metrics, &fs.metrics);
	assert_ptr_equal(t->counters, &fs.counters);
	assert_ptr_equal(t->runners, &fs.runners);
	assert_ptr_equal(t->answers, a);
	assert_ptr_equal(t->skipped, &fs.skipped);
	assert_ptr_equal(t->roots, fs.roots);
	assert_int_equal(t->n_roots, 1);
	assert_string_equal(t->mountpoint, "/m");
	assert_int_equal(t->max_read, 21);
	assert_int_equal(t->kept_answers, 14);
}

/* ---- Options ---- */

TEST(switches)
{
	for (int on = 0; on <= 1; on++) {
		set_up(state);
		fs.options.watch = fs.options.eager = fs.options.unknown_print = on;
		fs.options.approximate = fs.options.single_thread = fs.options.debuginfod = on;
		fs.options.shared = on ? (char *)"/store" : NULL;
		fs.share.store = on ? (struct store *)(void *)&places : NULL;
		setup_parts(&fs);
		struct remote *remote = on ? &fs.remote : NULL;
		struct share *share = on ? &fs.share : NULL;
		assert_int_equal(fs.scanner.watching, on);
		assert_int_equal(fs.queue.asking.eager, on);
		assert_int_equal(fs.answers.unknown_print, on);
		assert_int_equal(fs.answers.approximate, on);
		assert_int_equal(fs.tree.single_thread, on);
		assert_ptr_equal(fs.scanner.scan.remote, remote);
		assert_ptr_equal(fs.answers.remote, remote);
		assert_ptr_equal(fs.tree.remote, remote);
		assert_ptr_equal(fs.converter.share, share);
		assert_ptr_equal(fs.tree.share, share);
		assert_int_equal(fs.scanner.scan.digesting.rate, on ? 11 : 0);
	}
}

TEST(merged)
{
	static const struct {
		enum merged_mode mode;
		bool kept, marked;
	} rows[] = {{MERGED_YES, true, false}, {MERGED_NO, false, false}, {MERGED_MARK, true, true}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(state);
		fs.options.merged = rows[i].mode;
		setup_parts(&fs);
		assert_int_equal(fs.converter.merged, rows[i].kept);
		assert_int_equal(fs.images.merged, rows[i].kept);
		assert_int_equal(fs.answers.mark_merged, rows[i].marked);
	}
}

/* Whatever decides what answers say is in the salt, so that numbers of other answers are others. */
TEST(salts)
{
	uint64_t all[8];
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		set_up(state);
		if (i == 1)
			fs.prefix = "/other";
		places += i == 2;
		fs.options.merged = i == 3 ? MERGED_NO : i == 4 ? MERGED_MARK : MERGED_YES;
		fs.options.unknown_print = i == 5;
		fs.options.demangle = i != 6;
		fs.options.approximate = i == 7;
		setup_parts(&fs);
		all[i] = fs.images.salt;
		assert_int_not_equal(all[i], 0);
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(all[k], all[i]);
	}
	/* And nothing else. */
	set_up(state);
	fs.options.max_read = fs.options.open_images = 1000;
	fs.options.eager = fs.options.watch = true;
	setup_parts(&fs);
	assert_int_equal(fs.images.salt, all[0]);
}

/* What the background does now and then. */
TEST(tidied)
{
	setup_parts(&fs);
	n_events = 0;
	fs.answers.tables.tidy(fs.answers.tables.tidy_user);
	assert_int_equal(n_events, 2);
	when("open_files_rest");
	when("images_free_retired");
}

EACH_TEST(set_up, NULL)

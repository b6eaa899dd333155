/*
 * What a scanner learns between its walks: from events, and from hashes of files that have no id.
 */
#include "tests/unit/fs/scan/sweep_fixture.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fs/call/call.h"
#include "fs/call/runners.h"
#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

static bool is_hashing(struct scanned_source *s)
{
	mutex_lock(&s->f->images.lock);
	bool hashing = s->f->images.hashing;
	mutex_unlock(&s->f->images.lock);
	return hashing;
}

/* ---- Hashes ---- */

/* Until @n results are to be taken, and the scanner was told. */
static void wait_for_hashes(struct scanned_source *s, size_t n)
{
	struct hash_lane *lane = &s->scan.hashes;
	struct pollfd wake = {.fd = lane->wake_fd, .events = POLLIN};
	for (size_t done = 0; done != n;) {
		eventfd_t count;
		assert_int_equal(poll(&wake, 1, 60000), 1);
		assert_int_equal(eventfd_read(lane->wake_fd, &count), 0);
		mutex_lock(&lane->lock);
		done = list_count(&lane->done);
		mutex_unlock(&lane->lock);
	}
}

static void start_hashing(struct scanned_source *s)
{
	struct hash_lane *lane = &s->scan.hashes;
	lane->source = s->dir;
	lane->worker = "worker";
	lane->stop_fd = eventfd(1, EFD_CLOEXEC); /* no rest after faults */
	lane->wake_fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(hash_lane_start(lane), 0);
}

static void stop_hashing(struct scanned_source *s)
{
	hash_lane_stop(&s->scan.hashes);
	assert_false(s->scan.hashes.running);
	close(s->scan.hashes.stop_fd);
	close(s->scan.hashes.wake_fd);
}

/* Files without an id are hashed beside the walks. */
TEST_OF(hashed, struct scanned_source, s)
{
	make_file(s, "a", "#\n01 Eh\n02 Eht");
	make_file(s, "b", "#\n03 Eh\n~cut short");
	make_file(s, "bad", "#\n!bad damaged");
	make_file(s, "machine", "#\n!machine no memory");
	s->log.most = LOG_LEVEL_INFO;
	walk_all(s, 0);
	assert_non_null(strstr(logged, "I scan: a: no build id or UUID; hashing 1000 bytes for an id\n"));
	s->log.most = LOG_LEVEL_WARNING;
	*logged = 0;
	expect_files(s, "");
	assert_true(is_hashing(s));
	walk_all(s, 0); /* they are not opened for that again */
	expect_opened(4);
	start_hashing(s);
	wait_for_hashes(s, 4);
	expect_opened(4);
	walk_all(s, -EMFILE);
	assert_non_null(strstr(logged, "bad: damaged; skipped until it changes\n"));
	assert_non_null(strstr(logged, "machine: no memory; skipped until the next scan\n"));
	expect_files(s, "xxh3-01 a bare 444\nxxh3-02 a bare+code 444\nxxh3-03 b bare 444\n");
	expect_skipped(s, FILE_SKIPPED, true, "bad: damaged\n");
	expect_skipped(s, FILE_TRUNCATED, true, "b: cut short\n");
	assert_true(is_hashing(s));
	wait_for_hashes(s, 1);
	expect_opened(2); /* that which could not be read, by both */
	stop_hashing(s);
}

/* What changed or went meanwhile has no result. */
TEST_OF(hashed_too_late, struct scanned_source, s)
{
	make_file(s, "a", "#\n01 Eh");
	make_file(s, "b", "#\n02 Eh");
	make_file(s, "c", "#\n03 Eh");
	walk_all(s, 0);
	make_file(s, "a", "#\n0101 Eh");
	make_file(s, "b", "05 Ed");
	drop_file(s, "c");
	start_hashing(s);
	wait_for_hashes(s, 3);
	expect_opened(3); /* by the walk alone */
	walk_all(s, 0);
	expect_log("");
	expect_files(s, "05 b dwrf 444\n");
	assert_true(is_hashing(s));
	wait_for_hashes(s, 1);
	expect_opened(3);
	walk_all(s, 0);
	expect_files(s, "05 b dwrf 444\nxxh3-0101 a bare 444\n");
	assert_false(is_hashing(s));
	stop_hashing(s);
}

/* ---- Looks ---- */

TEST_OF(events, struct scanned_source, s)
{
	make_dir(s, "sub", 0755);
	make_file(s, "sub/a", "01 Ed");
	make_file(s, "b", "02 Ed");
	walk_all(s, 0);
	expect_opened(2);
	make_file(s, "sub/c", "03 Ed");
	make_file(s, "d", "04 Ed");
	look_at(s, "sub/c", 0); /* and nothing else */
	expect_opened(1);
	expect_files(s, "01 sub/a dwrf 444\n02 b dwrf 444\n03 sub/c dwrf 444\n");
	look_at(s, "d sub/gone gone/x", 0);
	expect_opened(1);
	drop_file(s, "b");
	make_file(s, "sub/a", "05 Edt");
	look_at(s, "b sub/a", 0);
	expect_files(s, "03 sub/c dwrf 444\n04 d dwrf 444\n05 sub/a dwrf+code 444\n");
	move(s, "d", "sub/e");
	look_at(s, "d sub/e", 0);
	expect_files(s, "03 sub/c dwrf 444\n04 sub/e dwrf 444\n05 sub/a dwrf+code 444\n");
	expect_opened(2); /* renaming a file changes its ctime */
	assert_int_equal(atomic_load(&s->metrics.scans[SCAN_PARTIAL]), 4);
	assert_int_equal(atomic_load(&s->metrics.scans[SCAN_COMPLETE]), 1);
	walk_all(s, 0);
	expect_opened(0);
	expect_files(s, "03 sub/c dwrf 444\n04 sub/e dwrf 444\n05 sub/a dwrf+code 444\n");
}

TEST_OF(events_of_directories, struct scanned_source, s)
{
	make_dir(s, "old", 0755);
	make_file(s, "old/a", "01 Ed");
	make_file(s, "old/bad", "!bad damaged");
	walk_all(s, 0);
	expect_opened(2);
	/* A directory that has come is walked. */
	make_dir(s, "new", 0711);
	make_dir(s, "new/below", 0755);
	make_file(s, "new/below/b", "02 Ed");
	look_at(s, "new", 0);
	expect_files(s, "01 old/a dwrf 444\n02 new/below/b dwrf 444\n");
	assert_int_equal(dir_mode_of(s, "new"), 0511);
	expect_opened(1);
	/* Moved inside the source: all of it is elsewhere. */
	move(s, "old", "moved");
	assert_int_equal(vec_push(&s->changes.moved, strdup("old")), 0);
	look_at(s, "old moved", 0);
	expect_files(s, "01 moved/a dwrf 444\n02 new/below/b dwrf 444\n");
	expect_skipped(s, FILE_SKIPPED, true, "moved/bad: damaged\n");
	expect_opened(0);
	/* Moved away. */
	char away[128];
	snprintf(away, sizeof(away), "%s/away", s->top);
	assert_int_equal(rename(in(s, "moved"), away), 0);
	assert_int_equal(vec_push(&s->changes.moved, strdup("moved")), 0);
	look_at(s, "moved", 0);
	expect_files(s, "02 new/below/b dwrf 444\n");
	expect_skipped(s, FILE_SKIPPED, true, "");
	assert_int_equal(dir_mode_of(s, "moved"), 0);
	/* Its attributes. */
	assert_int_equal(chmod(in(s, "new"), 0755), 0);
	look_at(s, "new/x", 0);
	assert_int_equal(dir_mode_of(s, "new"), 0555);
}

/* What a look cannot decide is left to a walk. */
TEST_OF(events_that_need_a_walk, struct scanned_source, s)
{
	make_file(s, "a", "01 Ed");
	make_file(s, "b", "02 Ed");
	walk_all(s, 0);
	assert_int_equal(link(in(s, "a"), in(s, "hard")), 0);
	look_at(s, "hard", -EAGAIN);
	walk_all(s, 0);
	assert_true(is_called(s, "01", "a") && is_called(s, "01", "hard"));
	make_file(s, "c", "!limit too much");
	look_at(s, "c", -EAGAIN);
	make_file(s, "c", "#\n03 Eh");
	look_at(s, "c", -EAGAIN);
	make_file(s, "c", "!machine fault");
	drop_file(s, "b");
	look_at(s, "b c", -EAGAIN);
	assert_true(is_called(s, "02", "b")); /* c may be what b was */
	make_file(s, "c", "!stop");
	look_at(s, "c", -ECANCELED);
	drop_file(s, "c");
	look_at(s, "b c", 0);
	assert_false(is_called(s, "02", "b"));
	s->scan.source = "/nonexistent/gsymfs";
	look_at(s, "a", -EAGAIN);
	s->scan.source = s->dir;
	assert_true(is_called(s, "01", "a") && is_called(s, "01", "hard"));
}

const struct fuse_ctx *fuse_req_ctx(fuse_req_t req)
{
	static const struct fuse_ctx context;
	(void)req;
	return &context;
}

/* A call that waits since the file of its image was replaced is handed to a runner. */
TEST_OF(events_of_replaced_files, struct scanned_source, s)
{
	struct images *images = &s->f->images;
	struct runners runners;
	struct list woken;
	list_init(&woken);
	make_file(s, "a", "01 Ed");
	walk_all(s, 0);
	runners_init(&runners, &images->lock, &call_runner_kind, &images->readers);
	struct call call = {
		.runners = &runners, .state = CALL_PARKED, .wait.revision = revision_of(s->f, "01")};
	mutex_lock(&images->lock);
	list_append(&images->scan_waiters, &call.link);
	mutex_unlock(&images->lock);
	make_file(s, "a", "01 Edt");
	look_at(s, "a", 0);
	mutex_lock(&images->lock);
	assert_true(list_empty(&images->scan_waiters));
	runners_stop(&runners, &woken);
	mutex_unlock(&images->lock);
	assert_ptr_equal(woken.next, &call.link);
	runners_deinit(&runners);
}

EACH_TEST(sweep_set_up, sweep_tear_down)

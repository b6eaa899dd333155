/*
 * The queues of offers: how many wait, which is next, what is put off, and what becomes of those that are
 * left.
 */
#include "share_give_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

enum {
	OFFERS = 64,
	LATE = 16,
	OFFER_BYTES = 1 << 30,
	LATE_BYTES = 1 << 29,
	GIVERS = 4,
	EACH = 100, /* offers of each of them */
};

static void forget(void)
{
	*did = 0;
}

/* ---- Limits ---- */

TEST(many)
{
	for (unsigned i = 0; i < OFFERS; i++)
		share_give(&share, failure_of('x', 1));
	assert_int_equal(queued(&share.offers), OFFERS);
	assert_int_equal(results(SHARE_DROPPED), 0);
	assert_int_equal(n_given, OFFERS);
	forget();
	share_give(&share, offer_of('a', 1));
	assert_string_equal(did, "a+ !full(too many wait to be given) free:a");
	assert_int_equal(results(SHARE_DROPPED), 1);
	assert_int_equal(queued(&share.offers), OFFERS);
	assert_int_equal(queued_bytes(&share.offers), OFFERS);
	run_giver();
	assert_int_equal(results(SHARE_GIVEN), OFFERS);
}

TEST(large)
{
	static const struct {
		uint64_t first, second;
		bool fits;
	} rows[] = {
		{1, OFFER_BYTES - 1, true},
		{1, OFFER_BYTES, false},
		{OFFER_BYTES, 1, false},
		{OFFER_BYTES, 0, true},
		{3 * (uint64_t)OFFER_BYTES, 1, false}, /* but alone it is given, however large */
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		share_give(&share, offer_of('a', rows[i].first));
		assert_int_equal(queued_bytes(&share.offers), rows[i].first);
		share_give(&share, offer_of('b', rows[i].second));
		assert_int_equal(queued(&share.offers), rows[i].fits ? 2 : 1);
		assert_int_equal(results(SHARE_DROPPED), !rows[i].fits);
		run_giver();
		assert_int_equal(results(SHARE_GIVEN), rows[i].fits ? 2 : 1);
		tear_down(NULL);
		set_up(NULL);
	}
}

/* Of failures the inputs count. */
TEST(failures)
{
	share_give(&share, failure_of('a', OFFER_BYTES));
	share_give(&share, failure_of('b', 1));
	assert_int_equal(results(SHARE_DROPPED), 1);
	assert_int_equal(queued(&share.offers), 1);
	run_giver();
}

static uint64_t bytes_at_put;

static void look_at_put(void)
{
	assert_int_equal(queued(&share.offers), 1);
	bytes_at_put = queued_bytes(&share.offers);
}

/* One that is under way counts until it is over. */
TEST(under_way)
{
	with.at_put = look_at_put;
	give_now(offer_of('a', 700));
	assert_int_equal(bytes_at_put, 700);
}

/* ---- Putting off ---- */

TEST(put_off)
{
	share_give(&share, large_offer_of('a', 10));
	share_give(&share, offer_of('b', 20));
	share_give(&share, large_offer_of('c', 30));
	share_give(&share, offer_of('d', 40));
	forget();
	run_giver();
	assert_string_equal(did, "inputs digest "
				 "inputs digest put:c:absent b- free:b "
				 "inputs digest "
				 "inputs digest put:c:absent d- free:d "
				 "digest-all put:c:absent a- free:a "
				 "digest-all put:c:absent c- idle free:c wait");
	assert_int_equal(results(SHARE_GIVEN), 4);
	assert_int_equal(results(SHARE_DROPPED), 0);
}

/* First under the key that it was looked for under; the lease ends then, not when all is digested. */
TEST(by_both_keys)
{
	static const struct {
		struct store_reply replies[REPLIES];
		const char *end;
		unsigned given, dropped;
	} rows[] = {
		{{{.err = 0}}, " a- idle free:a wait", 2, 0},
		{{{.err = -ENETDOWN}}, " idle free:a wait", 1, 1},
		{{{.err = 0}, {.err = -ENETDOWN}}, " idle free:a wait", 1, 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char want[256];
		struct share_offer *offer = large_offer_of('a', 10);
		look_for(offer, 'l');
		offer->replaces = true;
		memcpy(with.replies, rows[i].replies, sizeof(with.replies));
		give_now(offer);
		snprintf(want, sizeof(want),
			 "a+ given inputs put:l:always unhold:a digest digest-all put:c:absent%s",
			 rows[i].end);
		assert_string_equal(did, want);
		assert_int_equal(results(SHARE_GIVEN), rows[i].given);
		assert_int_equal(results(SHARE_DROPPED), rows[i].dropped);
		tear_down(NULL);
		set_up(NULL);
	}
}

/* A file that may have been forged is only known by its content. */
TEST(forgeable)
{
	with.is_forgeable = true;
	give_now(large_offer_of('a', 10));
	assert_string_equal(did, "a+ given inputs digest digest-all put:c:absent a- idle free:a wait");
}

/* What has come meanwhile is given between two blocks. */
static void give_meanwhile(unsigned n)
{
	if (n == 0)
		share_give(&share, offer_of('b', 20));
	else
		share_give(&share, large_offer_of('c', 30));
	if (n == 1)
		with.at_block = NULL;
	assert_int_equal(queued(&share.offers), 1);
	assert_int_equal(queued_bytes(&share.offers), n == 0 ? 20 : 30);
	assert_int_equal(queued(&share.late), 1);
	assert_int_equal(queued_bytes(&share.late), 10);
}

TEST(meanwhile)
{
	with.blocks = 2;
	with.at_block = give_meanwhile;
	share_give(&share, large_offer_of('a', 10));
	forget();
	run_giver();
	assert_string_equal(did, "inputs digest "
				 "digest-all block b+ given inputs digest put:c:absent b- free:b rest "
				 "block c+ given inputs digest rest put:c:absent a- free:a "
				 "digest-all block rest block rest put:c:absent c- idle free:c wait");
	assert_int_equal(results(SHARE_GIVEN), 3);
}

TEST(late_limits)
{
	for (unsigned i = 0; i < LATE; i++)
		share_give(&share, large_offer_of('x', 1));
	share_give(&share, large_offer_of('a', 1));
	forget();
	run_giver();
	/* One too many: it stays pending. */
	assert_non_null(strstr(did, " free:a digest-all"));
	assert_null(strstr(did, "a-"));
	assert_int_equal(results(SHARE_GIVEN), LATE);
	assert_int_equal(results(SHARE_DROPPED), 1);
}

TEST(large_late)
{
	static const struct {
		uint64_t first, second;
		bool fits;
	} rows[] = {
		{1, LATE_BYTES - 1, true},
		{1, LATE_BYTES, false},
		{LATE_BYTES, 1, false},
		{LATE_BYTES + 1, 0, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		share_give(&share, large_offer_of('a', rows[i].first));
		share_give(&share, large_offer_of('b', rows[i].second));
		forget();
		run_giver();
		assert_int_equal(results(SHARE_GIVEN), rows[i].fits ? 2 : 1);
		assert_int_equal(results(SHARE_DROPPED), !rows[i].fits);
		assert_string_equal(
			did, rows[i].fits ? "inputs digest inputs digest digest-all put:c:absent a- free:a "
					    "digest-all put:c:absent b- idle free:b wait"
					  : "inputs digest inputs digest free:b "
					    "digest-all put:c:absent a- idle free:a wait");
		tear_down(NULL);
		set_up(NULL);
	}
}

static void lose_store(void)
{
	with.is_down = true;
}

static void forbid(void)
{
	with.is_read_only = true;
}

static void lose_file(void)
{
	with.digest_err = queued(&share.late) ? -EIO : 0;
}

static void change_file(void)
{
	with.digest_err = queued(&share.late) ? -ESTALE : 0;
}

static void deny_file(void)
{
	with.digest_err = queued(&share.late) ? -EPERM : 0;
}

static void lose_key(void)
{
	with.key_err = queued(&share.late) ? -ENOMEM : 0;
}

/* What cannot be given now stays pending, what never can does not. */
TEST(late_faults)
{
	static const struct {
		void (*at_digest)(void);
		unsigned file_changes_at, neighbour_changes_at;
		int file_err;
		const char *want;
	} rows[] = {
		{.at_digest = lose_store, .want = "idle free:a wait"},
		{.at_digest = forbid, .want = "idle free:a wait"},
		{.at_digest = lose_file, .want = "digest-all idle free:a wait"},
		{.at_digest = deny_file, .want = "digest-all idle free:a wait"},
		{.at_digest = lose_key, .want = "digest-all idle free:a wait"},
		{.at_digest = change_file, .want = "digest-all a- idle free:a wait"},
		{.file_changes_at = 3, .file_err = -EIO, .want = "digest-all idle free:a wait"},
		{.file_changes_at = 3, .file_err = -ESTALE, .want = "digest-all a- idle free:a wait"},
		{.neighbour_changes_at = 3, .want = "digest-all a- idle free:a wait"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char want[128];
		with.at_digest = rows[i].at_digest;
		with.file_changes_at = rows[i].file_changes_at;
		with.file_err = rows[i].file_err;
		with.neighbour_changes_at = rows[i].neighbour_changes_at;
		give_now(large_offer_of('a', 10));
		snprintf(want, sizeof(want), "a+ given inputs digest %s", rows[i].want);
		assert_string_equal(did, want);
		assert_int_equal(results(SHARE_DROPPED), 1);
		tear_down(NULL);
		set_up(NULL);
	}
}

/* ---- The end ---- */

static void stop(int64_t give_by)
{
	atomic_store(&share.give_by, give_by);
	atomic_store(&share.stopping, true);
}

TEST(stopped)
{
	stop(NOW + 1);
	share_give(&share, offer_of('a', 1));
	assert_string_equal(did, "a+ free:a");
	assert_int_equal(results(SHARE_DROPPED), 1);
	run_giver();
	assert_string_equal(did, "a+ free:a");
	share_offers_free(&share);
	assert_string_equal(logged, "");
	assert_int_equal(results(SHARE_DROPPED), 1);
}

static void pass_time(void)
{
	now++;
}

/* As many as there is time for; those that are left stay pending. */
TEST(in_time)
{
	static const struct {
		int64_t give_by;
		const char *want, *left, *logged;
	} rows[] = {
		{NOW + 3,
		 "inputs digest put:c:absent a- free:a inputs digest put:c:absent b- free:b "
		 "inputs digest put:c:absent c- idle free:c",
		 "", ""},
		{NOW + 2, "inputs digest put:c:absent a- free:a inputs digest put:c:absent b- free:b",
		 " free:c", "shared store 'title': 1 conversions are not given yet"},
		{NOW + 1, "inputs digest put:c:absent a- free:a", " free:b free:c",
		 "shared store 'title': 2 conversions are not given yet"},
		{NOW, "", "free:a free:b free:c", "shared store 'title': 3 conversions are not given yet"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char want[256];
		for (char id = 'a'; id <= 'c'; id++)
			share_give(&share, offer_of(id, 1));
		stop(rows[i].give_by);
		with.at_put = pass_time;
		with.leaves_some = true;
		forget();
		run_giver();
		assert_string_equal(did, rows[i].want);
		share_offers_free(&share);
		snprintf(want, sizeof(want), "%s%s", rows[i].want, rows[i].left);
		assert_string_equal(did, want);
		assert_string_equal(logged, rows[i].logged);
		assert_int_equal(results(SHARE_GIVEN) + results(SHARE_DROPPED), 3);
		assert_int_equal(results(SHARE_DROPPED), i);
		tear_down(NULL);
		set_up(NULL);
	}
}

static void stop_in_time(unsigned n)
{
	(void)n;
	share_give(&share, offer_of('b', 1));
	stop(NOW + 1);
}

static void stop_too_late(unsigned n)
{
	(void)n;
	share_give(&share, offer_of('b', 1));
	stop(NOW);
}

/* A large file is read no further. */
TEST(stopped_in_a_file)
{
	static const struct {
		void (*at_block)(unsigned n);
		const char *want, *left, *logged;
		unsigned given;
	} rows[] = {
		{stop_in_time, "inputs digest put:c:absent b- free:b rest free:a", " free:c",
		 "shared store 'title': 1 conversions are not given yet", 1},
		{stop_too_late, "rest free:a", " free:b free:c",
		 "shared store 'title': 2 conversions are not given yet", 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char want[256];
		share_give(&share, large_offer_of('a', 1));
		share_give(&share, large_offer_of('c', 1));
		with.blocks = 2;
		with.at_block = rows[i].at_block;
		with.leaves_some = true;
		forget();
		run_giver();
		snprintf(want, sizeof(want), "inputs digest inputs digest digest-all block b+ given %s",
			 rows[i].want);
		assert_string_equal(did, want);
		forget();
		share_offers_free(&share);
		assert_string_equal(did, rows[i].left + 1);
		assert_string_equal(logged, rows[i].logged);
		assert_int_equal(results(SHARE_GIVEN), rows[i].given);
		assert_int_equal(results(SHARE_DROPPED), 3 - rows[i].given);
		tear_down(NULL);
		set_up(NULL);
	}
}

static void stop_now(void)
{
	stop(NOW + 1);
}

/* No block of a large file is read. */
TEST(stopped_before_a_file)
{
	share_give(&share, large_offer_of('a', 1));
	share_give(&share, offer_of('b', 1));
	with.at_put = stop_now;
	with.blocks = 1;
	forget();
	run_giver();
	assert_string_equal(did, "inputs digest inputs digest put:c:absent b- free:b "
				 "digest-all block rest idle free:a");
	assert_int_equal(results(SHARE_GIVEN), 1);
	assert_int_equal(results(SHARE_DROPPED), 1);
}

/* ---- Waiting until all is given ---- */

static unsigned wakes;

static void clear_at_last(void)
{
	if (++wakes < 3)
		return;
	mutex_lock(&share.lock);
	share.offers.n = share.late.n = share.n_holds = 0;
	mutex_unlock(&share.lock);
}

TEST(flush)
{
	static const struct {
		unsigned offers, late, holds;
		bool is_stopping;
		const char *want;
	} rows[] = {
		{0, 0, 0, false, ""},
		{1, 0, 0, false, "wait-idle wait-idle wait-idle"},
		{0, 1, 0, false, "wait-idle wait-idle wait-idle"},
		{0, 0, 1, false, "wait-idle wait-idle wait-idle"},
		{1, 1, 1, true, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		mutex_lock(&share.lock);
		share.offers.n = rows[i].offers;
		share.late.n = rows[i].late;
		share.n_holds = rows[i].holds;
		mutex_unlock(&share.lock);
		atomic_store(&share.stopping, rows[i].is_stopping);
		wakes = 0;
		with.at_wait = clear_at_last;
		share_flush(&share);
		assert_string_equal(did, rows[i].want);
		tear_down(NULL);
		set_up(NULL);
	}
}

static void *give_some(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < EACH; i++)
		share_give(&share, i % 2 ? offer_of('a', 1) : large_offer_of('b', 1));
	return NULL;
}

/* Whatever the threads do, each offer is given or dropped, and then nothing is waited for any more. */
TEST(many_threads)
{
	pthread_t giver, givers[GIVERS];
	with.is_many_threads = true;
	assert_int_equal(pthread_create(&giver, NULL, share_giver, &share), 0);
	for (size_t i = 0; i < GIVERS; i++)
		assert_int_equal(pthread_create(&givers[i], NULL, give_some, NULL), 0);
	for (size_t i = 0; i < GIVERS; i++)
		pthread_join(givers[i], NULL);
	share_flush(&share);
	assert_int_equal(queued(&share.offers) + queued(&share.late), 0);
	assert_int_equal(results(SHARE_GIVEN) + results(SHARE_DROPPED), GIVERS * EACH);
	mutex_lock(&share.lock);
	stop(NOW);
	pthread_cond_broadcast(&share.given);
	mutex_unlock(&share.lock);
	pthread_join(giver, NULL);
}

EACH_TEST(set_up, tear_down)

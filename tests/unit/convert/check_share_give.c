/* One offer on its way to the store: under which keys, on which conditions, and whether it stays pending. */
#include "share_give_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

enum { LAST_BYTES = 64 << 20 };

/* Gives the conversion @a and expects what was done after it was queued, until the thread waits. */
static void expect(struct share_offer *offer, const char *want)
{
	static const char queuing[] = "a+ given ", end[] = "idle free:a wait";
	char all[sizeof(did)];
	share_give(&share, offer);
	run_giver();
	snprintf(all, sizeof(all), "%s%s%s%s", queuing, want, *want ? " " : "", end);
	assert_string_equal(did, all);
}

static void again(void)
{
	tear_down(NULL);
	set_up(NULL);
}

TEST(first)
{
	expect(offer_of('a', 100), "inputs digest put:c:absent a-");
	assert_int_equal(results(SHARE_GIVEN), 1);
	assert_int_equal(results(SHARE_DROPPED), 0);
	again();
	share_give(&share, NULL);
	assert_string_equal(did, "");
	again();
	share.bazel = true;
	expect(offer_of('a', 100), "inputs digest put:c:absent a-");
}

/* ---- Keys and conditions ---- */

TEST(conditions)
{
	static const struct {
		char looked; /* the key that it was looked for under */
		bool may_exist, replaces;
		const char *etag;
		struct store_reply replies[REPLIES];
		const char *want;
		unsigned given;
	} rows[] = {
		{'c', .want = "inputs put:c:absent unhold:a a-", .given = 1},
		{'c', .replaces = true, .want = "inputs put:c:always unhold:a a-", .given = 1},
		{'c', .replaces = true, .etag = "tag", .want = "inputs put:c:match=tag unhold:a a-",
		 .given = 1},
		{'c', .etag = "tag", .want = "inputs put:c:absent unhold:a a-", .given = 1},
		/* Whether it is there was not known. */
		{'c', .may_exist = true, .want = "inputs head:c unhold:a a-"},
		{'c', .may_exist = true, .replies = {{.err = -ENOENT}},
		 .want = "inputs head:c put:c:absent unhold:a a-", .given = 1},
		{'c', .may_exist = true, .replies = {{.err = -ETIMEDOUT}},
		 .want = "inputs head:c put:c:absent unhold:a a-", .given = 1},
		/* By both keys; what is known is known of the first. */
		{'l', .want = "inputs put:l:absent unhold:a digest put:c:absent a-", .given = 2},
		{'l', .replaces = true, .etag = "tag",
		 .want = "inputs put:l:match=tag unhold:a digest put:c:absent a-", .given = 2},
		{'l', .may_exist = true, .want = "inputs head:l unhold:a digest put:c:absent a-", .given = 1},
		/* It was not looked for. */
		{0, .may_exist = true, .want = "inputs digest head:c a-"},
		{0, .may_exist = true, .replies = {{.err = -ENOENT}},
		 .want = "inputs digest head:c put:c:absent a-", .given = 1},
		{0, .replaces = true, .want = "inputs digest put:c:always a-", .given = 1},
		/* A store without conditions. */
		{'c', .replies = {{.err = -EOPNOTSUPP}},
		 .want = "inputs put:c:absent put:c:always unhold:a a-", .given = 1},
		{'c', .replaces = true, .etag = "tag", .replies = {{.err = -EOPNOTSUPP}},
		 .want = "inputs put:c:match=tag put:c:always unhold:a a-", .given = 1},
		/* Another host was first: the store has it, which is no success of this one. */
		{'c', .replies = {{.err = -EEXIST}}, .want = "inputs put:c:absent unhold:a a-"},
		{'c', .replies = {{.err = -EAGAIN}}, .want = "inputs put:c:absent unhold:a a-"},
		{'l', .replies = {{.err = -EEXIST}},
		 .want = "inputs put:l:absent unhold:a digest put:c:absent a-", .given = 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct share_offer *offer = offer_of('a', 100);
		if (rows[i].looked)
			look_for(offer, rows[i].looked);
		offer->may_exist = rows[i].may_exist;
		offer->replaces = rows[i].replaces;
		if (rows[i].etag)
			strcpy(offer->etag, rows[i].etag);
		memcpy(with.replies, rows[i].replies, sizeof(with.replies));
		expect(offer, rows[i].want);
		assert_int_equal(results(SHARE_GIVEN), rows[i].given);
		assert_int_equal(results(SHARE_DROPPED), 0);
		again();
	}
}

/* What the store refuses is said, and stays pending; what it does not say is no complaint. */
TEST(refusals)
{
	static const struct {
		struct store_reply replies[REPLIES];
		const char *want;
	} rows[] = {
		{{{.err = -EACCES, .text = "403"}}, "put:c:absent !forbidden(403)"},
		{{{.err = -EACCES}}, "put:c:absent !forbidden(Permission denied)"},
		{{{.err = -EREMOTEIO, .text = "500"}}, "put:c:absent !writing(500)"},
		{{{.err = -ENOENT}}, "put:c:absent !writing(No such file or directory)"},
		{{{.err = -EOPNOTSUPP}, {.err = -EREMOTEIO, .text = "500"}},
		 "put:c:absent put:c:always !writing(500)"},
		{{{.err = -EOPNOTSUPP}, {.err = -EOPNOTSUPP, .text = "501"}},
		 "put:c:absent put:c:always !writing(501)"},
		{{{.err = -ECANCELED, .text = "cancelled"}}, "put:c:absent"},
		{{{.err = -ENETDOWN, .text = "down"}}, "put:c:absent"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char want[256];
		memcpy(with.replies, rows[i].replies, sizeof(with.replies));
		snprintf(want, sizeof(want), "inputs digest %s", rows[i].want);
		expect(offer_of('a', 100), want);
		assert_int_equal(results(SHARE_GIVEN), 0);
		assert_int_equal(results(SHARE_DROPPED), 1);
		again();
	}
	/* Under one of two keys. */
	for (size_t i = 0; i < 2; i++) {
		struct share_offer *offer = offer_of('a', 100);
		look_for(offer, 'l');
		with.replies[i] = (struct store_reply){.err = -ENETDOWN};
		expect(offer, "inputs put:l:absent unhold:a digest put:c:absent");
		assert_int_equal(results(SHARE_GIVEN), 1);
		assert_int_equal(results(SHARE_DROPPED), 1);
		again();
	}
}

/* ---- What fails here ---- */

TEST(faults)
{
	static const struct {
		struct give_script with;
		const char *want;
	} rows[] = {
		{{.temp_fails_at = 1, .temp_err = -ENOSPC},
		 "inputs digest !writing(No space left on device)"},
		{{.temp_fails_at = 1, .temp_err = -ENOSPC, .text = "full"}, "inputs digest !writing(full)"},
		{{.temp_fails_at = 2, .temp_err = -EMFILE, .text = "all open"},
		 "inputs digest !writing(all open)"},
		{{.payload_err = -EFAULT}, "inputs digest !writing(Bad address)"},
		{{.map_err = -ENOMEM}, "inputs digest !writing(Cannot allocate memory)"},
		{{.object_err = -EPERM, .text = "others may read it"},
		 "inputs digest !writing(others may read it)"},
		{{.inputs_err = -ENOMEM}, "inputs"},
		{{.digest_err = -EIO}, "inputs digest"},
		{{.digest_err = -EBADMSG}, "inputs digest"},
		{{.digest_err = -EPERM}, "inputs digest"},
		{{.digest_err = -ELIBACC}, "inputs digest"},
		{{.key_err = -ENOMEM}, "inputs digest"},
		{{.file_changes_at = 1, .file_err = -EIO}, ""},
		{{.neighbour_changes_at = 1, .neighbour_err = -EMFILE}, ""},
		{{.file_changes_at = 2, .file_err = -EIO}, "inputs"},
		{{.file_changes_at = 3, .file_err = -EIO}, "inputs digest"},
		{{.is_down = true}, ""},
		{{.is_read_only = true}, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		with = rows[i].with;
		expect(offer_of('a', 100), rows[i].want);
		assert_int_equal(results(SHARE_GIVEN), 0);
		assert_int_equal(results(SHARE_DROPPED), 1);
		again();
	}
}

/* It can never be given: it is pending no more. */
TEST(changes)
{
	static const struct {
		struct give_script with;
		const char *want;
	} rows[] = {
		{{.file_changes_at = 1, .file_err = -ESTALE}, "a-"},
		{{.neighbour_changes_at = 1}, "a-"},
		{{.inputs_err = -EPERM}, "inputs a-"},
		{{.inputs_err = -EBADMSG}, "inputs a-"},
		{{.file_changes_at = 2, .file_err = -ESTALE}, "inputs a-"},
		{{.neighbour_changes_at = 2}, "inputs a-"},
		{{.digest_err = -ESTALE}, "inputs digest a-"},
		{{.file_changes_at = 3, .file_err = -ESTALE}, "inputs digest a-"},
		{{.neighbour_changes_at = 3}, "inputs digest a-"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		with = rows[i].with;
		expect(offer_of('a', 100), rows[i].want);
		assert_int_equal(results(SHARE_GIVEN), 0);
		assert_int_equal(results(SHARE_DROPPED), 1);
		again();
	}
}

/* Each file that was converted has to be open, and the same. */
TEST(two_files)
{
	static char path[] = "/srv/binary";
	static const struct {
		struct give_script with;
		bool is_closed[SHARE_FILES];
		const char *want;
		unsigned given;
	} rows[] = {
		{.want = "inputs digest put:c:absent a-", .given = 1},
		{.is_closed = {true, false}, .want = "a-"},
		{.is_closed = {false, true}, .want = "a-"},
		{.with = {.file_changes_at = 1, .file_err = -ESTALE}, .want = "a-"},
		{.with = {.file_changes_at = 2, .file_err = -ESTALE}, .want = "a-"},
		{.with = {.file_changes_at = 4, .file_err = -ESTALE}, .want = "inputs a-"},
		{.with = {.file_changes_at = 6, .file_err = -ESTALE}, .want = "inputs digest a-"},
		{.with = {.file_changes_at = 7, .file_err = -ESTALE},
		 .want = "inputs digest put:c:absent a-",
		 .given = 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct share_offer *offer = offer_of('a', 100);
		with = rows[i].with;
		offer->facts.files[SHARE_BINARY].path = path;
		offer->fds[SHARE_BINARY] = offer->fds[SHARE_SOURCE] + 1;
		for (size_t k = 0; k < SHARE_FILES; k++)
			if (rows[i].is_closed[k])
				offer->fds[k] = -1;
		expect(offer, rows[i].want);
		assert_int_equal(results(SHARE_GIVEN), rows[i].given);
		assert_int_equal(results(SHARE_DROPPED), !rows[i].given);
		again();
	}
}

/* Of the descriptors 0 is one, too. */
TEST(standard_input)
{
	struct share_offer *offer = offer_of('a', 100);
	offer->fds[SHARE_SOURCE] = 0;
	expect(offer, "inputs digest put:c:absent a-");
}

/* A failure is in no file of the cache: nothing is marked, and only the text is sent. */
TEST(failures)
{
	share_give(&share, failure_of('a', 100));
	run_giver();
	assert_string_equal(did, "given inputs digest put:c:absent idle free:a wait");
	assert_int_equal(results(SHARE_GIVEN), 1);
	again();
	with.object_err = -ENOSPC;
	share_give(&share, failure_of('a', 100));
	run_giver();
	assert_string_equal(did, "given inputs digest !writing(No space left on device) idle free:a wait");
	assert_int_equal(results(SHARE_DROPPED), 1);
}

TEST(no_memory)
{
	share_give(&share, failure_of('a', 100));
	with.no_memory = true;
	run_giver();
	assert_string_equal(did, "given inputs digest !writing(Cannot allocate memory) idle free:a wait");
	assert_int_equal(results(SHARE_DROPPED), 1);
}

/* A daemon that ends gives what is small. */
TEST(last)
{
	static const struct {
		uint64_t size;
		bool is_stopping;
		const char *want;
	} rows[] = {
		{LAST_BYTES + 1, false, "a+ given inputs digest put:c:absent a- idle free:a wait"},
		{LAST_BYTES, true, "a+ given inputs digest put:c:absent a- idle free:a"},
		{LAST_BYTES + 1, true, "a+ given idle free:a"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		share_give(&share, offer_of('a', rows[i].size));
		atomic_store(&share.stopping, rows[i].is_stopping);
		atomic_store(&share.give_by, NOW + 1);
		run_giver();
		assert_string_equal(did, rows[i].want);
		again();
	}
}

EACH_TEST(set_up, tear_down)

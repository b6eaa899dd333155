/*
 * Who may read what a conversion takes from a neighbour: every combination of owners, groups, modes and
 * reach, compared with the users there could be.
 */
#include "convert/run/neighbour.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

enum { SOURCE_OWNER = 1, FILE_OWNER, STRANGER };
enum { SOURCE_GROUP = 11, FILE_GROUP };

struct reader {
	uid_t uid;
	bool in_source_group, in_file_group;
};

static bool class_reads(bool is_owner, bool in_group, mode_t mode)
{
	return mode & (is_owner ? S_IRUSR : in_group ? S_IRGRP : S_IROTH);
}

static bool reads_source(const struct reader *r, const struct file_state *source)
{
	return class_reads(r->uid == source->uid, r->in_source_group, source->mode);
}

/* An owner finds the way to the own file. */
static bool reads_file(const struct reader *r, const struct stat *st, bool reachable)
{
	bool is_owner = r->uid == st->st_uid;
	return (reachable || is_owner) && class_reads(is_owner, r->in_file_group, st->st_mode);
}

/* Tells whether all readers of the source may read the file, and whether all do but its owner, who could. */
static void ask_readers(const struct stat *st, bool reachable, const struct file_state *source, bool *ret_all,
			bool *ret_all_but_owner)
{
	*ret_all = *ret_all_but_owner = true;
	for (uid_t uid = SOURCE_OWNER; uid <= STRANGER; uid++) {
		for (unsigned groups = 0; groups < 4; groups++) {
			struct reader r = {uid, groups & 1, groups & 2};
			bool possible = st->st_gid != source->gid || r.in_source_group == r.in_file_group;
			if (!possible || !reads_source(&r, source) || reads_file(&r, st, reachable))
				continue;
			*ret_all = false;
			if (uid != st->st_uid)
				*ret_all_but_owner = false;
		}
	}
}

static void compare(const struct stat *st, bool reachable, const struct file_state *source)
{
	bool all, all_but_owner, got = readable_like(st, reachable, source);
	ask_readers(st, reachable, source, &all, &all_but_owner);
	if (got ? all_but_owner : !all)
		return;
	fail_msg("source %o of %u:%u, file %o of %u:%u, %s: %s", source->mode, source->uid, source->gid,
		 st->st_mode, st->st_uid, st->st_gid, reachable ? "reachable" : "closed above",
		 got ? "discloses the file" : "refused without need");
}

/* Every third bit: the read permissions. */
static mode_t read_bits(unsigned number)
{
	return (number & 4) << 6 | (number & 2) << 4 | (number & 1) << 2;
}

static void all_combinations(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 1U << 9; n++) {
		struct file_state source = {
			.uid = SOURCE_OWNER, .gid = SOURCE_GROUP, .mode = read_bits(n & 7)};
		struct stat st = {
			.st_uid = n & 0x40 ? SOURCE_OWNER : FILE_OWNER,
			.st_gid = n & 0x80 ? SOURCE_GROUP : FILE_GROUP,
			.st_mode = S_IFREG | read_bits(n >> 3 & 7),
		};
		compare(&st, n & 0x100, &source);
	}
}

static bool like(mode_t file, mode_t source, uid_t owner, gid_t group)
{
	struct stat st = {.st_uid = owner, .st_gid = group, .st_mode = S_IFREG | file};
	struct file_state state = {.uid = SOURCE_OWNER, .gid = SOURCE_GROUP, .mode = source & 0444};
	return readable_like(&st, true, &state);
}

/* The same by example. */
static void usual_modes(void **state)
{
	(void)state;
	assert_true(like(0644, 0644, SOURCE_OWNER, SOURCE_GROUP));
	assert_true(like(0644, 0600, FILE_OWNER, FILE_GROUP));
	assert_true(like(0640, 0640, SOURCE_OWNER, SOURCE_GROUP));
	assert_true(like(0600, 0600, SOURCE_OWNER, FILE_GROUP));
	assert_false(like(0640, 0644, SOURCE_OWNER, SOURCE_GROUP));
	assert_false(like(0640, 0640, SOURCE_OWNER, FILE_GROUP));
	assert_false(like(0640, 0600, FILE_OWNER, SOURCE_GROUP)); /* the owner need not be in the group */
	assert_false(like(0604, 0600, FILE_OWNER, FILE_GROUP));   /* the owner may be in the group */
	assert_false(like(0604, 0644, SOURCE_OWNER, SOURCE_GROUP));
	assert_true(like(0604, 0604, SOURCE_OWNER, SOURCE_GROUP));
	assert_false(like(0604, 0604, SOURCE_OWNER, FILE_GROUP));
	assert_false(like(0600, 0640, SOURCE_OWNER, SOURCE_GROUP));
	assert_false(like(0600, 0600, FILE_OWNER, FILE_GROUP));
	assert_true(like(0000, 0000, FILE_OWNER, FILE_GROUP)); /* with no reader nothing can be disclosed */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_combinations),
		cmocka_unit_test(usual_modes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

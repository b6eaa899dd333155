/*
 * Who may read an image through a file that answers for all: the caller's user and all groups, as the kernel
 * decides.
 */
#include "fs/images/caller.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"

enum { OWNER = 1, MEMBER, OWN_GROUP = 11, FILE_GROUP, GROUPS = 4, TOO_MANY = 65537 };

/* ---- The request, in place of libfuse's ---- */

static struct fuse_ctx context;
static gid_t groups[GROUPS];
static int n_groups[2]; /* what the first and the second question are told */
static unsigned questions;

const struct fuse_ctx *fuse_req_ctx(fuse_req_t req)
{
	(void)req;
	return &context;
}

int fuse_req_getgroups(fuse_req_t req, int size, gid_t list[])
{
	(void)req;
	assert_true(questions < 2);
	assert_true(questions > 0 || size == 0);
	if (size)
		memcpy(list, groups, (size_t)(size < GROUPS ? size : GROUPS) * sizeof(*groups));
	return n_groups[questions++];
}

static struct caller ask(uid_t uid, int first, int second)
{
	context.uid = uid;
	context.gid = OWN_GROUP;
	n_groups[0] = first;
	n_groups[1] = second;
	questions = 0;
	return caller_of(NULL);
}

/* ---- Whose groups ---- */

TEST(all_groups)
{
	for (gid_t i = 0; i < GROUPS; i++)
		groups[i] = 100 + i;
	struct caller caller = ask(MEMBER, GROUPS, GROUPS);
	assert_int_equal(caller.uid, MEMBER);
	assert_int_equal(caller.gid, OWN_GROUP);
	assert_int_equal(caller.n_groups, GROUPS);
	assert_memory_equal(caller.groups, groups, sizeof(groups));
	caller_deinit(&caller);
	assert_null(caller.groups);
}

/* Groups can come and go between the questions. */
TEST(as_many_as_there_are)
{
	struct caller caller = ask(MEMBER, 2, GROUPS);
	assert_int_equal(caller.n_groups, 2);
	caller_deinit(&caller);
	caller = ask(MEMBER, GROUPS, 1);
	assert_int_equal(caller.n_groups, 1);
	caller_deinit(&caller);
	caller = ask(MEMBER, 1, 1);
	assert_int_equal(caller.n_groups, 1);
	caller_deinit(&caller);
}

TEST(none_when_unknown)
{
	static const int answers[][2] = {
		{0, 0}, {-ENOSYS, 0}, {TOO_MANY, TOO_MANY}, {GROUPS, 0}, {GROUPS, -ENOENT}};
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		struct caller caller = ask(MEMBER, answers[i][0], answers[i][1]);
		assert_int_equal(caller.n_groups, 0);
		assert_null(caller.groups);
		caller_deinit(&caller);
	}
	struct caller root = ask(0, GROUPS, GROUPS);
	assert_int_equal(questions, 0); /* root's do not matter */
	caller_deinit(&root);
}

TEST(as_many_as_linux_allows)
{
	struct caller caller = ask(MEMBER, TOO_MANY - 1, GROUPS);
	assert_int_equal(caller.n_groups, GROUPS);
	caller_deinit(&caller);
}

/* ---- Who may read ---- */

/* Only the first class that applies counts. */
static mode_t class_of(const struct caller *caller, bool in_group)
{
	return caller->uid == OWNER ? S_IRUSR : in_group ? S_IRGRP : S_IROTH;
}

static void every_mode(const struct caller *caller, bool in_group)
{
	for (mode_t mode = 0; mode <= 0777; mode++) {
		struct source source = {.uid = OWNER, .gid = FILE_GROUP, .mode = mode};
		bool want = caller->uid == 0 || (mode & class_of(caller, in_group));
		if (caller_may_read(caller, &source) != want)
			fail_msg("user %u, %s group, mode %o: %s", caller->uid,
				 in_group ? "in the" : "not in the", mode, want ? "refused" : "allowed");
	}
}

TEST(classes)
{
	static const uid_t users[] = {0, OWNER, MEMBER};
	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		struct caller caller = {.uid = users[i], .gid = OWN_GROUP};
		every_mode(&caller, false);
		caller.gid = FILE_GROUP;
		every_mode(&caller, true);
	}
}

/* A supplementary group counts like the own one, wherever it stands. */
TEST(supplementary_groups)
{
	for (int at = 0; at < GROUPS; at++) {
		gid_t list[GROUPS] = {100, 101, 102, 103};
		struct caller caller = {.uid = MEMBER, .gid = OWN_GROUP, .groups = list, .n_groups = GROUPS};
		every_mode(&caller, false);
		list[at] = FILE_GROUP;
		every_mode(&caller, true);
		caller.n_groups = at;
		every_mode(&caller, false);
		caller.uid = OWNER;
		caller.n_groups = GROUPS;
		every_mode(&caller, true);
	}
}

/* ---- Who may search directories ---- */

/* Root and the daemon's own user, whichever that is. */
TEST(sees_all)
{
	const uid_t own = geteuid();
	if (own == 0)
		assert_int_equal(seteuid(OWNER), 0);
	const struct caller callers[] = {{.uid = 0}, {.uid = geteuid()}, {.uid = geteuid() + 1}};
	bool sees[ARRAY_SIZE(callers)];
	for (size_t i = 0; i < ARRAY_SIZE(callers); i++)
		sees[i] = caller_sees_all(&callers[i]);
	assert_int_equal(seteuid(own), 0);
	assert_true(sees[0]);
	assert_true(sees[1]);
	assert_false(sees[2]);
}

/* SOURCE with a directory in it that has @mode, the number of which comes back. */
static uint32_t make_dirs(struct path_tree *paths, mode_t mode)
{
	const struct path_attr open = {.uid = OWNER, .gid = FILE_GROUP, .mode = 0711};
	const struct path_attr attr = {.uid = OWNER, .gid = FILE_GROUP, .mode = mode};
	uint32_t top, dir;
	assert_int_equal(path_tree_enter(paths, PATH_NONE, "", &open, &top), 0);
	assert_int_equal(path_tree_enter(paths, top, "dir", &attr, &dir), 0);
	return dir;
}

/* Without a caller a directory must be open to its owner, its group and others alike. */
static void every_dir_mode(const struct caller *caller, mode_t class, mode_t mode)
{
	struct path_tree paths = {.user = NULL};
	uint32_t dir = make_dirs(&paths, mode);
	const mode_t search = S_IXUSR | S_IXGRP | S_IXOTH, read = S_IRUSR | S_IRGRP | S_IROTH;
	bool may_search = (mode & search & class) == (search & class);
	bool may_read = (mode & read & class) == (read & class);
	if (caller_reaches(caller, &paths, dir, false) != may_search ||
	    caller_reaches(caller, &paths, dir, true) != (may_search && may_read))
		fail_msg("class %o, mode %o", class, mode);
	path_tree_deinit(&paths);
}

TEST(directories)
{
	const struct caller owner = {.uid = OWNER, .gid = OWN_GROUP},
			    member = {.uid = MEMBER, .gid = FILE_GROUP};
	const struct caller other = {.uid = MEMBER, .gid = OWN_GROUP};
	for (mode_t mode = 0; mode <= 0777; mode++) {
		every_dir_mode(&owner, 0700, mode);
		every_dir_mode(&member, 0070, mode);
		every_dir_mode(&other, 0007, mode);
		every_dir_mode(NULL, 0777, mode);
	}
}

/* Those above count, too, but need not be read. */
TEST(directories_above)
{
	const struct path_attr open = {.uid = OWNER, .gid = FILE_GROUP, .mode = 0755};
	const struct caller other = {.uid = MEMBER, .gid = OWN_GROUP};
	struct path_tree paths = {.user = NULL};
	uint32_t deep, dir = make_dirs(&paths, 0711);
	assert_int_equal(path_tree_enter(&paths, dir, "deep", &open, &deep), 0);
	assert_true(caller_reaches(&other, &paths, deep, true));
	assert_true(caller_reaches(NULL, &paths, deep, true));
	path_tree_set_attr(&paths, dir, &(struct path_attr){.uid = OWNER, .gid = FILE_GROUP, .mode = 0776});
	assert_false(caller_reaches(&other, &paths, deep, false));
	assert_false(caller_reaches(NULL, &paths, deep, false));
	assert_false(caller_reaches(&other, &paths, deep + 1, false));
	path_tree_deinit(&paths);
}

/*
 * Who may read what a conversion takes from a neighbour: every combination of owners, groups, modes and
 * reach, compared with the users there could be.
 */
#include "work/run/neighbour.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/unit/temp_directory.h"
#include "work/types/packed_name.h"
#include "gsym/base/vec.h"

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

TEST(all_combinations)
{
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
TEST(usual_modes)
{
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

/* ---- Where neighbours are searched ---- */

static char top[] = "/tmp/gsymfs-neighbour-XXXXXX";

struct place {
	char text[PATH_MAX];
};

/* A path below the directory of the test. */
static struct place at(const char *name)
{
	struct place place;
	snprintf(place.text, sizeof(place.text), "%s/%s", top, name);
	return place;
}

static void make_file(const char *name, mode_t mode)
{
	struct place path = at(name);
	int fd = open(path.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, name, strlen(name)), strlen(name));
	close(fd);
}

static void make_dir(const char *name, mode_t mode)
{
	assert_int_equal(mkdir(at(name).text, mode), 0);
}

static void make_link(const char *target, const char *name)
{
	assert_int_equal(symlink(target, at(name).text), 0);
}

static int set_up(void **state)
{
	(void)state;
	umask(022);
	if (!mkdtemp(top) || chmod(top, 0755))
		return -1;
	make_dir("a", 0755);
	make_dir("b", 0755);
	make_dir("ab", 0755);
	make_dir("a/mnt", 0755);
	make_dir("a/closed", 0700);
	make_file("a/open", 0644);
	make_file("a/private", 0600);
	make_file("a/both", 0644);
	make_file("b/both", 0644);
	make_file("b/other", 0644);
	make_file("ab/file", 0644);
	make_file("a/mnt/file", 0644);
	make_file("a/closed/file", 0644);
	make_file("outside", 0644);
	make_link("open", "a/inside");
	make_link("../outside", "a/leads-out");
	return mkfifo(at("a/pipe").text, 0644);
}

static int tear_down(void **state)
{
	(void)state;
	return remove_tree(top);
}

/* What opening it gives: 0, or a negative errno. @ret is filled where it is 0 or -EPERM. */
static int try(const struct search_path *search, mode_t source_mode, const char *path, struct neighbour *ret)
{
	const struct file_state source = {.uid = getuid(), .gid = getgid(), .mode = source_mode};
	memset(ret, 0xff, sizeof(*ret));
	int fd = neighbour_open(search, &source, path, ret);
	if (fd >= 0) {
		char byte;
		assert_int_equal(read(fd, &byte, 1), 1);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		close(fd);
	}
	return fd < 0 ? fd : 0;
}

static int open_named(const struct search_path *search, const char *name)
{
	struct neighbour file;
	return try(search, 0444, at(name).text, &file);
}

static ino_t inode(const char *name)
{
	struct stat st;
	assert_int_equal(stat(at(name).text, &st), 0);
	return st.st_ino;
}

TEST(below_the_search_path)
{
	const struct place a = at("a"), b = at("b//"), mnt = at("a/mnt");
	const char *const dirs[] = {a.text, b.text, NULL};
	const struct search_path search = {.dirs = dirs}, with_mount = {.dirs = dirs, .mountpoint = mnt.text};
	assert_int_equal(open_named(&search, "a/open"), 0);
	assert_int_equal(open_named(&search, "a///open"), 0);
	assert_int_equal(open_named(&search, "a/inside"), 0);
	assert_int_equal(open_named(&search, "b/other"), 0);
	assert_int_equal(open_named(&search, "a/missing"), -ENOENT);
	assert_int_equal(open_named(&search, "a/closed"), -ENOENT); /* no regular file */
	assert_int_equal(open_named(&search, "a/pipe"), -ENOENT);
	assert_int_equal(open_named(&search, "a/leads-out"), -ELOOP); /* not -EXDEV: it may become a file */
	assert_int_equal(open_named(&search, "a/../outside"), -ENOENT);
	assert_int_equal(open_named(&search, "outside"), -EXDEV);
	assert_int_equal(open_named(&search, "ab/file"), -EXDEV);
	assert_int_equal(open_named(&search, "a"), -EXDEV);
	assert_int_equal(open_named(&search, "a/"), -EXDEV);
	assert_int_equal(open_named(&search, "a/mnt/file"), 0);
	assert_int_equal(open_named(&with_mount, "a/mnt/file"), -EXDEV);
}

/* Directories of the search path may lie below one another; the first that has the file decides. */
TEST(first_directory_that_has_it)
{
	const struct place none = at("a/none"), top_dir = at(""), a = at("a");
	const char *const dirs[] = {none.text, top_dir.text, a.text, NULL};
	const struct search_path search = {.dirs = dirs};
	struct neighbour file;
	assert_int_equal(try(&search, 0444, at("a/both").text, &file), 0);
	assert_int_equal(file.st.st_ino, inode("a/both"));
	assert_int_equal(open_named(&search, "a/leads-out"), 0); /* not out of the one above */
	assert_int_equal(open_named(&search, "a/none/file"), -ENOENT);
}

TEST(what_readers_may_not_read)
{
	const struct place a = at("a");
	const char *const dirs[] = {a.text, NULL};
	const struct search_path search = {.dirs = dirs};
	struct neighbour file;
	assert_int_equal(try(&search, 0444, at("a/private").text, &file), -EPERM);
	assert_int_equal(file.st.st_ino, inode("a/private"));
	assert_int_equal(try(&search, 0400, at("a/private").text, &file), 0);
	assert_int_equal(try(&search, 0444, at("a/closed/file").text, &file), -EPERM);
	assert_false(file.open_to_all);
	assert_int_equal(try(&search, 0400, at("a/closed/file").text, &file), 0);
	assert_int_equal(try(&search, 0444, at("a/open").text, &file), 0);
	assert_true(file.open_to_all);
}

TEST(all_that_the_user_can_read)
{
	const char *const none[] = {NULL};
	const struct search_path search = {.dirs = none, .all = true};
	assert_int_equal(open_named(&search, "outside"), 0);
	assert_int_equal(open_named(&search, "a/private"), 0);
	assert_int_equal(open_named(&search, "a/leads-out"), 0);
	assert_int_equal(open_named(&search, "a/missing"), -ENOENT);
	assert_int_equal(open_named(&search, "a/closed"), -ENOENT);
	assert_int_equal(open_named(&search, "a/pipe"), -ENOENT);
	struct neighbour file;
	assert_int_equal(try(&search, 0444, "relative", &file), -EXDEV);
}

TEST(state_of_neighbours)
{
	const struct place a = at("a");
	const char *const dirs[] = {a.text, NULL};
	const struct search_path search = {.dirs = dirs};
	struct neighbour file;
	assert_int_equal(neighbour_stat(&search, at("a/private").text, &file), 0);
	assert_int_equal(file.st.st_ino, inode("a/private"));
	assert_true(file.open_to_all);
	assert_int_equal(neighbour_stat(&search, at("a/missing").text, &file), -ENOENT);
	assert_int_equal(neighbour_stat(&search, at("outside").text, &file), -EXDEV);
}

/* "packed /path": the file, or one that is compressed. */
TEST(packed_files)
{
	const struct place a = at("a");
	const char *const dirs[] = {a.text, NULL};
	const struct search_path here = {.dirs = dirs}, all = {.dirs = dirs, .all = true};
	static const char *const files[] = {"a/packed", "a/packed.xz", "a/packed.zst", "a/packed.gz"};
	struct neighbour file;
	struct place name = at(files[0]);
	char asked[PATH_MAX];
	snprintf(asked, sizeof(asked), PACKED "%.2000s", name.text);
	for (size_t i = ARRAY_SIZE(files); i-- > 0;) {
		assert_int_equal(neighbour_stat(&here, name.text, &file), -ENOENT);
		make_file(files[i], 0444);
		for (unsigned k = 0; k < 2; k++) {
			assert_int_equal(neighbour_stat(k ? &all : &here, asked, &file), 0);
			assert_int_equal(file.st.st_ino, inode(files[i]));
			assert_string_equal(file.path, name.text);
			assert_string_equal(file.ending, files[i] + strlen(files[0]));
		}
		assert_int_equal(try(&here, 0444, asked, &file), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_int_equal(unlink(at(files[i]).text), 0);
	assert_int_equal(neighbour_stat(&here, asked, &file), -ENOENT);
	snprintf(asked, sizeof(asked), PACKED "%.2000s", at("a/none/packed").text);
	assert_int_equal(neighbour_stat(&here, asked, &file), -ENOENT);
	assert_int_equal(neighbour_stat(&all, asked, &file), -ENOENT);
	snprintf(asked, sizeof(asked), PACKED "%.2000s", at("outside").text);
	assert_int_equal(neighbour_stat(&here, asked, &file), -EXDEV);
	assert_int_equal(neighbour_stat(&here, PACKED "relative", &file), -EXDEV);
	assert_int_equal(neighbour_stat(&all, PACKED "relative", &file), -EXDEV);
}

TEST(fingerprints_differ)
{
	static const char *const one[] = {"/a", NULL}, *const two[] = {"/a", "/b", NULL},
				 *const swapped[] = {"/b", "/a", NULL}, *const none[] = {NULL};
	const struct search_path all[] = {
		{.dirs = none},
		{.dirs = one},
		{.dirs = two},
		{.dirs = swapped},
		{.dirs = one, .all = true},
		{.dirs = one, .servers = 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		for (size_t k = 0; k < i; k++)
			assert_true(search_path_fingerprint(&all[i]) != search_path_fingerprint(&all[k]));
	assert_true(search_path_fingerprint(&all[2]) ==
		    search_path_fingerprint(&(struct search_path){.dirs = two}));
}

TEST(paths_open_to_all)
{
	assert_true(path_open_to_all("/"));
	assert_true(path_open_to_all(at("a").text));
	assert_true(path_open_to_all(at("a/mnt").text));
	assert_false(path_open_to_all(at("a/closed").text));
	assert_false(path_open_to_all(at("a/closed/mnt").text));
	assert_false(path_open_to_all(at("a/none").text));
}

ALL_TESTS(set_up, tear_down)

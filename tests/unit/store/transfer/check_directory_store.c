/* A store in a directory: its files, their tags, and the claims by which hosts exclude one another. */
#include "tests/unit/store/transfer/directory_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/lib/unit.h"

enum { END_SIZE = 256, TRIES = 16, CLAIM_SECONDS = 60 };

/* ---- Directories ---- */

static void expect_directory(int dir, const char *name)
{
	struct stat st, want;
	assert_true(dir >= 0 && dir != store_root);
	assert_int_equal(fstat(dir, &st), 0);
	assert_int_equal(fstatat(store_root, name, &want, 0), 0);
	assert_int_equal(st.st_ino, want.st_ino);
	close(dir);
}

/* Defines a test that is run twice: as usual, and without standard input. */
#define STORE_TEST(name)                                                      \
	static void name(void **state);                                       \
	TEST_WITH(name##_as_usual, begin_store, end_store)                    \
	{                                                                     \
		name(state);                                                  \
	}                                                                     \
	TEST_WITH(name##_without_stdin, begin_store_without_stdin, end_store) \
	{                                                                     \
		name(state);                                                  \
	}                                                                     \
	static void name(void **state __attribute__((unused)))

STORE_TEST(directories)
{
	const char *base = NULL;
	struct stat st;
	expect_directory(directory_open(store_root, "object", false, &base), ".");
	assert_string_equal(base, "object");
	assert_int_equal(directory_open(store_root, "ab/object", false, &base), -ENOENT);
	assert_string_equal(names_in(""), "");
	expect_directory(directory_open(store_root, "ab/cd/object", true, &base), "ab/cd");
	assert_string_equal(base, "object");
	assert_string_equal(names_in("ab"), " cd");
	assert_string_equal(names_in("ab/cd"), "");
	assert_int_equal(fstatat(store_root, "ab", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	expect_directory(directory_open(store_root, "ab/object", false, &base), "ab");
	expect_directory(directory_open(store_root, "ab/object", true, &base), "ab");
	expect_directory(directory_open(store_root, "ab/cd/object", true, &base), "ab/cd");
}

STORE_TEST(no_directories)
{
	const char *base;
	write_object("file", "1", 1, 1);
	assert_int_equal(symlinkat("/tmp", store_root, "link"), 0);
	assert_int_equal(directory_open(store_root, "file/object", true, &base), -ENOTDIR);
	assert_int_equal(directory_open(store_root, "link/object", true, &base), -ENOTDIR);
	assert_int_equal(directory_open(-1, "object", true, &base), -EBADF);
	EVENT(CALL_OPENAT, .nth = 2, .err = EACCES);
	assert_int_equal(directory_open(store_root, "ab/object", true, &base), -EACCES);
	EVENT(CALL_MKDIRAT, .err = EROFS);
	assert_int_equal(directory_open(store_root, "ab/object", true, &base), -EROFS);
	EVENT(CALL_OPENAT, .nth = 3, .err = EMFILE);
	assert_int_equal(directory_open(store_root, "cd/object", true, &base), -EMFILE);
	assert_string_equal(names_in(""), " cd file link");
}

static void make_ab(void)
{
	assert_int_equal(mkdirat(store_root, "ab", 0700), 0);
}

/* Another host makes it at the same time. */
STORE_TEST(made_twice)
{
	const char *base;
	EVENT(CALL_MKDIRAT, .before = make_ab);
	expect_directory(directory_open(store_root, "ab/object", true, &base), "ab");
}

/* ---- Files ---- */

STORE_TEST(files)
{
	struct stat st;
	char text[8] = "";
	write_object("file", "text", 4, 1000);
	int fd = directory_open_file(store_root, "file", &st);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, text, sizeof(text), 0), 4);
	assert_string_equal(text, "text");
	assert_int_equal(fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDONLY | O_NONBLOCK);
	close(fd);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(st.st_mtim.tv_sec, 1000);
}

STORE_TEST(no_files)
{
	struct stat st;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	write_object("file", "text", 4, 1000);
	make_ab();
	assert_int_equal(mkfifoat(store_root, "pipe", 0600), 0);
	assert_int_equal(symlinkat("file", store_root, "link"), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", store_path);
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(sock, (const struct sockaddr *)&address, sizeof(address)), 0);
	close(sock);
	static const char *const names[] = {"ab", "pipe", "link", "socket"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(directory_open_file(store_root, names[i], &st), -EBADMSG);
	assert_int_equal(directory_open_file(store_root, "missing", &st), -ENOENT);
	EVENT(CALL_OPENAT, .err = EACCES);
	assert_int_equal(directory_open_file(store_root, "file", &st), -EACCES);
	EVENT(CALL_FSTAT, .err = EIO);
	assert_int_equal(directory_open_file(store_root, "file", &st), -EIO);
}

STORE_TEST(temporary_files)
{
	char name[DIRECTORY_TEMP_SIZE], taken[DIRECTORY_TEMP_SIZE];
	struct stat st;
	world.last_random = 0x0123456789abcdee;
	int fd = directory_make_temp(store_root, name);
	assert_true(fd >= 0);
	assert_string_equal(name, ".tmp-0123456789abcdef");
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
	assert_int_equal(unlinkat(store_root, name, 0), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_nlink, 0);
	close(fd);
	/* What others have is left alone. */
	for (unsigned i = 1; i <= TRIES; i++) {
		snprintf(taken, sizeof(taken), ".tmp-%016x", i);
		write_object(taken, "1", 1, 1);
	}
	world.last_random = 0;
	assert_int_equal(directory_make_temp(store_root, name), -EEXIST);
	assert_int_equal(world.last_random, TRIES);
	world.last_random = 1;
	fd = directory_make_temp(store_root, name);
	assert_true(fd >= 0);
	assert_string_equal(name, ".tmp-0000000000000011");
	close(fd);
	EVENT(CALL_OPENAT, .err = ENOSPC);
	assert_int_equal(directory_make_temp(store_root, name), -ENOSPC);
	EVENT(CALL_GETRANDOM, .err = ENOSYS);
	assert_int_equal(directory_make_temp(store_root, name), -ENOSYS);
}

/* ---- Tags ---- */

/* That of a file now. */
static const char *tag_of(const char *name)
{
	static char tags[2][STORE_ETAG_SIZE];
	static unsigned i;
	struct stat st;
	char *tag = tags[i++ % 2];
	int fd = directory_open_file(store_root, name, &st);
	assert_true(fd >= 0);
	assert_int_equal(directory_etag(fd, &st, tag), 0);
	close(fd);
	return tag;
}

/* The tag of a file of @size bytes, of which the one at @at is another if it is not negative. */
static const char *tag_with(size_t size, int at)
{
	char bytes[1024];
	memset(bytes, 'a', sizeof(bytes));
	if (at >= 0)
		bytes[at] = 'b';
	write_object("a", bytes, size, 1000);
	return tag_of("a");
}

/* A byte in the end of a file, and only there, makes it another. */
STORE_TEST(tags_of_ends)
{
	static const struct {
		size_t size;
		int at;
		bool is_same;
	} table[] = {
		{1, 0, false},
		{END_SIZE - 1, 0, false},
		{END_SIZE - 1, END_SIZE - 2, false},
		{END_SIZE, 0, false},
		{END_SIZE, END_SIZE - 1, false},
		{END_SIZE + 1, 0, true},
		{END_SIZE + 1, 1, false},
		{END_SIZE + 1, END_SIZE, false},
		{1000, 1000 - END_SIZE - 1, true},
		{1000, 1000 - END_SIZE, false},
		{1000, 999, false},
	};
	char tag[STORE_ETAG_SIZE];
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		snprintf(tag, sizeof(tag), "%s", tag_with(table[i].size, -1));
		assert_int_equal(strcmp(tag_with(table[i].size, table[i].at), tag) == 0, table[i].is_same);
	}
	tag_with(0, -1);
	assert_string_not_equal(tag_with(300, -1), tag_with(301, -1));
}

static void set_times(const char *name, struct timespec used, struct timespec written)
{
	const struct timespec times[] = {used, written};
	assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

STORE_TEST(tags_of_files)
{
	char path[128], tag[STORE_ETAG_SIZE];
	const struct timespec noon = {.tv_sec = 1000, .tv_nsec = 5}, later = {.tv_sec = 1001, .tv_nsec = 5},
			      finer = {.tv_sec = 1000, .tv_nsec = 6};
	write_object("a", "text", 4, 1000);
	snprintf(path, sizeof(path), "%s/a", store_path);
	set_times(path, noon, noon);
	snprintf(tag, sizeof(tag), "%s", tag_of("a"));
	assert_true(tag[0] == '"' && tag[strlen(tag) - 1] == '"');
	assert_int_equal(strspn(tag, "\"-.0123456789abcdef"), strlen(tag));
	/* What changes without a new object. */
	assert_int_equal(linkat(store_root, "a", store_root, "b", 0), 0);
	set_times(path, later, noon);
	assert_string_equal(tag_of("a"), tag);
	assert_string_equal(tag_of("b"), tag);
	/* What does not. */
	set_times(path, noon, later);
	assert_string_not_equal(tag_of("a"), tag);
	set_times(path, noon, finer);
	assert_string_not_equal(tag_of("a"), tag);
	write_object("c", "text", 4, 1000);
	write_object("d", "text", 4, 1000);
	assert_string_not_equal(tag_of("c"), tag_of("d"));
}

STORE_TEST(no_tags)
{
	char tag[STORE_ETAG_SIZE];
	struct stat st;
	write_object("a", "text", 4, 1000);
	int fd = directory_open_file(store_root, "a", &st);
	assert_true(fd >= 0);
	EVENT(CALL_PREAD, .err = EIO);
	assert_int_equal(directory_etag(fd, &st, tag), -EIO);
	st.st_size++;
	assert_int_equal(directory_etag(fd, &st, tag), -EBADMSG);
	close(fd);
}

/* ---- Claims ---- */

static char known_tag[STORE_ETAG_SIZE]; /* of "a" */
static char claim[64];                  /* the file's name */

static void make_object(void)
{
	write_object("a", "text", 4, 1000);
	snprintf(known_tag, sizeof(known_tag), "%s", tag_of("a"));
}

/* Others have the claim, since that time. */
static void make_claim_at(int64_t seconds)
{
	assert_int_equal(directory_claim(store_root, "a", known_tag, 0), 0);
	assert_string_equal(names_in(""), strstr(names_in(""), " .claim-"));
	snprintf(claim, sizeof(claim), "%s", strchr(names_in(""), '.'));
	claim[strcspn(claim, " ")] = 0;
	write_object(claim, "", 0, seconds);
}

STORE_TEST(claims)
{
	struct stat st;
	make_object();
	make_claim_at(1000);
	assert_int_equal(fstatat(store_root, claim, &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(directory_claim(store_root, "a", known_tag, 1000), -EEXIST);
	directory_release(store_root, "a", known_tag);
	assert_string_equal(names_in(""), " a");
	assert_int_equal(directory_claim(store_root, "a", known_tag, 1000), 0);
	directory_release(store_root, "a", known_tag);
	/* There is nothing to claim. */
	assert_int_equal(directory_claim(store_root, "a", "\"other\"", 1000), -EEXIST);
	assert_int_equal(directory_claim(store_root, "b", known_tag, 1000), -ENOENT);
	EVENT(CALL_PREAD, .err = EIO);
	assert_int_equal(directory_claim(store_root, "a", known_tag, 1000), -EIO);
	EVENT(CALL_OPENAT, .nth = 2, .err = EROFS);
	assert_int_equal(directory_claim(store_root, "a", known_tag, 1000), -EROFS);
	assert_string_equal(names_in(""), " a");
}

/* Each name and each tag has its own. */
STORE_TEST(different_claims)
{
	char tag[STORE_ETAG_SIZE];
	make_object();
	assert_int_equal(linkat(store_root, "a", store_root, "b", 0), 0);
	assert_int_equal(directory_claim(store_root, "a", known_tag, 0), 0);
	assert_int_equal(directory_claim(store_root, "b", known_tag, 0), 0);
	directory_release(store_root, "b", known_tag);
	assert_int_equal(directory_claim(store_root, "a", known_tag, 0), -EEXIST);
	write_object("a", "other", 5, 1000);
	snprintf(tag, sizeof(tag), "%s", tag_of("a"));
	assert_int_equal(directory_claim(store_root, "a", tag, 0), 0);
	directory_release(store_root, "a", tag);
	directory_release(store_root, "a", known_tag);
	assert_string_equal(names_in(""), " a b");
}

static void replace_object(void)
{
	write_object("new", "texT", 4, 1000);
	assert_int_equal(renameat(store_root, "new", store_root, "a"), 0);
}

static void remove_object(void)
{
	assert_int_equal(unlinkat(store_root, "a", 0), 0);
}

/* Others replaced the object before the claim was made: it is dropped. */
STORE_TEST(late_claims)
{
	make_object();
	EVENT(CALL_OPENAT, .nth = 2, .before = replace_object);
	assert_int_equal(directory_claim(store_root, "a", known_tag, 0), -EEXIST);
	assert_string_equal(names_in(""), " a");
	make_object();
	EVENT(CALL_OPENAT, .nth = 3, .before = remove_object);
	assert_int_equal(directory_claim(store_root, "a", known_tag, 0), -ENOENT);
	assert_string_equal(names_in(""), "");
	make_object();
	EVENT(CALL_PREAD, .nth = 2, .err = EIO);
	assert_int_equal(directory_claim(store_root, "a", known_tag, 0), -EIO);
	assert_string_equal(names_in(""), " a");
}

/* ---- Claims of hosts that ended ---- */

static void release_claim(void)
{
	assert_int_equal(unlinkat(store_root, claim, 0), 0);
}

/* Another host broke the claim, and has its own. */
static void renew_claim(void)
{
	write_object("new", "", 0, 2000);
	assert_int_equal(renameat(store_root, "new", store_root, claim), 0);
}

static void renew_claim_for_good(void)
{
	renew_claim();
	EVENT(CALL_LINKAT, .err = EPERM);
}

/* ..., whose file has the same number. */
static void touch_claim(void)
{
	char path[192];
	const struct timespec now = {.tv_sec = 1000, .tv_nsec = 7};
	snprintf(path, sizeof(path), "%s/%s", store_path, claim);
	set_times(path, now, now);
}

static void take_claim(void)
{
	write_object(claim, "", 0, 2000);
}

STORE_TEST(old_claims)
{
	static const struct {
		int64_t now;
		struct directory_event event;
		int want;
		bool has_claim; /* after that */
	} table[] = {
		{1000 + CLAIM_SECONDS, {NO_CALL}, -EEXIST, true},
		{1000 + CLAIM_SECONDS + 1, {NO_CALL}, 0, true},
		{0, {NO_CALL}, -EEXIST, true},
		{900, {NO_CALL}, -EEXIST, true},
		/* It is gone while it is looked at. */
		{1000, {CALL_FSTATAT, .before = release_claim}, 0, true},
		{2000, {CALL_RENAMEAT, .before = release_claim}, 0, true},
		/* Others are faster. */
		{2000, {CALL_RENAMEAT, .before = renew_claim}, -EEXIST, true},
		{2000, {CALL_RENAMEAT, .before = touch_claim}, -EEXIST, true},
		{2000, {CALL_OPENAT, .nth = 3, .before = take_claim}, -EEXIST, true},
		{2000, {CALL_RENAMEAT, .before = renew_claim_for_good}, -EEXIST, false},
		{1000, {CALL_OPENAT, .nth = 3, .before = release_claim}, -EEXIST, true},
		{2000, {CALL_GETRANDOM, .err = ENOSYS}, -ENOSYS, true},
		{2000, {CALL_FSTATAT, .err = EIO}, -EIO, true},
		{2000, {CALL_RENAMEAT, .err = EIO}, -EIO, true},
		{2000, {CALL_FSTATAT, .nth = 2, .err = EIO}, -EIO, false},
		{2000, {CALL_OPENAT, .nth = 3, .err = ENOSPC}, -ENOSPC, false},
	};
	char names[96];
	make_object();
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		make_claim_at(1000);
		set_event(&table[i].event);
		assert_int_equal(directory_claim(store_root, "a", known_tag, table[i].now), table[i].want);
		EVENT(NO_CALL);
		snprintf(names, sizeof(names), " %s a", claim);
		assert_string_equal(names_in(""), table[i].has_claim ? names : " a");
		directory_release(store_root, "a", known_tag);
		assert_string_equal(names_in(""), " a");
	}
}

/* The claim that is put back is the other host's. */
STORE_TEST(put_back)
{
	struct stat st;
	make_object();
	make_claim_at(1000);
	EVENT(CALL_RENAMEAT, .before = renew_claim);
	assert_int_equal(directory_claim(store_root, "a", known_tag, 2000), -EEXIST);
	assert_int_equal(fstatat(store_root, claim, &st, 0), 0);
	assert_int_equal(st.st_mtim.tv_sec, 2000);
	assert_int_equal(st.st_nlink, 1);
}

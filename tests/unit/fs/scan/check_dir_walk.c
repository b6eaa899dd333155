/* What a walk visits: each kind of entry, and paths of the longest size that fits. */
#include "fs/scan/dir_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"

static char top_path[] = "/tmp/gsymfs-walk-XXXXXX";
static int top;

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(top_path))
		return -1;
	top = open(top_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(top, "ab", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return top < 0 || fd < 0 || close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	return unlinkat(top, "ab", 0) || close(top) || rmdir(top_path);
}

static int note_dir(void *user, const char *path, int fd, bool open_to_all)
{
	(void)user, (void)path, (void)fd, (void)open_to_all;
	return 0;
}

static char told[256];

static void note_tell(void *user, const char *path, const char *reason, const char *use)
{
	(void)user, (void)path, (void)use;
	snprintf(told, sizeof(told), "%s", reason);
}

static int note_file(void *user, const char *path, const struct stat *st, bool open_to_all)
{
	size_t *longest = user;
	(void)st, (void)open_to_all;
	*longest = strlen(path);
	return 0;
}

/* The size of the path of the file "ab" in a directory whose path has @size bytes; 0 if it is not visited. */
static size_t visited_in(size_t size)
{
	static char dir[PATH_MAX];
	size_t found = 0;
	const struct walk_visitor visitor = {
		.dir = note_dir, .file = note_file, .user = &found, .stop_fd = -1, .tell = note_tell};
	memset(dir, 'x', size);
	dir[size] = 0;
	assert_int_equal(walk_entry(top, top, dir, "ab", false, &visitor), 0);
	return found;
}

TEST(longest_path)
{
	enum { NAME = 3 /* with its slash */ };
	assert_int_equal(visited_in(0), NAME - 1);
	assert_int_equal(visited_in(1), NAME + 1);
	assert_int_equal(visited_in(PATH_MAX - 1 - NAME), PATH_MAX - 1);
	assert_int_equal(visited_in(PATH_MAX - NAME), 0);
	assert_int_equal(visited_in(PATH_MAX - 1), 0);
}

/* ---- Kinds of entries ---- */

/* One letter for each visit and the last letter of the name, in the order of names. */
struct visits {
	char list[64][3];
	size_t n;
};

static void note(struct visits *visits, char kind, const char *path)
{
	assert_true(visits->n < sizeof(visits->list) / sizeof(*visits->list));
	snprintf(visits->list[visits->n++], 3, "%c%c", kind, *path ? path[strlen(path) - 1] : '.');
}

static int visit_dir(void *user, const char *path, int fd, bool open_to_all)
{
	(void)fd;
	note(user, open_to_all ? 'D' : 'd', path);
	return 0;
}

static int visit_file(void *user, const char *path, const struct stat *st, bool open_to_all)
{
	assert_true(S_ISREG(st->st_mode));
	note(user, open_to_all ? 'F' : 'f', path);
	return 0;
}

static int visit_link(void *user, const char *path, const struct stat *st)
{
	assert_true(S_ISREG(st->st_mode));
	note(user, 'l', path);
	return 0;
}

static int visit_away(void *user, const char *path, int dir, const char *name)
{
	(void)dir, (void)name;
	note(user, 'a', path);
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void visited_are(bool open_to_all, const char *want)
{
	struct visits visits = {.n = 0};
	char got[256] = "";
	const struct walk_visitor visitor = {.dir = visit_dir,
					     .file = visit_file,
					     .link = visit_link,
					     .away = visit_away,
					     .user = &visits,
					     .stop_fd = -1,
					     .tell = note_tell};
	assert_int_equal(walk(top, open_to_all, &visitor), 0);
	qsort(visits.list, visits.n, sizeof(*visits.list), by_text);
	for (size_t i = 0; i < visits.n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s ", visits.list[i]);
	assert_string_equal(got, want);
}

/* A pipe is not even opened: that could block. */
TEST(kinds_of_entries)
{
	assert_int_equal(chmod(top_path, 0755), 0);
	assert_int_equal(mkdirat(top, "o", 0711) | mkdirat(top, "p", 0700), 0);
	assert_int_equal(linkat(top, "ab", top, "o/c", 0) | linkat(top, "ab", top, "p/d", 0), 0);
	assert_int_equal(
		symlinkat("ab", top, "1") | symlinkat("nothing", top, "2") | symlinkat("o", top, "3"), 0);
	assert_int_equal(symlinkat("/etc/passwd", top, "4") | mkfifoat(top, "5", 0600), 0);
	visited_are(true, "D. Do Fb Fc a2 a3 a4 dp fd l1 ");
	visited_are(false, "a2 a3 a4 d. do dp fb fc fd l1 ");
	static const char *const files[] = {"o/c", "p/d", "1", "2", "3", "4", "5"};
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		assert_int_equal(unlinkat(top, files[i], 0), 0);
	assert_int_equal(unlinkat(top, "o", AT_REMOVEDIR) | unlinkat(top, "p", AT_REMOVEDIR), 0);
}

/* ---- Directories that cannot be read to their end ---- */

static int readdir_error; /* instead of the first entry; 0: none */

struct dirent *__real_readdir64(DIR *d);

struct dirent *__wrap_readdir64(DIR *d)
{
	if (!readdir_error)
		return __real_readdir64(d);
	errno = readdir_error;
	return NULL;
}

/* Files that it may have are not taken for gone, unless it is itself, or is not permitted. */
TEST(cut_short)
{
	static const struct {
		int error, result;
		bool told;
	} rows[] = {
		{EIO, -EIO, true},  {ENOMEM, -ENOMEM, true}, {EACCES, 0, true},
		{ENOENT, 0, false}, {ENOTDIR, 0, false},     {ELOOP, 0, false},
		{EPERM, 0, true},   {ESTALE, -ESTALE, true}, {0, 0, false},
	};
	size_t found;
	const struct walk_visitor visitor = {
		.dir = note_dir, .file = note_file, .user = &found, .stop_fd = -1, .tell = note_tell};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		told[0] = 0;
		found = 0;
		readdir_error = rows[i].error;
		int err = walk(top, false, &visitor);
		readdir_error = 0;
		assert_int_equal(err, rows[i].result);
		assert_int_equal(*told != 0, rows[i].told);
		assert_true(!rows[i].told || strstr(told, strerror(rows[i].error)));
		assert_int_equal(found, rows[i].error ? 0 : 2);
	}
}

ALL_TESTS(set_up, tear_down)

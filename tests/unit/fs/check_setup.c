/*
 * What is checked before the mount: which sources there are, as operands or in one, which are refused, where
 * debug files are searched, and what the mount would hide. With the real cache, mount point and worker, which
 * is the argument.
 */
#include "fs/gsymfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"
#include "tests/unit/temp_directory.h"
#include "tests/unit/wrap_malloc.h"

static struct gsymfs fs;
static struct gsym_diag diag;
static char top[] = "/tmp/check_setup.XXXXXX";
static char paths[40][2300]; /* of what is below it */
static size_t n_paths;

/* The path of @name below the directory of the test. */
static char *below(const char *name)
{
	char *path = paths[n_paths++ % ARRAY_SIZE(paths)];
	snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static char *new_dir(const char *name)
{
	char *path = below(name);
	assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
	return path;
}

static void setup_begin(void)
{
	memset(&fs, 0, sizeof(fs));
	diag.text[0] = 0;
	fs.stop_fd = eventfd(0, EFD_CLOEXEC);
	fs.slots.fd = -1;
	fs.cache.dir = -1;
	fs.options = (struct options){
		.operands = {new_dir("src")},
		.n_sources = 1,
		.mountpoint = new_dir("mount"),
		.cache = new_dir("cache"),
		.cache_size = 1 << 20,
		.debug_dirs = (char *)"",
		.worker = unit_argv[1],
		.jobs = 3,
		.convert_time = 60,
	};
}

static void setup_clear(void)
{
	for (size_t i = 0; i < fs.n_roots; i++)
		free(fs.roots[i].path);
	free(fs.source_names);
	free(fs.mountpoint);
	free(fs.worker);
	free(fs.debug_dirs);
	if (fs.cache.dir >= 0)
		cache_close(&fs.cache);
	if (fs.slots.fd >= 0)
		run_slots_deinit(&fs.slots);
	close(fs.stop_fd);
}

static int set_up(void **state)
{
	(void)state;
	setup_begin();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	setup_clear();
	return 0;
}

static int prepare(void)
{
	return setup_prepare(&fs, &diag);
}

/* It failed with @err and a message that contains @text. The next one begins anew, with the same options. */
static void refused(int got, int err, const char *text)
{
	if (got != err || !strstr(diag.text, text))
		fail_msg("%d, not %d, '%s' of '%s'", got, err, text, diag.text);
	struct options kept = fs.options;
	setup_clear();
	setup_begin();
	fs.options = kept;
}

static void refuses(int err, const char *text)
{
	refused(prepare(), err, text);
}

static void give(char *const *operands, size_t n)
{
	memcpy(fs.options.operands, operands, n * sizeof(*operands));
	fs.options.n_sources = n;
}

#define GIVE(...) give((char *const[]){__VA_ARGS__}, sizeof((char *[]){__VA_ARGS__}) / sizeof(char *))

TEST(one_source)
{
	assert_int_equal(symlink("src", below("link")), 0);
	GIVE(below("link"));
	assert_int_equal(prepare(), 0);
	assert_int_equal(unlink(below("link")), 0);
	assert_int_equal(fs.n_roots, 1);
	assert_string_equal(fs.source, below("src"));
	assert_string_equal(fs.prefix, below("src"));
	assert_string_equal(fs.source_names, below("src"));
	assert_string_equal(fs.roots[0].path, below("src"));
	assert_string_equal(fs.roots[0].below, "");
	assert_false(fs.log.from_root);
}

static void two_sources(char *first, char *second)
{
	char names[400];
	assert_int_equal(prepare(), 0);
	assert_int_equal(fs.n_roots, 2);
	assert_string_equal(fs.source, "/");
	assert_string_equal(fs.prefix, "");
	assert_true(fs.log.from_root);
	assert_string_equal(fs.roots[0].path, first);
	assert_string_equal(fs.roots[0].below, first + 1);
	assert_string_equal(fs.roots[1].path, second);
	assert_string_equal(fs.roots[1].below, second + 1);
	snprintf(names, sizeof(names), "%s:%s", first, second);
	assert_string_equal(fs.source_names, names);
	setup_clear();
	setup_begin();
}

TEST(several_sources)
{
	char *a = new_dir("a"), *ab = new_dir("ab"), text[300];
	GIVE(a, ab);
	two_sources(a, ab);
	GIVE(ab, a);
	two_sources(ab, a);
	/* In one operand, as in fstab. */
	snprintf(text, sizeof(text), "%s:%s", a, ab);
	GIVE(text);
	two_sources(a, ab);
	snprintf(text, sizeof(text), ":%s::%s:", a, ab);
	GIVE(text);
	two_sources(a, ab);
	/* Unless there is a directory of that name. */
	GIVE(new_dir("c:d"));
	assert_int_equal(prepare(), 0);
	assert_int_equal(fs.n_roots, 1);
	assert_string_equal(fs.roots[0].path, below("c:d"));
}

TEST(refused_sources)
{
	char *a = new_dir("a"), *in = new_dir("a/in"), text[300];
	int fd = open(below("file"), O_CREAT | O_WRONLY, 0644);
	assert_true(fd >= 0);
	close(fd);
	GIVE(below("missing"));
	refuses(-ENOENT, "missing': No such file");
	GIVE(below("file"));
	refuses(-ENOTDIR, "file': not a directory");
	GIVE(a, a);
	refuses(-EINVAL, "given twice");
	GIVE(new_dir("b"), a, in);
	refuses(-EINVAL, "one is in the other");
	GIVE(in, a);
	refuses(-EINVAL, "one is in the other");
	GIVE((char *)":");
	refuses(-ENOENT, "names no directory");
	snprintf(text, sizeof(text), "%s:%s", a, below("missing"));
	GIVE(text);
	refuses(-ENOENT, "missing': No such file");
	/* The first that fails is the last that is looked at. */
	snprintf(text, sizeof(text), "%s:%s", below("missing"), below("file"));
	GIVE(text, below("file"));
	refuses(-ENOENT, "missing': No such file");
}

TEST(many_sources)
{
	char *dirs[SOURCES_MAX + 1], name[8], text[SOURCES_MAX * 40];
	size_t n = 0;
	for (unsigned i = 0; i <= SOURCES_MAX; i++) {
		snprintf(name, sizeof(name), "m%02u", i);
		dirs[i] = new_dir(name);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? ":" : "", dirs[i]);
	}
	give(dirs, SOURCES_MAX);
	assert_int_equal(prepare(), 0);
	assert_int_equal(fs.n_roots, SOURCES_MAX);
	for (unsigned i = 0; i < SOURCES_MAX; i++)
		assert_string_equal(fs.debug_dirs[i], dirs[i]);
	assert_null(fs.debug_dirs[SOURCES_MAX]);
	setup_clear();
	setup_begin();
	GIVE(text);
	refuses(-EINVAL, "there may be 16 sources");
}

/* All their paths fit into a message to workers. */
TEST(long_sources)
{
	enum { PARTS = 10 };
	char *dirs[PARTS], name[256];
	for (int more = 0; more <= 1; more++) {
		size_t left = SOURCES_TEXT_MAX + (size_t)more - (PARTS - 1);
		for (unsigned i = 0; i < PARTS; i++) {
			size_t size = left / (PARTS - i) - strlen(top) - 1;
			left -= size + strlen(top) + 1;
			memset(name, (char)('a' + i), size);
			name[size] = 0;
			dirs[i] = new_dir(name);
		}
		give(dirs, PARTS);
		if (more) {
			refuses(-ENAMETOOLONG, "longer than 2000 bytes");
		} else {
			assert_int_equal(prepare(), 0);
			assert_int_equal(strlen(fs.source_names), SOURCES_TEXT_MAX);
			setup_clear();
			setup_begin();
		}
	}
}

/* The directory has a path of that length. */
static char *deep_dir(char first, size_t size)
{
	static char deep[2][2300];
	char *path = deep[first == 'y'];
	size_t n = (size_t)snprintf(path, sizeof(deep[0]), "%s", top);
	while (n < size) {
		size_t part = size - n - 1 < 200 ? size - n - 1 : 200;
		if (size - n - 1 - part == 1)
			part--; /* the last one needs a name */
		path[n++] = '/';
		memset(path + n, first, part);
		path[n += part] = 0;
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
	}
	return path;
}

/* The only source may have any path, of two it counts. */
TEST(deep_sources)
{
	GIVE(deep_dir('x', SOURCES_TEXT_MAX + 200));
	assert_int_equal(prepare(), 0);
	assert_int_equal(strlen(fs.source_names), SOURCES_TEXT_MAX + 200);
	setup_clear();
	setup_begin();
	GIVE(deep_dir('x', SOURCES_TEXT_MAX / 2), deep_dir('y', SOURCES_TEXT_MAX / 2));
	refuses(-ENAMETOOLONG, "longer than 2000 bytes");
	GIVE(deep_dir('x', SOURCES_TEXT_MAX / 2), deep_dir('y', SOURCES_TEXT_MAX / 2 - 1));
	assert_int_equal(prepare(), 0);
}

/* As many as there may be. */
TEST(many_debug_dirs)
{
	char *dirs[SOURCES_MAX], name[8], text[DEBUG_DIRS_MAX * 8];
	size_t n = 0;
	for (unsigned i = 0; i < SOURCES_MAX; i++) {
		snprintf(name, sizeof(name), "m%02u", i);
		dirs[i] = new_dir(name);
	}
	for (unsigned i = 0; i < DEBUG_DIRS_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s/d%02u", i ? ":" : "", i);
	fs.options.debug_dirs = text;
	give(dirs, SOURCES_MAX);
	assert_int_equal(prepare(), 0);
	for (unsigned i = 0; i < DEBUG_DIRS_MAX; i++) {
		snprintf(name, sizeof(name), "/d%02u", i);
		assert_string_equal(fs.debug_dirs[i], name);
	}
	for (unsigned i = 0; i < SOURCES_MAX; i++)
		assert_string_equal(fs.debug_dirs[DEBUG_DIRS_MAX + i], dirs[i]);
	assert_null(fs.debug_dirs[DEBUG_DIRS_MAX + SOURCES_MAX]);
}

TEST(debug_dirs)
{
	fs.options.debug_dirs = (char *)"/usr/lib/debug:/srv/debug";
	GIVE(new_dir("a"), new_dir("b"));
	assert_int_equal(prepare(), 0);
	assert_string_equal(fs.debug_dirs[0], "/usr/lib/debug");
	assert_string_equal(fs.debug_dirs[1], "/srv/debug");
	assert_string_equal(fs.debug_dirs[2], below("a"));
	assert_string_equal(fs.debug_dirs[3], below("b"));
	assert_null(fs.debug_dirs[4]);
	assert_string_equal(fs.options.debug_dirs, "/usr/lib/debug:/srv/debug");
}

/* Nothing that the daemon reads may lie below its own mount. */
TEST(hidden)
{
	char *mount = new_dir("mount"), *in = new_dir("mount/in"), *other = new_dir("mounts");
	GIVE(other);
	assert_int_equal(prepare(), 0);
	setup_clear();
	setup_begin();
	GIVE(mount);
	refuses(-EINVAL, "would be hidden");
	char *const sources[][2] = {{in, other}, {other, in}};
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		give(sources[i], 2);
		refuses(-EINVAL, "mount/in: would be hidden");
	}
	GIVE(other);
	fs.options.mountpoint = "/";
	refuses(-EINVAL, "would be hidden by the mount at '/'");
}

TEST(bad_worker)
{
	static const struct {
		const char *worker;
		int err;
		const char *text;
	} rows[] = {
		{"/no/worker", -ENOENT, "'/no/worker': set -o worker=PATH"},
		{"/bin/true", -ECHILD, "is not the gsym program"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fs.options.worker = (char *)rows[i].worker;
		refuses(rows[i].err, rows[i].text);
	}
}

/* Each allocation fails in turn: that is said, and nothing is left open. */
TEST(without_memory)
{
	char text[300];
	int err = -ENOMEM;
	long n = 0;
	snprintf(text, sizeof(text), "%s:%s", new_dir("a"), new_dir("b"));
	GIVE(text);
	fs.options.debug_dirs = (char *)"/usr/lib/debug";
	fs.options.debuginfod = true;
	for (; err; n++) {
		allowed = n;
		err = prepare();
		allowed = -1;
		assert_true(n < 200);
		if (err)
			refused(err, err == -ECHILD ? -ECHILD : -ENOMEM,
				"memory"); /* -ECHILD: of the worker */
	}
	assert_true(n > 5);
}

EACH_TEST(set_up, tear_down)

static int make_top(void **state)
{
	(void)state;
	return mkdtemp(top) ? 0 : -1;
}

static int remove_top(void **state)
{
	(void)state;
	return remove_tree(top);
}

ALL_TESTS(make_top, remove_top)

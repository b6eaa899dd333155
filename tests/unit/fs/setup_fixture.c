#include "setup_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "work/os/guard.h"
#include "work/worker/child.h"
#include "fs/sys/mountpoint.h"
#include "tests/unit/wrap_asprintf.h"

struct gsymfs fs;
struct gsym_diag diag;
char top[] = "/tmp/check_setup.XXXXXX";
static char paths[40][2300]; /* of what is below it */
static size_t n_paths;

/* The path of @name below the directory of the test. */
char *below(const char *name)
{
	char *path = paths[n_paths++ % ARRAY_SIZE(paths)];
	snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

char *new_dir(const char *name)
{
	char *path = below(name);
	assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
	return path;
}

/* ---- In place of the other parts ---- */

struct faked sys;

/* Whatever allocation is to fail. */
static char *copy_of(const char *text)
{
	char *copy = __real_malloc(strlen(text) + 1);
	assert_non_null(copy);
	return counted(strcpy(copy, text));
}

static int step(const char *name)
{
	if (!sys.failing || strcmp(sys.failing, name) != 0)
		return 0;
	snprintf(diag.text, sizeof(diag.text), "%s failed", name);
	return -ENFILE;
}

int __wrap_mountpoint_prepare(const char *path, const struct log *log, char **ret, struct gsym_diag *d);
int __wrap_cache_open(struct cache *cache, const char *path, uint64_t limit, uint64_t spare,
		      const struct log *log, struct gsym_diag *d);
int __wrap_child_start(const struct child_order *order, struct child *ret, struct gsym_diag *d);
int __wrap_child_finish(struct child *child, struct rusage *ret_usage);
int __wrap_share_open(struct share *share, const struct share_options *options, const char *program,
		      int stop_fd, struct cache *cache, const struct log *log, struct gsym_diag *d);
int __wrap_fetcher_open(struct fetcher *fetcher, const struct cache *cache, struct gsym_diag *d);
int __wrap_guard_install(void);
int __wrap_run_slots_init(struct run_slots *slots, unsigned n);
char *__real_realpath(const char *path, char *resolved);
char *__wrap_realpath(const char *path, char *resolved);
ssize_t __wrap_readlink(const char *path, char *to, size_t size);
ssize_t __wrap___readlink_chk(const char *path, char *to, size_t size, size_t room);
char *__real_getcwd(char *to, size_t size);
char *__wrap_getcwd(char *to, size_t size);
int __wrap_getrlimit64(int resource, struct rlimit *ret);
int __wrap_setrlimit64(int resource, const struct rlimit *limit);
bool __wrap_digests_find(struct digests *digests, const struct file_key *key,
			 uint8_t ret[static STORE_DIGEST]);
int __wrap_digests_set(struct digests *digests, const struct file_key *key,
		       const uint8_t digest[static STORE_DIGEST], bool saved);

int __wrap_mountpoint_prepare(const char *path, const struct log *log, char **ret, struct gsym_diag *d)
{
	assert_string_equal(path, "given/mount");
	assert_ptr_equal(log, &fs.log);
	assert_ptr_equal(d, &diag);
	sys.mounts++;
	*ret = copy_of(below("mount"));
	return step("mount");
}

int __wrap_cache_open(struct cache *cache, const char *path, uint64_t limit, uint64_t spare,
		      const struct log *log, struct gsym_diag *d)
{
	assert_ptr_equal(cache, &fs.cache);
	assert_string_equal(path, "given/cache");
	assert_int_equal(limit, 1000);
	assert_int_equal(spare, 2000);
	assert_ptr_equal(log, &fs.log);
	assert_ptr_equal(d, &diag);
	sys.caches++;
	cache->dir = open(new_dir("cache"), O_RDONLY | O_DIRECTORY);
	return step("cache");
}

int __wrap_child_start(const struct child_order *order, struct child *ret, struct gsym_diag *d)
{
	(void)ret;
	assert_string_equal(order->program, fs.worker);
	assert_string_equal(order->mode, "scan");
	assert_int_equal(order->n_fds, 1);
	assert_int_equal(order->fds[0], fs.cache.dir);
	assert_int_equal(order->stop_fd, 77);
	assert_ptr_equal(d, &diag);
	sys.children++;
	return step("worker");
}

int __wrap_child_finish(struct child *child, struct rusage *ret_usage)
{
	(void)child;
	assert_null(ret_usage);
	sys.finished++;
	return 0;
}

int __wrap_share_open(struct share *share, const struct share_options *options, const char *program,
		      int stop_fd, struct cache *cache, const struct log *log, struct gsym_diag *d)
{
	assert_ptr_equal(share, &fs.share);
	assert_string_equal(program, fs.worker);
	assert_int_equal(stop_fd, 77);
	assert_ptr_equal(cache, &fs.cache);
	assert_ptr_equal(log, &fs.log);
	assert_ptr_equal(d, &diag);
	sys.shares++;
	sys.share = *options;
	return step("share");
}

int __wrap_fetcher_open(struct fetcher *fetcher, const struct cache *cache, struct gsym_diag *d)
{
	assert_ptr_equal(fetcher, &fs.fetcher);
	assert_ptr_equal(cache, &fs.cache);
	assert_ptr_equal(d, &diag);
	sys.fetchers++;
	fetcher->directory = sys.directory;
	return step("fetcher");
}

int __wrap_guard_install(void)
{
	sys.guards++;
	return step("guard");
}

int __wrap_run_slots_init(struct run_slots *slots, unsigned n)
{
	assert_ptr_equal(slots, &fs.slots);
	assert_int_equal(n, 3);
	sys.slots++;
	return step("slots");
}

char *__wrap_realpath(const char *path, char *resolved)
{
	int err = sys.realpath_err;
	sys.realpath_err = 0;
	errno = err;
	if (err)
		return NULL;
	char *found = sys.moved ? __real_realpath("/", NULL) : __real_realpath(path, resolved);
	if (!sys.moved)
		return counted(found);
	__real_free(found);
	return copy_of(below("moved"));
}

ssize_t __wrap_readlink(const char *path, char *to, size_t size)
{
	assert_string_equal(path, "/proc/self/exe");
	size_t n = sys.self ? strlen(sys.self) : 0;
	assert_true(n < size);
	memset(to, 'x', size);
	memcpy(to, sys.self ? sys.self : "", n);
	errno = sys.readlink_err;
	return sys.readlink_err ? -1 : (ssize_t)n;
}

/* With _FORTIFY_SOURCE. */
ssize_t __wrap___readlink_chk(const char *path, char *to, size_t size, size_t room)
{
	assert_true(size <= room);
	return __wrap_readlink(path, to, size);
}

char *__wrap_getcwd(char *to, size_t size)
{
	char *here = sys.no_cwd ? NULL : __real_getcwd(to, size);
	return to ? here : counted(here);
}

int __wrap_getrlimit64(int resource, struct rlimit *ret)
{
	assert_int_equal(resource, RLIMIT_NOFILE);
	*ret = (struct rlimit){sys.cur, sys.max};
	return sys.getrlimit_err ? -1 : 0;
}

int __wrap_setrlimit64(int resource, const struct rlimit *limit)
{
	assert_int_equal(resource, RLIMIT_NOFILE);
	sys.limits++;
	sys.cur = limit->rlim_cur;
	sys.max = limit->rlim_max;
	return 0;
}

const void *digests_asked;
bool kept_as_saved;

bool __wrap_digests_find(struct digests *digests, const struct file_key *key,
			 uint8_t ret[static STORE_DIGEST])
{
	(void)key, (void)ret;
	digests_asked = digests;
	return true;
}

int __wrap_digests_set(struct digests *digests, const struct file_key *key,
		       const uint8_t digest[static STORE_DIGEST], bool saved)
{
	(void)key, (void)digest;
	digests_asked = digests;
	kept_as_saved = saved;
	return 0;
}

/* ---- A daemon ---- */

void setup_clear(void)
{
	for (size_t i = 0; i < fs.n_roots; i++)
		free(fs.roots[i].path);
	free(fs.source_names);
	free(fs.mountpoint);
	free(fs.worker);
	free(fs.debug_dirs);
	free(fs.options.shared);
	free(fs.options.sign_key);
	free(fs.options.shared_ca);
	if (fs.cache.dir >= 0)
		close(fs.cache.dir);
}

void setup_begin(void)
{
	memset(&fs, 0, sizeof(fs));
	diag.text[0] = 0;
	fs.stop_fd = 77;
	fs.cache.dir = -1;
	fs.options = (struct options){
		.operands = {new_dir("src")},
		.n_sources = 1,
		.mountpoint = "given/mount",
		.cache = (char *)"given/cache",
		.cache_size = 1000,
		.cache_free = 2000,
		.debug_dirs = (char *)"",
		.worker = (char *)"/bin/sh",
		.jobs = 3,
		.convert_time = 60,
		.shared_wait = 500,
	};
}

static long live_before;

int setup_set_up(void **state)
{
	(void)state;
	memset(&sys, 0, sizeof(sys));
	live_before = live;
	setup_begin();
	return 0;
}

int setup_tear_down(void **state)
{
	(void)state;
	setup_clear();
	assert_int_equal(live, live_before);
	return 0;
}

int prepare(void)
{
	return setup_prepare(&fs, &diag);
}

/* With what was said containing @text. It begins anew. */
void refuses(int err, const char *text)
{
	int got = prepare();
	if (got != err || !strstr(diag.text, text))
		fail_msg("%d, not %d, '%s' of '%s'", got, err, text, diag.text);
	struct options kept = fs.options;
	kept.shared = kept.sign_key = kept.shared_ca = NULL;
	setup_clear();
	setup_begin();
	fs.options = kept;
}

void give(char *const *operands, size_t n)
{
	memcpy(fs.options.operands, operands, n * sizeof(*operands));
	fs.options.n_sources = n;
}

void fail_allocation(long n)
{
	allowed = n;
}

bool allocation_failed(void)
{
	return allowed < 0;
}

int setup_main(int failed)
{
	char command[100];
	snprintf(command, sizeof(command), "rm -r '%s'", top);
	return system(command) || failed;
}

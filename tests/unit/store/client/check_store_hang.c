/*
 * A store in a directory whose file server stops: a FUSE file system of this test that hands everything on
 * to another directory.
 */
#define FUSE_USE_VERSION 312
#include <fuse.h>

#include "tests/unit/store/client/store_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "work/os/monotonic.h"

/* ---- The file server ---- */

static int backing = -1;

static const char *relative(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int result_of(int result)
{
	return result < 0 ? -errno : 0;
}

static int pass_getattr(const char *path, struct stat *st, struct fuse_file_info *info)
{
	return info ? result_of(fstat((int)info->fh, st))
		    : result_of(fstatat(backing, relative(path), st, AT_SYMLINK_NOFOLLOW));
}

static int pass_mkdir(const char *path, mode_t mode)
{
	return result_of(mkdirat(backing, relative(path), mode));
}

static int pass_unlink(const char *path)
{
	return result_of(unlinkat(backing, relative(path), 0));
}

static int pass_rename(const char *from, const char *to, unsigned flags)
{
	return flags ? -EINVAL : result_of(renameat(backing, relative(from), backing, relative(to)));
}

static int pass_link(const char *from, const char *to)
{
	return result_of(linkat(backing, relative(from), backing, relative(to), 0));
}

static int pass_open(const char *path, struct fuse_file_info *info)
{
	int fd = openat(backing, relative(path), info->flags | O_CLOEXEC);
	info->fh = (uint64_t)fd;
	return result_of(fd);
}

static int pass_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
	int fd = openat(backing, relative(path), info->flags | O_CREAT | O_CLOEXEC, mode);
	info->fh = (uint64_t)fd;
	return result_of(fd);
}

static int pass_read(const char *path, char *to, size_t size, off_t off, struct fuse_file_info *info)
{
	while (strcmp(path, "/hang") == 0)
		pause();
	ssize_t n = pread((int)info->fh, to, size, off);
	return n < 0 ? -errno : (int)n;
}

static int pass_write(const char *path, const char *from, size_t size, off_t off, struct fuse_file_info *info)
{
	(void)path;
	ssize_t n = pwrite((int)info->fh, from, size, off);
	return n < 0 ? -errno : (int)n;
}

static int pass_release(const char *path, struct fuse_file_info *info)
{
	(void)path;
	return result_of(close((int)info->fh));
}

static int pass_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *info)
{
	return info ? result_of(futimens((int)info->fh, times))
		    : result_of(utimensat(backing, relative(path), times, AT_SYMLINK_NOFOLLOW));
}

static void *pass_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
	(void)connection;
	config->use_ino = 1;
	config->hard_remove = 1;
	config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
	return NULL;
}

static const struct fuse_operations operations = {
	.init = pass_init,
	.getattr = pass_getattr,
	.mkdir = pass_mkdir,
	.unlink = pass_unlink,
	.rename = pass_rename,
	.link = pass_link,
	.open = pass_open,
	.create = pass_create,
	.read = pass_read,
	.write = pass_write,
	.release = pass_release,
	.utimens = pass_utimens,
};

static int serve(const char *mountpoint)
{
	char *argv[] = {(char[]){"passthrough"}, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct fuse *fuse = fuse_new(&args, &operations, sizeof(operations), NULL);
	if (!fuse || fuse_mount(fuse, mountpoint))
		return 1;
	return fuse_loop_mt(fuse, NULL) ? 1 : 0;
}

/* ---- The test ---- */

struct mounted {
	struct fixture f; /* its directory is what is mounted on */
	char back[64];
	pid_t server;
};

/* False if there is no FUSE here. */
static bool is_mounted(struct mounted *m)
{
	struct stat before, after;
	int status;
	assert_int_equal(stat(m->f.directory, &before), 0);
	m->server = fork();
	assert_true(m->server >= 0);
	if (m->server == 0)
		_exit(serve(m->f.directory));
	do {
		if (waitpid(m->server, &status, WNOHANG) != 0)
			return false;
		poll(NULL, 0, 5);
	} while (stat(m->f.directory, &after) || after.st_dev == before.st_dev);
	return true;
}

static int set_up(void **state)
{
	struct mounted *m = calloc(1, sizeof(*m));
	assert_non_null(m);
	*state = m;
	strcpy(m->back, "/tmp/check_store.XXXXXX");
	assert_non_null(mkdtemp(m->back));
	backing = open(m->back, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fixture_open(&m->f);
	store_close(m->f.store);
	m->f.store = NULL;
	return backing < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct mounted *m = *state;
	umount2(m->f.directory, MNT_DETACH);
	if (m->server > 0) {
		kill(m->server, SIGKILL);
		waitpid(m->server, NULL, 0);
	}
	fixture_close(&m->f);
	close(backing);
	remove_all(m->back);
	free(m);
	return 0;
}

static struct store_call *begin_get(struct store *store, const char *name, int fd)
{
	const struct store_request request = {.operation = STORE_GET, .name = name, .fd = fd, .size = 100};
	int err;
	struct store_call *ret = store_start(store, &request, &err);
	assert_non_null(ret);
	return ret;
}

static void begin(struct mounted *m)
{
	if (geteuid() != 0 || !is_mounted(m)) {
		print_message("needs root and /dev/fuse\n");
		skip();
	}
	m->f.store = fixture_store(&m->f);
}

TEST_OF(stops, struct mounted, m)
{
	struct store_reply reply;
	begin(m);
	int fd = file_of("", 0);
	if (put(m->f.store, "x", "1", STORE_IF_ABSENT, NULL, &reply))
		fail_msg("%s", reply.text);
	assert_int_equal(head(m->f.store, "x", &reply), 0);
	assert_int_equal(put(m->f.store, "x", "2", STORE_IF_MATCH, reply.etag, NULL), 0);
	stop_process(m->server);
	/* A caller gets its answer in time, and the client ends. */
	struct store_call *call = begin_get(m->f.store, "x", fd);
	assert_true(store_wait(call, monotonic_ms() + SOON_MS, &reply));
	assert_int_equal(reply.err, -ETIMEDOUT);
	store_call_end(call);
	call = begin_get(m->f.store, "x", fd);
	store_close(m->f.store);
	store_call_end(call);
	/* Nor does one wait that begins. */
	m->f.store = fixture_store(&m->f);
	call = begin_get(m->f.store, "x", fd);
	assert_true(store_wait(call, monotonic_ms() + SOON_MS, &reply));
	assert_int_equal(reply.err, -ETIMEDOUT);
	store_call_end(call);
	assert_int_equal(kill(m->server, SIGCONT), 0);
	while (get(m->f.store, "x", 100, fd, NULL) != 0)
		;
	assert_true(file_is(fd, "2", 1));
	close(fd);
}

/* A call that is left is no failure of a server that answers others in time. */
TEST_OF(one_is_left, struct mounted, m)
{
	const _Atomic uint64_t *results = m->f.counters.requests[STORE_GET];
	begin(m);
	int fd = file_of("", 0);
	assert_int_equal(put(m->f.store, "x", "1", STORE_ALWAYS, NULL, NULL), 0);
	assert_int_equal(put(m->f.store, "hang", "1", STORE_ALWAYS, NULL, NULL), 0);
	/* On a busy machine the others may be late as well. */
	for (unsigned tries = 0; tries < 5 && !results[STORE_CANCELED]; tries++) {
		struct store_call *call = begin_get(m->f.store, "hang", fd);
		for (int64_t until = monotonic_ms() + 2 * STORE_OVERDUE_MS; monotonic_ms() < until;)
			assert_int_equal(head(m->f.store, "x", NULL), 0);
		store_call_end(call);
	}
	assert_int_equal(results[STORE_CANCELED], 1);
	close(fd);
}

/* The others go on, and the process is not killed for it. */
TEST_OF(one_hangs, struct mounted, m)
{
	struct store_reply reply;
	begin(m);
	int fd = file_of("", 0);
	assert_int_equal(put(m->f.store, "x", "1", STORE_ALWAYS, NULL, NULL), 0);
	assert_int_equal(put(m->f.store, "hang", "1", STORE_ALWAYS, NULL, NULL), 0);
	struct store_call *call = begin_get(m->f.store, "hang", fd);
	while (!store_wait(call, monotonic_ms(), &reply))
		assert_int_equal(head(m->f.store, "x", NULL), 0);
	assert_int_equal(reply.err, -ETIMEDOUT);
	store_call_end(call);
	int other = file_of("", 0);
	assert_int_equal(get(m->f.store, "x", 100, other, NULL), 0);
	assert_true(file_is(other, "1", 1));
	close(other);
	close(fd);
}

EACH_TEST(set_up, tear_down)

int main(int argc, char **argv)
{
	fixture_program = argc > 1 ? argv[1] : "gsym";
	return unit_run();
}

/*
 * A directory as a store. The steps that exclude other hosts are in directory_store.c.
 *
 * The time of the file server is what it gives to a file that is just written. It is asked for at most once a
 * minute, and kept as the difference to our monotonic clock.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/transfer/directory_store.h"
#include "store/transfer/engine.h"
#include "work/os/monotonic.h"
#include "store/client/store_directory.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"

enum {
	BLOCK = 256 << 10,
	CLOCK_MS = 60000,
	TOUCH_SECONDS = 24 * 3600,
};

struct engine {
	char *path;
	int root;
	dev_t dev; /* of the root */
	ino_t ino;
	/* Of threads that overwrite each other's, one is as good as the other. */
	_Atomic int64_t clock_offset; /* the server's time less monotonic_ms(), ms; 0: not known */
	_Atomic int64_t clock_asked;  /* monotonic_ms() */
};

/* ---- Errors, limits ---- */

/*
 * What an error of the file system means of a store. A full disk is a store that takes nothing, but may still
 * be read.
 */
static int store_errno(int err)
{
	switch (err) {
	case 0:
	case -ENOENT:
	case -EEXIST:
	case -EFBIG:
	case -EBADMSG:
	case -EACCES:
	case -ECANCELED:
	case -ETIMEDOUT:
	case -EOPNOTSUPP:
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE: return err;
	case -EPERM:
	case -EROFS:
	case -ENOSPC:
	case -EDQUOT: return -EACCES;
	case -ENOTDIR:
	case -EISDIR:
	case -ENOTEMPTY: return -EBADMSG;
	default: return -EREMOTEIO;
	}
}

struct directory_run {
	struct engine *engine;
	struct transfer *transfer;
	int64_t until; /* monotonic_ms() */
};

static struct directory_run run_of(struct engine *engine, struct transfer *transfer)
{
	return (struct directory_run){engine, transfer, monotonic_ms() + transfer->limits.whole};
}

/* Asked between blocks: 0, -ECANCELED, -ETIMEDOUT. */
static int check_limits(const struct directory_run *run)
{
	if (atomic_load(run->transfer->canceled))
		return -ECANCELED;
	return monotonic_ms() >= run->until ? -ETIMEDOUT : 0;
}

/* ---- The server's time ---- */

/* @fd: a file that was just written. The server sets the time, and says which. */
static int set_clock(struct engine *engine, int fd)
{
	struct stat st;
	if (futimens(fd, NULL) || fstat(fd, &st))
		return -errno;
	int64_t ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000, now = monotonic_ms();
	atomic_store(&engine->clock_offset, ms - now);
	atomic_store(&engine->clock_asked, now);
	return 0;
}

/* Where nothing may be written, there are no leases either, for which the time is. */
static void ask_clock(struct engine *engine)
{
	char temp[DIRECTORY_TEMP_SIZE];
	atomic_store(&engine->clock_asked, monotonic_ms());
	int fd = directory_make_temp(engine->root, temp);
	if (fd < 0)
		return;
	(void)set_clock(engine, fd);
	unlinkat(engine->root, temp, 0);
	close(fd);
}

/* Seconds; 0: not known. */
static int64_t server_now(const struct engine *engine)
{
	int64_t offset = atomic_load(&engine->clock_offset);
	return offset ? (offset + monotonic_ms()) / 1000 : 0;
}

static void update_clock(struct engine *engine)
{
	int64_t asked = atomic_load(&engine->clock_asked);
	if (!asked || monotonic_ms() - asked > CLOCK_MS)
		ask_clock(engine);
}

/* ---- GET and HEAD ---- */

static int describe(const struct directory_run *run, int fd, const struct stat *st)
{
	struct store_reply *reply = &run->transfer->reply;
	reply->size = (uint64_t)st->st_size;
	reply->modified = st->st_mtim.tv_sec;
	reply->now = server_now(run->engine);
	return directory_etag(fd, st, reply->etag);
}

/* A fault of the file that is written is one of this machine. */
static int copy(const struct directory_run *run, int from, int to, uint64_t size, bool *ret_is_local)
{
	char *block = malloc(BLOCK);
	int err = block ? 0 : -ENOMEM;
	for (uint64_t off = 0; off < size && !err;) {
		size_t n = size - off < BLOCK ? (size_t)(size - off) : BLOCK;
		err = check_limits(run);
		if (!err)
			err = read_all(from, block, n, (off_t)off);
		if (err)
			break;
		err = write_all(to, block, n, (off_t)off);
		*ret_is_local = err;
		off += n;
	}
	free(block);
	return err;
}

/* For administrators who delete what has not been used for long: the time of last use, once a day. */
static void touch(const struct directory_run *run, int fd, const struct stat *st)
{
	int64_t now = server_now(run->engine);
	if (now && now - st->st_atim.tv_sec > TOUCH_SECONDS)
		(void)futimens(fd,
			       (const struct timespec[]){{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}});
}

static int read_object(const struct directory_run *run, int fd, const struct stat *st)
{
	struct transfer *t = run->transfer;
	bool is_local = false;
	int err = describe(run, fd, st);
	if (err || t->operation == STORE_HEAD)
		return store_errno(err);
	if (st->st_mode & 022) {
		snprintf(t->reply.text, sizeof(t->reply.text), "%s: other users may write it", t->name);
		return -EBADMSG;
	}
	if (t->reply.size > t->size)
		return -EFBIG;
	t->begun(t);
	err = copy(run, fd, t->fd, t->reply.size, &is_local);
	if (!err)
		touch(run, fd, st);
	return is_local ? err : store_errno(err);
}

static int get(const struct directory_run *run, int dir, const char *base)
{
	struct stat st;
	int fd = directory_open_file(dir, base, &st);
	if (fd < 0)
		return store_errno(fd);
	update_clock(run->engine);
	int err = read_object(run, fd, &st);
	close(fd);
	return err;
}

/* ---- PUT ---- */

/* That it is on disk, or at the server, before others see it. */
static int write_temp(const struct directory_run *run, int fd)
{
	bool is_remote = false;
	int err = copy(run, run->transfer->fd, fd, run->transfer->size, &is_remote);
	if (err && !is_remote) /* shorter than the client said: no damage of an object */
		return err == -EBADMSG ? -EIO : err;
	if (err)
		return store_errno(err);
	err = set_clock(run->engine, fd);
	if (!err && fdatasync(fd))
		err = -errno;
	return store_errno(err);
}

/*
 * On file systems without links there is no exclusion. Over NFS the answer may be lost, and the request sent
 * again, and then the link is already there: but it is ours.
 */
static int publish_if_absent(int dir, const char *temp, const char *base, int fd)
{
	struct stat st;
	if (linkat(dir, temp, dir, base, 0) == 0)
		return 0;
	int err = -errno;
	if (err == -EEXIST && fstat(fd, &st) == 0 && st.st_nlink > 1)
		return 0;
	return err == -EPERM || err == -EMLINK || err == -ENOSYS ? -EOPNOTSUPP : err;
}

static int publish_if_match(const struct directory_run *run, int dir, const char *temp, const char *base)
{
	const char *etag = run->transfer->etag;
	int err = directory_claim(dir, base, etag, server_now(run->engine));
	if (err)
		return err;
	if (renameat(dir, temp, dir, base))
		err = -errno;
	directory_release(dir, base, etag);
	return err;
}

static int publish(const struct directory_run *run, int dir, const char *temp, const char *base, int fd)
{
	switch (run->transfer->condition) {
	case STORE_IF_ABSENT: return publish_if_absent(dir, temp, base, fd);
	case STORE_IF_MATCH: return publish_if_match(run, dir, temp, base);
	default: return renameat(dir, temp, dir, base) ? -errno : 0;
	}
}

/* What is said of the object is said before others see it: nothing can fail after that. */
static int describe_temp(const struct directory_run *run, int fd)
{
	struct stat st;
	return store_errno(fstat(fd, &st) ? -errno : describe(run, fd, &st));
}

static int put(const struct directory_run *run, int dir, const char *base)
{
	char temp[DIRECTORY_TEMP_SIZE];
	int fd = directory_make_temp(dir, temp);
	if (fd < 0)
		return store_errno(fd);
	int err = write_temp(run, fd);
	if (!err)
		err = describe_temp(run, fd);
	if (!err)
		err = store_errno(publish(run, dir, temp, base, fd));
	unlinkat(dir, temp, 0); /* it may have been renamed */
	close(fd);
	return err;
}

/* ---- The engine ---- */

static int run_on_object(const struct directory_run *run)
{
	const struct transfer *t = run->transfer;
	const char *base;
	int dir = directory_open(run->engine->root, t->name, t->operation == STORE_PUT, &base);
	if (dir < 0)
		return store_errno(dir);
	int err = t->operation == STORE_PUT      ? put(run, dir, base)
		  : t->operation != STORE_DELETE ? get(run, dir, base)
		  : unlinkat(dir, base, 0)       ? store_errno(-errno)
						 : 0;
	close(dir);
	return err;
}

/*
 * Whether the directory is still at its path. Another may have been mounted there since, or have taken its
 * place: this process may not open it. What else stat(2) may say, the transfer is to find out.
 */
static bool is_there(const struct engine *engine)
{
	struct stat st;
	if (stat(engine->path, &st))
		return errno != ENOENT && errno != ENOTDIR;
	return st.st_dev == engine->dev && st.st_ino == engine->ino;
}

static int run_transfer(struct engine *engine, struct transfer *transfer)
{
	struct directory_run run = run_of(engine, transfer);
	struct store_reply *reply = &transfer->reply;
	if (!is_there(engine)) {
		snprintf(reply->text, sizeof(reply->text), "the directory was replaced or removed");
		return reply->err = -ESTALE;
	}
	int err = run_on_object(&run);
	if (err && !*reply->text)
		snprintf(transfer->reply.text, sizeof(transfer->reply.text), "%s: %s", transfer->name,
			 strerror(-err));
	return transfer->reply.err = err;
}

static int probe_links(int root, const char *temp, int fd)
{
	char name[DIRECTORY_TEMP_SIZE + 8];
	snprintf(name, sizeof(name), "%s-link", temp);
	int err = publish_if_absent(root, temp, name, fd);
	if (err)
		return err == -EOPNOTSUPP ? 0 : err;
	int again = linkat(root, temp, root, name, 0) ? -errno : 0;
	unlinkat(root, name, 0);
	return again == -EEXIST ? 1 : again;
}

static int probe(struct engine *engine, struct transfer *transfer)
{
	char temp[DIRECTORY_TEMP_SIZE];
	(void)transfer;
	int fd = directory_make_temp(engine->root, temp);
	if (fd < 0)
		return store_errno(fd);
	(void)set_clock(engine, fd);
	int ret = probe_links(engine->root, temp, fd);
	unlinkat(engine->root, temp, 0);
	close(fd);
	return ret < 0 ? store_errno(ret) : ret;
}

static void close_engine(struct engine *engine)
{
	if (engine->root >= 0)
		close(engine->root);
	free(engine->path);
	free(engine);
}

static int open_root(struct engine *engine, const char *path, struct gsym_diag *diag)
{
	struct stat st;
	engine->path = strdup(path);
	engine->root = engine->path ? store_directory_open(path, diag) : -1;
	if (!engine->path)
		return diag_set(diag, -ENOMEM, "no memory");
	if (engine->root < 0)
		return engine->root;
	if (fstat(engine->root, &st))
		return diag_set(diag, -errno, "store '%s': cannot stat: %s", path, strerror(errno));
	engine->dev = st.st_dev;
	engine->ino = st.st_ino;
	return 0;
}

static int open_engine(const struct store_options *options, struct engine **ret, struct gsym_diag *diag)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	if (!engine)
		return diag_set(diag, -ENOMEM, "no memory");
	int err = open_root(engine, options->address, diag);
	if (err) {
		close_engine(engine);
		return err;
	}
	*ret = engine;
	return 0;
}

const struct engine_type directory_engine = {
	.name = "directory",
	.open = open_engine,
	.run = run_transfer,
	.probe = probe,
	.close = close_engine,
};

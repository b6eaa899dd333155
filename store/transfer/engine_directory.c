/*
 * A directory as a store, which may be on a file server.
 *
 * Objects are regular files at their names. What begins with ".tmp-" is none: it is being written, or
 * replaced. Files appear and disappear as a whole, by link(2), rename(2) and unlink(2) in one directory,
 * which exclude each other between hosts on every file system, NFS among them.
 *
 * An object is replaced on a condition in this way: it is renamed to a name of ours, which one host can do;
 * then it is compared, and the new one is linked to its place, or the old one back. In between it is not
 * there: another host may make it then, and is first. A host that ends in between leaves no object, which
 * costs a conversion.
 *
 * Nothing depends on clocks of hosts: the time is the file server's, which is what it gives to a file that
 * is just written, and is kept as the difference to our monotonic clock.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "store/client/store_address.h"
#include "store/transfer/engine.h"
#include "work/os/monotonic.h"
#include "gsym/base/diag.h"
#include "gsym/base/fault.h"
#include "gsym/base/file_io.h"

enum {
	BLOCK = 256 << 10,
	TOUCH_SECONDS = 24 * 3600,
	END_SIZE = 256, /* bytes of a file that its tag depends on: the trailer of an object */
	TEMP_SIZE = 32,
};

struct directory_store {
	char *path;
	int root;
	dev_t dev; /* of the root */
	ino_t ino;
	/* The server's time less monotonic_ms(), ms; 0: not known. Any thread's is as good as another's. */
	_Atomic int64_t clock_offset;
};

struct directory_run {
	struct directory_store *engine;
	struct transfer *transfer;
	int64_t until; /* monotonic_ms() */
};

/* ---- Errors, limits ---- */

/*
 * What an error of the file system means of a store. A full disk is a store that takes nothing, but may still
 * be read.
 */
static int store_errno(int err)
{
	if (!err || err == -EEXIST || err == -EOPNOTSUPP || err == -ECANCELED) /* answers */
		return err;
	switch (fault_of(err)) {
	case FAULT_LIMIT: return err;
	case FAULT_FILE: return -EBADMSG;
	case FAULT_ABSENT: return err == -ENOENT ? err : -EBADMSG;
	case FAULT_DENIED:
	case FAULT_ROOM: return -EACCES;
	default:
		return err == -ETIMEDOUT || err == -ENOMEM || err == -EMFILE || err == -ENFILE ? err
											       : -EREMOTEIO;
	}
}

/* The negative errno of a system call that failed. */
static int failed(void)
{
	return system_error(errno);
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
static int set_clock(struct directory_store *engine, int fd)
{
	struct stat st;
	if (futimens(fd, NULL) || fstat(fd, &st))
		return failed();
	int64_t ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
	atomic_store(&engine->clock_offset, ms - monotonic_ms());
	return 0;
}

/* Seconds; 0: not known, as by a host that has written nothing, and so has asked for no lease. */
static int64_t server_now(const struct directory_store *engine)
{
	int64_t offset = atomic_load(&engine->clock_offset);
	return offset ? (offset + monotonic_ms()) / 1000 : 0;
}

/* ---- Files ---- */

/* The file is opened for reading, not only as a path: NFS then asks the server for its attributes. */
static int open_component(int dir, const char *name, bool make)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir, name, flags);
	if (fd < 0 && errno == ENOENT && make && (mkdirat(dir, name, 0700) == 0 || errno == EEXIST))
		fd = openat(dir, name, flags);
	return fd < 0 ? failed() : fd;
}

/*
 * Opens the directory in which the object @name is, below @root. With @make it is made if it is not there.
 * Attributes are fetched anew, so that what other hosts made is seen. @ret_base: the rest of @name
 */
static int open_parent(int root, const char *name, bool make, const char **ret_base)
{
	char component[STORE_NAME_SIZE];
	const char *slash;
	int dir = open_component(root, ".", false);
	for (; dir >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
		snprintf(component, sizeof(component), "%.*s", (int)(slash - name), name);
		int next = open_component(dir, component, make);
		close(dir);
		dir = next;
	}
	*ret_base = name;
	return dir;
}

/* A regular file, for reading; -EBADMSG if it is anything else. Never waits for a writer of a pipe. */
static int open_regular(int dir, const char *base, struct stat *ret)
{
	int fd = openat(dir, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) /* ELOOP: a symbolic link; ENXIO: a socket */
		return errno == ELOOP || errno == ENXIO ? -EBADMSG : failed();
	int err = fstat(fd, ret) ? failed() : S_ISREG(ret->st_mode) ? 0 : -EBADMSG;
	if (err)
		close(fd);
	return err ? err : fd;
}

/* A name that no other host uses. */
static int temp_name(char ret[static TEMP_SIZE])
{
	uint64_t number;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return failed();
	snprintf(ret, TEMP_SIZE, ".tmp-%016" PRIx64, number);
	return 0;
}

static int make_temp(int dir, char ret[static TEMP_SIZE])
{
	int err = temp_name(ret);
	if (err)
		return err;
	int fd = openat(dir, ret, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? failed() : fd;
}

/*
 * The tag of the open file of @st: inode, size, time of writing, and a hash of its end. Not the time of the
 * inode's change: that changes with the number of links and with the time of last use, and so without a new
 * object. Inodes are used again, and times are coarse; but objects differ in their ends, which hold a hash,
 * and leases in who holds them.
 */
static int make_etag(int fd, const struct stat *st, char ret[static STORE_ETAG_SIZE])
{
	uint8_t end[END_SIZE];
	size_t n = st->st_size < END_SIZE ? (size_t)st->st_size : END_SIZE;
	int err = read_all(fd, end, n, st->st_size - (off_t)n);
	if (err)
		return err;
	snprintf(ret, STORE_ETAG_SIZE, "\"%" PRIx64 "-%" PRIx64 "-%" PRIx64 ".%09ld-%016" PRIx64 "\"",
		 (uint64_t)st->st_ino, (uint64_t)st->st_size, (uint64_t)st->st_mtim.tv_sec,
		 st->st_mtim.tv_nsec, (uint64_t)XXH3_64bits(end, n));
	return 0;
}

/* ---- GET and HEAD ---- */

/* A fault of the file that is written is one of this machine. */
static int copy(const struct directory_run *run, int from, int to, uint64_t size, bool *ret_is_writing)
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
		*ret_is_writing = err;
		off += n;
	}
	free(block);
	return err;
}

/*
 * For administrators who delete what has not been used for long: the time of last use, once a day, or more
 * often where the clock of the server is wrong by more than that.
 */
static void touch(int fd, const struct stat *st)
{
	if (llabs(time(NULL) - (long long)st->st_atim.tv_sec) > TOUCH_SECONDS)
		(void)futimens(fd,
			       (const struct timespec[]){{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}});
}

static int read_object(const struct directory_run *run, int fd, const struct stat *st)
{
	struct transfer *t = run->transfer;
	bool is_local = false;
	t->reply.size = (uint64_t)st->st_size;
	t->reply.modified = st->st_mtim.tv_sec;
	t->reply.now = server_now(run->engine);
	int err = make_etag(fd, st, t->reply.etag);
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
		touch(fd, st);
	return is_local ? err : store_errno(err);
}

static int get(const struct directory_run *run, int dir, const char *base)
{
	struct stat st;
	int fd = open_regular(dir, base, &st);
	if (fd < 0)
		return store_errno(fd);
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
	if (!err)
		err = set_clock(run->engine, fd);
	if (!err && fdatasync(fd))
		err = failed();
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
	return err == -EPERM || err == -EMLINK || err == -ENOSYS ? -EOPNOTSUPP : system_error(-err);
}

static int compare_etag(int dir, const char *base, const char *etag)
{
	char found[STORE_ETAG_SIZE];
	struct stat st;
	int fd = open_regular(dir, base, &st);
	if (fd < 0)
		return fd;
	int err = make_etag(fd, &st, found);
	close(fd);
	return err ? err : strcmp(found, etag) == 0 ? 0 : -EEXIST;
}

static int publish_if_match(int dir, const char *temp, const char *base, int fd, const char *etag)
{
	char away[TEMP_SIZE];
	int err = compare_etag(dir, base, etag); /* mostly this is the end of it already */
	if (!err)
		err = temp_name(away);
	if (err)
		return err;
	if (renameat(dir, base, dir, away))
		return failed();
	err = compare_etag(dir, away, etag);
	const bool is_it = !err;
	if (is_it)
		err = publish_if_absent(dir, temp, base, fd);
	/* Back with it, unless another host has made one meanwhile. */
	if (err && !(is_it && err == -EEXIST) && linkat(dir, away, dir, base, 0) && errno != EEXIST)
		(void)!renameat(dir, away, dir, base);
	unlinkat(dir, away, 0);
	return err;
}

static int publish(const struct directory_run *run, int dir, const char *temp, const char *base, int fd)
{
	switch (run->transfer->condition) {
	case STORE_IF_ABSENT: return publish_if_absent(dir, temp, base, fd);
	case STORE_IF_MATCH: return publish_if_match(dir, temp, base, fd, run->transfer->etag);
	default: return renameat(dir, temp, dir, base) ? failed() : 0;
	}
}

static int put(const struct directory_run *run, int dir, const char *base)
{
	char temp[TEMP_SIZE];
	int fd = make_temp(dir, temp);
	if (fd < 0)
		return store_errno(fd);
	int err = write_temp(run, fd);
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
	int dir = open_parent(run->engine->root, t->name, t->operation == STORE_PUT, &base);
	if (dir < 0)
		return store_errno(dir);
	int err = t->operation == STORE_PUT      ? put(run, dir, base)
		  : t->operation != STORE_DELETE ? get(run, dir, base)
		  : unlinkat(dir, base, 0)       ? store_errno(failed())
						 : 0;
	close(dir);
	return err;
}

/*
 * Whether the directory is still at its path. Another may have been mounted there since, or have taken its
 * place: this process may not open it. What else stat(2) may say, the transfer is to find out.
 */
static bool is_there(const struct directory_store *engine)
{
	struct stat st;
	if (stat(engine->path, &st))
		return errno != ENOENT && errno != ENOTDIR;
	return st.st_dev == engine->dev && st.st_ino == engine->ino;
}

static int run_transfer(void *engine, struct transfer *transfer)
{
	const struct directory_run run = {engine, transfer, monotonic_ms() + transfer->limits.whole};
	struct store_reply *reply = &transfer->reply;
	if (!is_there(engine)) {
		snprintf(reply->text, sizeof(reply->text), "the directory was replaced or removed");
		return reply->err = -ESTALE;
	}
	reply->err = run_on_object(&run);
	if (reply->err && !*reply->text)
		snprintf(reply->text, sizeof(reply->text), "%s: %s", transfer->name, strerror(-reply->err));
	return reply->err;
}

static void close_engine(void *opened)
{
	struct directory_store *engine = opened;
	if (engine->root >= 0)
		close(engine->root);
	free(engine->path);
	free(engine);
}

static int open_root(struct directory_store *engine, const char *path, struct gsym_diag *diag)
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

static int open_engine(const struct store_options *options, void **ret, struct gsym_diag *diag)
{
	struct directory_store *engine = calloc(1, sizeof(*engine));
	if (!engine)
		return diag_set(diag, -ENOMEM, "no memory");
	int err = open_root(engine, options->address, diag);
	if (err)
		close_engine(engine);
	else
		*ret = engine;
	return err;
}

const struct engine_type directory_engine = {
	.open = open_engine,
	.run = run_transfer,
	.close = close_engine,
};

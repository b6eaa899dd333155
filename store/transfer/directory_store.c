#include "store/transfer/directory_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <xxhash.h>

#include "gsym/base/file_io.h"

enum {
	TEMP_TRIES = 16,
	END_SIZE = 256, /* bytes of a file that its tag depends on: the trailer of an object */
	CLAIM_SECONDS = 60,
	CLAIM_SIZE = STORE_NAME_SIZE + 32,
};

/* ---- Names ---- */

/* The file is opened for reading, not only as a path: NFS then asks the server for its attributes. */
static int open_component(int dir, const char *name, bool make)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir, name, flags);
	if (fd < 0 && errno == ENOENT && make && (mkdirat(dir, name, 0700) == 0 || errno == EEXIST))
		fd = openat(dir, name, flags);
	return fd < 0 ? -errno : fd;
}

int directory_open(int root, const char *name, bool make, const char **ret_base)
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

int directory_open_file(int dir, const char *base, struct stat *ret)
{
	int fd = openat(dir, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) /* ELOOP: a symbolic link; ENXIO: a socket */
		return errno == ELOOP || errno == ENXIO ? -EBADMSG : -errno;
	int err = fstat(fd, ret) ? -errno : S_ISREG(ret->st_mode) ? 0 : -EBADMSG;
	if (err)
		close(fd);
	return err ? err : fd;
}

/* Unique among hosts. */
static int random_name(const char *prefix, char ret[static DIRECTORY_TEMP_SIZE])
{
	uint64_t number;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(ret, DIRECTORY_TEMP_SIZE, "%s%016" PRIx64, prefix, number);
	return 0;
}

int directory_make_temp(int dir, char ret[static DIRECTORY_TEMP_SIZE])
{
	for (int i = 0; i < TEMP_TRIES; i++) {
		int err = random_name(DIRECTORY_TEMP_PREFIX, ret);
		if (err)
			return err;
		int fd = openat(dir, ret, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? -errno : fd;
	}
	return -EEXIST;
}

/* ---- Tags ---- */

int directory_etag(int fd, const struct stat *st, char ret[static STORE_ETAG_SIZE])
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

/* ---- Claims ---- */

/*
 * Only one host at a time has the claim of a tag, and while it has it, no other replaces the
 * object on the condition of that tag. So of several that saw the same tag, the first replaces the object;
 * each of the others, when it gets the claim, sees another tag. What is done without a condition takes no
 * claim. A host that hangs for longer than a claim lasts, between its last look at the tag and its rename(2),
 * may replace what is newer: of leases this costs a conversion, and objects of a name are equally good.
 */
static void claim_name(const char *base, const char *etag, char ret[static CLAIM_SIZE])
{
	snprintf(ret, CLAIM_SIZE, ".claim-%016" PRIx64 "%016" PRIx64,
		 (uint64_t)XXH3_64bits(base, strlen(base)), (uint64_t)XXH3_64bits(etag, strlen(etag)));
}

/*
 * Removes the claim of a host that ended or hangs. It is renamed first, to a name of ours: if it is another
 * claim by then, since another host was faster, that is put back.
 */
static int break_claim(int dir, const char *claim, int64_t now)
{
	char away[DIRECTORY_TEMP_SIZE];
	struct stat before, after;
	if (fstatat(dir, claim, &before, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (!now || now - before.st_mtim.tv_sec <= CLAIM_SECONDS)
		return -EEXIST;
	int err = random_name(DIRECTORY_TEMP_PREFIX, away);
	if (err)
		return err;
	if (renameat(dir, claim, dir, away))
		return errno == ENOENT ? 0 : -errno;
	if (fstatat(dir, away, &after, AT_SYMLINK_NOFOLLOW))
		err = -errno;
	if (!err && (before.st_ino != after.st_ino || before.st_mtim.tv_nsec != after.st_mtim.tv_nsec)) {
		(void)!linkat(dir, away, dir, claim, 0);
		err = -EEXIST;
	}
	unlinkat(dir, away, 0);
	return err;
}

static int make_claim(int dir, const char *claim)
{
	int fd = openat(dir, claim, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int compare_etag(int dir, const char *base, const char *etag)
{
	char found[STORE_ETAG_SIZE];
	struct stat st;
	int fd = directory_open_file(dir, base, &st);
	if (fd < 0)
		return fd;
	int err = directory_etag(fd, &st, found);
	close(fd);
	return err ? err : strcmp(found, etag) == 0 ? 0 : -EEXIST;
}

int directory_claim(int dir, const char *base, const char *etag, int64_t now)
{
	char claim[CLAIM_SIZE];
	claim_name(base, etag, claim);
	int err = compare_etag(dir, base, etag); /* mostly this is the end of it already */
	if (err)
		return err;
	err = make_claim(dir, claim);
	if (err == -EEXIST) {
		err = break_claim(dir, claim, now);
		err = err ? err : make_claim(dir, claim);
	}
	if (err)
		return err;
	err = compare_etag(dir, base, etag);
	if (err)
		unlinkat(dir, claim, 0);
	return err;
}

void directory_release(int dir, const char *base, const char *etag)
{
	char claim[CLAIM_SIZE];
	claim_name(base, etag, claim);
	unlinkat(dir, claim, 0);
}

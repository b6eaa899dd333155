/* Walks the directory of a store. What is removed while that happens is left out. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/transfer/directory_store.h"
#include "gsym/base/file_io.h"

enum {
	DEPTH_MAX = 8,
	FLUSH_SIZE = 64 << 10,
	STALE_SECONDS = 24 * 3600,
	LINE_MAX_SIZE = STORE_NAME_SIZE + 64,
};

struct object_listing {
	const char *prefix;
	int64_t now;
	bool (*more)(void *);
	void *user;
	int fd;
	uint64_t size, most; /* written; limit */
	char text[FLUSH_SIZE];
	size_t n;
};

static int flush(struct object_listing *l)
{
	if (l->n > l->most - l->size)
		return -EFBIG;
	int err = write_all(l->fd, l->text, l->n, (off_t)l->size);
	l->size += l->n;
	l->n = 0;
	return err;
}

static int append_line(struct object_listing *l, const char *name, const struct stat *st)
{
	int err = l->n + LINE_MAX_SIZE > sizeof(l->text) ? flush(l) : 0;
	if (!err)
		l->n += (size_t)snprintf(l->text + l->n, LINE_MAX_SIZE, "%s\t%" PRIu64 "\t%" PRId64 "\n",
					 name, (uint64_t)st->st_size, (int64_t)st->st_mtim.tv_sec);
	return err;
}

/* Of a host that ended while it wrote. */
static void remove_stale(const struct object_listing *l, int dir, const char *name)
{
	struct stat st;
	if (strncmp(name, DIRECTORY_TEMP_PREFIX, strlen(DIRECTORY_TEMP_PREFIX)) != 0 || !l->now)
		return;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	    l->now - st.st_mtim.tv_sec > STALE_SECONDS)
		unlinkat(dir, name, 0);
}

/* Whether one of two texts begins with the other. */
static bool agree(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return !*a || !*b;
}

/* Of @error: it was removed, or is another file by now. What cannot be read does not go without notice. */
static int left_out(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP ? 0 : -error;
}

static int walk(struct object_listing *l, int dir, const char *path, unsigned depth);

static int take_entry(struct object_listing *l, int dir, const char *path, const char *name, unsigned depth)
{
	char whole[STORE_NAME_SIZE];
	struct stat st;
	if (*name == '.') {
		remove_stale(l, dir, name);
		return 0;
	}
	int n = snprintf(whole, sizeof(whole), "%s%s", path, name);
	if (n >= (int)sizeof(whole) - 1 ||
	    strspn(name, "0123456789abcdefghijklmnopqrstuvwxyz.-") != strlen(name))
		return 0; /* no object */
	if (!agree(whole, l->prefix))
		return 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return left_out(errno);
	if (S_ISREG(st.st_mode) && strlen(whole) >= strlen(l->prefix))
		return append_line(l, whole, &st);
	if (!S_ISDIR(st.st_mode) || depth == DEPTH_MAX)
		return 0;
	int sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	strcat(whole, "/");
	return sub < 0 ? left_out(errno) : walk(l, sub, whole, depth + 1);
}

/* Closes @dir. */
static int walk(struct object_listing *l, int dir, const char *path, unsigned depth)
{
	DIR *list = fdopendir(dir);
	struct dirent *entry;
	int err = list ? 0 : -errno;
	if (!list)
		close(dir);
	while (!err && (errno = 0, entry = readdir(list)))
		err = l->more(l->user) ? take_entry(l, dir, path, entry->d_name, depth) : -ECANCELED;
	if (!err && errno)
		err = -errno;
	if (list)
		closedir(list);
	return err;
}

int directory_list(int root, const char *prefix, int fd, uint64_t most, int64_t now, bool (*more)(void *),
		   void *user, uint64_t *ret_size)
{
	struct object_listing l = {
		.prefix = prefix, .now = now, .more = more, .user = user, .fd = fd, .most = most};
	int dir = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = dir < 0 ? -errno : walk(&l, dir, "", 0);
	if (!err)
		err = flush(&l);
	*ret_size = l.size;
	return err;
}

#include "fs/tree/attr.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void begin(struct stat *st, uint64_t ino, mode_t mode, uint64_t size)
{
	memset(st, 0, sizeof(*st));
	st->st_ino = ino;
	st->st_mode = mode;
	st->st_nlink = 1; /* for a directory: not counted */
	st->st_size = (off_t)size;
	st->st_blksize = 4096;
	st->st_blocks = (blkcnt_t)((size + 511) / 512);
}

static void set_time(struct stat *st, struct timespec when)
{
	st->st_atim = st->st_mtim = st->st_ctim = when;
}

/* Clients of NFS believe what they know of a directory as long as its times do not change. */
static struct timespec changed_at(const struct tree *tree)
{
	int64_t changed = atomic_load(&tree->images->changed);
	return changed ? (struct timespec){changed / 1000000000, changed % 1000000000} : tree->mounted_at;
}

void attr_own_dir(const struct tree *tree, uint64_t ino, struct stat *ret)
{
	bool lists_images = ino == INO_ROOT || ino == INO_BY_NAME;
	begin(ret, ino, S_IFDIR | 0555, 0);
	ret->st_uid = geteuid();
	ret->st_gid = getegid();
	set_time(ret, lists_images ? changed_at(tree) : tree->mounted_at);
}

void attr_link(const struct tree *tree, uint64_t ino, size_t size, struct stat *ret)
{
	begin(ret, ino, S_IFLNK | 0777, size);
	ret->st_uid = geteuid();
	ret->st_gid = getegid();
	set_time(ret, tree->mounted_at);
}

void attr_path_dir(const struct path_attr *attr, uint64_t ino, struct stat *ret)
{
	begin(ret, ino, S_IFDIR | attr->mode, 0);
	ret->st_uid = attr->uid;
	ret->st_gid = attr->gid;
	set_time(ret, attr->mtime);
}

void attr_by_path(const struct tree *tree, struct stat *ret)
{
	const struct path_attr closed = {geteuid(), getegid(), 0500, tree->mounted_at};
	const struct path_dir *source = path_tree_dir(&tree->images->paths, 0);
	attr_path_dir(source ? &source->attr : &closed, INO_BY_PATH, ret);
}

static void mirror(const struct source *s, struct stat *st)
{
	st->st_uid = s->uid;
	st->st_gid = s->gid;
	int64_t seconds = s->mtime_ns / 1000000000, rest = s->mtime_ns % 1000000000;
	if (rest < 0) {
		seconds--;
		rest += 1000000000;
	}
	set_time(st, (struct timespec){.tv_sec = seconds, .tv_nsec = rest});
}

void attr_image(const struct source *source, uint64_t ino, struct stat *ret)
{
	mode_t read = source->mode & 0444;
	begin(ret, ino, S_IFDIR | read | read >> 2, 0);
	mirror(source, ret);
}

void attr_image_file(const struct revision *rev, uint64_t ino, uint64_t size, struct stat *ret)
{
	begin(ret, ino, S_IFREG | (rev->source.mode & 0444), size);
	mirror(&rev->source, ret);
}

void attr_batch(const struct revision *rev, uint64_t ino, struct stat *ret)
{
	mode_t read = rev->source.mode & 0444;
	begin(ret, ino, S_IFREG | read | read >> 1, 0);
	mirror(&rev->source, ret);
}

static void own_file(const struct tree *tree, uint64_t ino, mode_t mode, uint64_t size, struct stat *ret)
{
	begin(ret, ino, S_IFREG | mode, size);
	ret->st_uid = geteuid();
	ret->st_gid = getegid();
	set_time(ret, tree->mounted_at);
}

void attr_root_batch(const struct tree *tree, uint64_t ino, struct stat *ret)
{
	own_file(tree, ino, 0666, 0, ret);
}

void attr_root_file(const struct tree *tree, uint64_t ino, uint64_t size, struct stat *ret)
{
	own_file(tree, ino, 0444, size, ret);
}

/* A client of NFS keeps what one user looked up for all its users: it has to know whose it is. */
void attr_snapshot(const struct tree *tree, uint64_t ino, uid_t reader, uint64_t size, struct stat *ret)
{
	own_file(tree, ino, reader == NODE_ALL_READ ? 0444 : 0400, size, ret);
	if (reader != NODE_ALL_READ)
		ret->st_uid = reader;
}

#include "work/os/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "work/os/acl.h"
#include "work/os/path_walk.h"
#include "gsym/base/fault.h"

enum {
	/* File systems that linux/magic.h leaves out. */
	CONFIGFS_MAGIC = 0x62656570,
	FUSECTL_MAGIC = 0x65735543,
	FUSE_MAGIC = 0x65735546,
	/*
	 * EAGAIN: a concurrent rename made the path walk unsafe, retry. A file with a lease returns EAGAIN,
	 * too, until the lease is broken, which may take a minute: hence a limit.
	 */
	AGAIN_MAX = 32,
};

/*
 * Linux before 5.6 has no openat2(2), and filters refuse it whose authors do not know it, or whose rules
 * cannot look into its argument: RestrictSUIDSGID= of systemd, containers. A file system that answers EPERM
 * does so again.
 */
static bool is_refusal(int err)
{
	return err == -ENOSYS || err == -EPERM;
}

static int openat2_beneath(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve,
	};
	long fd;
	int again = 0;
	do
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++again < AGAIN_MAX)));
	return fd < 0 ? system_error(errno) : (int)fd;
}

int beneath_refused(void)
{
	int fd = openat2_beneath(AT_FDCWD, ".", O_PATH, 0);
	if (fd < 0)
		return is_refusal(fd) ? fd : 0;
	close(fd);
	return 0;
}

static int open_resolved(int dir, const char *path, int flags, uint64_t resolve)
{
	int fd = openat2_beneath(dir, path, flags, resolve);
	return is_refusal(fd) ? path_walk(dir, path, flags, resolve) : fd;
}

int open_beneath(int dir, const char *path, int flags)
{
	return open_resolved(dir, path, flags, RESOLVE_NO_SYMLINKS);
}

int stat_link_beneath(int dir, const char *path, struct stat *ret)
{
	int fd = open_resolved(dir, path, O_PATH, RESOLVE_NO_XDEV);
	if (fd < 0)
		return fd;
	int err = fstat(fd, ret) ? system_error(errno) : 0;
	close(fd);
	return err;
}

static bool has_dotdot(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (at[2] == 0 || at[2] == '/'))
			return true;
	return false;
}

dev_t entry_device(int dir, const char *name)
{
	struct statx st;
	int flags = AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC | (*name ? 0 : AT_EMPTY_PATH);
	if (statx(dir, name, flags, STATX_TYPE, &st))
		return 0;
	return makedev(st.stx_dev_major, st.stx_dev_minor);
}

dev_t local_device(int dir)
{
	struct statfs fs;
	struct stat st;
	if (fstatfs(dir, &fs) || fstat(dir, &st))
		return 0;
	switch ((unsigned long)fs.f_type) {
	case EXT4_SUPER_MAGIC: /* and ext2, ext3 */
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case SQUASHFS_MAGIC: return st.st_dev;
	}
	return 0;
}

/* The type of the mount with the number @dev, if it is one of gsymfs. */
static const char *gsymfs_type(dev_t dev)
{
	char line[PATH_MAX + 256], number[32];
	bool found = false;
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	snprintf(number, sizeof(number), " %u:%u ", major(dev), minor(dev));
	while (mounts && !found && fgets(line, sizeof(line), mounts))
		found = strstr(line, number) && strstr(line, " - fuse.gsymfs ");
	if (mounts)
		fclose(mounts);
	return found ? "gsymfs" : NULL;
}

const char *pseudo_file_system(int dir)
{
	struct statfs fs;
	struct stat st;
	if (fstatfs(dir, &fs) || fstat(dir, &st))
		return NULL;
	switch ((unsigned long)fs.f_type) {
	case PROC_SUPER_MAGIC: return "proc";
	case SYSFS_MAGIC: return "sysfs";
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC: return "cgroup";
	case DEBUGFS_MAGIC: return "debugfs";
	case TRACEFS_MAGIC: return "tracefs";
	case SECURITYFS_MAGIC: return "securityfs";
	case PSTOREFS_MAGIC: return "pstore";
	case EFIVARFS_MAGIC: return "efivarfs";
	case BPF_FS_MAGIC: return "bpf";
	case DEVPTS_SUPER_MAGIC: return "devpts";
	case HUGETLBFS_MAGIC: return "hugetlbfs";
	case SELINUX_MAGIC: return "selinuxfs";
	case BINFMTFS_MAGIC: return "binfmt_misc";
	case CONFIGFS_MAGIC: return "configfs";
	case FUSECTL_MAGIC: return "fusectl";
	case FUSE_MAGIC: return gsymfs_type(st.st_dev);
	}
	return NULL;
}

static struct timespec time_of(struct statx_timestamp t)
{
	return (struct timespec){.tv_sec = t.tv_sec, .tv_nsec = t.tv_nsec};
}

static struct stat stat_of(const struct statx *st)
{
	return (struct stat){
		.st_dev = makedev(st->stx_dev_major, st->stx_dev_minor),
		.st_ino = st->stx_ino,
		.st_nlink = st->stx_nlink,
		.st_mode = st->stx_mode,
		.st_uid = st->stx_uid,
		.st_gid = st->stx_gid,
		.st_rdev = makedev(st->stx_rdev_major, st->stx_rdev_minor),
		.st_size = (off_t)st->stx_size,
		.st_blksize = st->stx_blksize,
		.st_blocks = (blkcnt_t)st->stx_blocks,
		.st_atim = time_of(st->stx_atime),
		.st_mtim = time_of(st->stx_mtime),
		.st_ctim = time_of(st->stx_ctime),
	};
}

int entry_stat(int dir, const char *name, dev_t avoid, dev_t local, struct stat *ret)
{
	const int flags = AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
	struct statx st;
	if (statx(dir, name, flags, STATX_BASIC_STATS, &st) == 0) {
		const struct stat cached = stat_of(&st);
		if (avoid && cached.st_dev == avoid)
			return -EXDEV;
		if (local && cached.st_dev == local &&
		    (st.stx_mask & STATX_BASIC_STATS) == STATX_BASIC_STATS) {
			*ret = cached;
			return 0;
		}
	}
	return fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) ? system_error(errno) : 0;
}

/*
 * Opens one component, which must not be on @avoid. Opening the root of a mount with O_PATH sends no request.
 */
static int open_component(int dir, const char *name, dev_t avoid)
{
	int fd = open_resolved(dir, name, O_PATH, RESOLVE_NO_SYMLINKS);
	if (fd >= 0 && avoid && entry_device(fd, "") == avoid) {
		close(fd);
		return -EXDEV;
	}
	return fd;
}

/* Opens component by component, so that no lookup is sent to @avoid. */
static int open_across(int dir, const char *path, dev_t avoid)
{
	char name[NAME_MAX + 1];
	int fd = open_resolved(dir, ".", O_PATH | O_DIRECTORY, 0);
	for (size_t n; fd >= 0 && *(path += strspn(path, "/")); path += n) {
		n = strcspn(path, "/");
		int parent = fd;
		if (n == 1 && *path == '.')
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		fd = n > NAME_MAX ? -ENAMETOOLONG : open_component(parent, name, avoid);
		close(parent);
	}
	return fd;
}

int open_path_inside(int dir, const char *path, dev_t avoid)
{
	int fd = open_resolved(dir, path, O_PATH, RESOLVE_NO_XDEV);
	return fd != -EXDEV || has_dotdot(path) ? fd : open_across(dir, path, avoid);
}

int open_dir_inside(int dir, const char *path, dev_t avoid)
{
	int fd = open_resolved(dir, path, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	return fd == -EXDEV ? open_across(dir, path, avoid) : fd;
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool dir_open_to_all(int dir)
{
	struct stat st = {0}, below = {0};
	int fd = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool open = fd >= 0, top = false;
	while (open && !top) {
		open = fstat(fd, &st) == 0 && (acl_reduced(fd, st.st_mode) & S_IXOTH);
		top = same_inode(&st, &below); /* ".." of the root is the root */
		below = st;
		int parent = open && !top ? openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
		open &= top || parent >= 0;
		close(fd);
		fd = parent;
	}
	if (fd >= 0)
		close(fd);
	return open;
}

bool file_open_to_all(int file, const struct stat *st, dev_t avoid)
{
	char link[32], path[PATH_MAX];
	struct stat found;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	ssize_t n = readlink(link, path, sizeof(path));
	if (n <= 0 || (size_t)n >= sizeof(path) || *path != '/')
		return false;
	path[n] = 0;
	char *name = strrchr(path, '/');
	*name++ = 0;
	int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int dir = top < 0 ? -1 : open_across(top, path, avoid);
	/* The path may have been renamed since readlink(2): the directory must contain this very file. */
	bool open = dir >= 0 && fstatat(dir, name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
		    same_inode(&found, st) && dir_open_to_all(dir);
	if (dir >= 0)
		close(dir);
	if (top >= 0)
		close(top);
	return open;
}

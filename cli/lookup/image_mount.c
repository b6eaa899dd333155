#include "cli/lookup/image_mount.h"

#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command/message.h"
#include "gsym/base/diag.h"

/* Reads the image base from the file "status" in the directory of an image: in GSYM it is known only if no
 * function precedes it. 0, also where there is none; or the error of reading it. */
static int read_base(const char *directory, uint64_t *ret)
{
	char path[PATH_MAX], line[1024];
	unsigned long long base = *ret;
	if (snprintf(path, sizeof(path), "%s/status", directory) >= (int)sizeof(path))
		return 0;
	FILE *status = fopen(path, "re");
	if (!status)
		return errno == ENOENT ? 0 : -errno;
	errno = 0;
	while (fgets(line, sizeof(line), status) && sscanf(line, "image_base\t0x%llx", &base) != 1)
		continue;
	int err = ferror(status) ? -(errno ? errno : EIO) : 0;
	fclose(status);
	*ret = err ? *ret : base;
	return err;
}

/* -ENOENT, too, where this user may not look. */
static int open_below(const char *mount, const char *id, struct gsym_reader **ret, uint64_t *ret_base)
{
	char directory[PATH_MAX - 16], path[PATH_MAX];
	if (snprintf(directory, sizeof(directory), "%s/%s", mount, id) >= (int)sizeof(directory))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/image.gsym", directory);
	struct gsym_reader *reader;
	int err = gsym_reader_open(path, &reader, NULL);
	if (!err) {
		err = read_base(directory, ret_base);
		if (err)
			gsym_reader_close(reader);
		else
			*ret = reader;
	}
	return err == -EACCES || err == -ENOTDIR ? -ENOENT : err;
}

/* "fuse.gsymfs", "gsymfs", or "fuse" of "gsymfs#SOURCE": the ways to name it that mount(8) knows. */
static bool is_gsymfs(const struct mntent *entry)
{
	return strcmp(entry->mnt_type, "fuse.gsymfs") == 0 || strcmp(entry->mnt_type, "gsymfs") == 0 ||
	       (strcmp(entry->mnt_type, "fuse") == 0 && strncmp(entry->mnt_fsname, "gsymfs#", 7) == 0);
}

static int open_in_fstab(const char *id, struct gsym_reader **ret, uint64_t *ret_base)
{
	char text[PATH_MAX + 1024];
	struct mntent entry;
	int err = -ENOENT, first_err = -ENOENT;
	FILE *table = setmntent("/etc/fstab", "re");
	if (!table)
		return err;
	while (err && getmntent_r(table, &entry, text, sizeof(text))) {
		if (!is_gsymfs(&entry))
			continue;
		err = open_below(entry.mnt_dir, id, ret, ret_base);
		first_err = first_err == -ENOENT ? err : first_err;
	}
	endmntent(table);
	return err ? first_err : 0;
}

int image_mount_open(const char *mount, const char *id, struct gsym_reader **ret, uint64_t *ret_base)
{
	mount = mount ? mount : getenv("GSYMFS_MOUNT");
	return mount && mount[0] ? open_below(mount, id, ret, ret_base) : open_in_fstab(id, ret, ret_base);
}

int image_mount_check(const char *mount)
{
	struct gsym_diag diag = {""};
	char path[PATH_MAX];
	struct stat st;
	if (stat(mount, &st))
		return fail(mount, -errno, NULL);
	if (!S_ISDIR(st.st_mode))
		return fail(mount, -ENOTDIR, NULL);
	if (snprintf(path, sizeof(path), "%s/q", mount) < (int)sizeof(path) && !stat(path, &st))
		return STATUS_OK;
	int err = errno == ENOENT ? diag_set(&diag, -ENOENT, "no gsymfs is mounted there (it has no file q)")
				  : -errno;
	return fail(mount, err, &diag);
}

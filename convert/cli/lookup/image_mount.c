#include "convert/cli/lookup/image_mount.h"

#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads the image base from the file "status" in the directory of an image: in GSYM it is known only if no
 * function precedes it. 0, also where there is none; or -ENOMEM. */
static int read_base(const char *directory, uint64_t *ret)
{
	char path[PATH_MAX], line[1024];
	unsigned long long base;
	if (snprintf(path, sizeof(path), "%s/status", directory) >= (int)sizeof(path))
		return 0;
	FILE *status = fopen(path, "re");
	if (!status)
		return errno == ENOMEM ? -ENOMEM : 0;
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "image_base\t0x%llx", &base) == 1)
			*ret = base;
	fclose(status);
	return 0;
}

static int open_below(const char *mount, const char *id, struct gsym_reader **ret, uint64_t *ret_base)
{
	char directory[PATH_MAX - 16], path[PATH_MAX];
	if (snprintf(directory, sizeof(directory), "%s/%s", mount, id) >= (int)sizeof(directory))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/image.gsym", directory);
	struct gsym_reader *reader;
	if (gsym_reader_open(path, &reader, NULL))
		return -ENOENT;
	int err = read_base(directory, ret_base);
	if (err)
		gsym_reader_close(reader);
	else
		*ret = reader;
	return err;
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
	int err = -ENOENT;
	FILE *table = setmntent("/etc/fstab", "re");
	if (!table)
		return err;
	while (err && getmntent_r(table, &entry, text, sizeof(text)))
		if (is_gsymfs(&entry))
			err = open_below(entry.mnt_dir, id, ret, ret_base);
	endmntent(table);
	return err;
}

int image_mount_open(const char *id, struct gsym_reader **ret, uint64_t *ret_base)
{
	const char *mount = getenv("GSYMFS_MOUNT");
	return mount && mount[0] ? open_below(mount, id, ret, ret_base) : open_in_fstab(id, ret, ret_base);
}

/*
 * image_mount.h - images in mounted gsymfs: where the user or the administrator has one, see
 * $GSYMFS_MOUNT and fstab(5).
 */
#ifndef CLI_LOOKUP_IMAGE_MOUNT_H
#define CLI_LOOKUP_IMAGE_MOUNT_H

#include "gsym/gsym.h"

/*
 * Opens the image @id in the mount @mount, or if that is NULL in $GSYMFS_MOUNT, or, if that is not set, in
 * the first of fstab that has it; the daemon converts it if necessary.
 *
 * @id:       canonical, see image_id.h; or another path to the directory of an image
 * @ret:      gsym_reader_close() frees it
 * @ret_base: the address of what is loaded first; unchanged where that is not known
 *
 * 0; -ENOENT if no mount has it, or lets this user read it; the error of reading it where that fails.
 */
int image_mount_open(const char *mount, const char *id, struct gsym_reader **ret, uint64_t *ret_base);

/* Checks by its file q that gsymfs is mounted there. Prints errors and returns an enum command_status. */
int image_mount_check(const char *mount);

#endif

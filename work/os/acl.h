/* acl.h - reduces POSIX access control lists to the permission bits of a mode. */
#ifndef WORK_OS_ACL_H
#define WORK_OS_ACL_H

#include <stddef.h>
#include <sys/types.h>

/*
 * @mode of an open file or directory (O_PATH suffices), without the permissions that its access control list
 * denies to any user or group it names: no user is granted more than by the list. Without a list, @mode
 * itself.
 */
mode_t acl_reduced(int fd, mode_t mode);

/* Likewise, for @list of @size bytes in the format of the attribute system.posix_acl_access. Pure. */
mode_t acl_reduced_by(const void *list, size_t size, mode_t mode);

#endif

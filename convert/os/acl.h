/* acl.h - access control lists of files, as far as the bits of a mode can tell of them. */
#ifndef CONVERT_OS_ACL_H
#define CONVERT_OS_ACL_H

#include <stddef.h>
#include <sys/types.h>

/*
 * @mode of an open file or directory, for its path alone is enough, without what its list keeps from anybody
 * it names: who is named loses nothing to somebody else, and nobody gains. Without a list @mode itself.
 */
mode_t acl_reduced(int fd, mode_t mode);

/* The same of a list of @size bytes in the format of the attribute system.posix_acl_access. Pure. */
mode_t acl_reduced_by(const void *list, size_t size, mode_t mode);

#endif

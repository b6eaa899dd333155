/*
 * Format of the attribute (linux/posix_acl_xattr.h), little endian: version, 32 bits; then entries of tag, 16
 * bits, permissions, 16 bits, and uid or gid, 32 bits. If there is a list, the group bits of the mode are its
 * mask.
 */
#include "work/os/acl.h"

#include <errno.h>
#include <stdio.h>
#include <sys/xattr.h>

#include "gsym/base/cursor.h"

enum {
	LIST_BYTES_MAX = 4096, /* longer lists are treated as granting nothing to group and others */
	VERSION = 2,
	/* Kinds of entries. */
	NAMED_USER = 0x02,
	OWNING_GROUP = 0x04,
	NAMED_GROUP = 0x08,
	MASK = 0x10,
};

mode_t acl_reduced_by(const void *list, size_t size, mode_t mode)
{
	struct cursor c = cursor_new(list, size, false);
	unsigned named = 7, mask = 7, group = 0;
	bool any = false;
	if (cursor_u32(&c) != VERSION)
		return mode & ~(mode_t)077;
	while (cursor_left(&c) >= 8) {
		unsigned kind = cursor_u16(&c), permissions = cursor_u16(&c) & 7;
		cursor_u32(&c);
		any |= kind == NAMED_USER || kind == NAMED_GROUP;
		if (kind == NAMED_USER || kind == NAMED_GROUP)
			named &= permissions;
		else if (kind == OWNING_GROUP)
			group = permissions;
		else if (kind == MASK)
			mask = permissions;
	}
	if (any)
		named &= mask;
	return (mode & ~(mode_t)077) | (group & mask & named) << 3 | (mode & named & 7);
}

mode_t acl_reduced(int fd, mode_t mode)
{
	char link[32], list[LIST_BYTES_MAX];
	if (!(mode & 077))
		return mode;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = getxattr(link, "system.posix_acl_access", list, sizeof(list));
	if (n < 0)
		return errno == ERANGE || errno == E2BIG ? mode & ~(mode_t)077 : mode;
	return acl_reduced_by(list, (size_t)n, mode);
}

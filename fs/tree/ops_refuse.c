/* Requests that would change something. Nothing in the tree can be changed. */
#include "fs/tree/ops.h"

#include <errno.h>

static void refuse(fuse_req_t req)
{
	fuse_reply_err(req, EROFS);
}

void refuse_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
	(void)parent, (void)name, (void)mode, (void)dev;
	refuse(req);
}

void refuse_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)parent, (void)name, (void)mode;
	refuse(req);
}

void refuse_remove(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent, (void)name;
	refuse(req);
}

void refuse_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target, (void)parent, (void)name;
	refuse(req);
}

void refuse_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *to_name,
		   unsigned int flags)
{
	(void)parent, (void)name, (void)to, (void)to_name, (void)flags;
	refuse(req);
}

void refuse_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	(void)ino, (void)parent, (void)name;
	refuse(req);
}

void refuse_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		   struct fuse_file_info *info)
{
	(void)parent, (void)name, (void)mode, (void)info;
	refuse(req);
}

void refuse_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		     int flags)
{
	(void)ino, (void)name, (void)value, (void)size, (void)flags;
	refuse(req);
}

void refuse_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	(void)ino, (void)name;
	refuse(req);
}

void refuse_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t size,
		      struct fuse_file_info *info)
{
	(void)ino, (void)mode, (void)off, (void)size, (void)info;
	refuse(req);
}

/* ops.h - the functions libfuse calls. */
#ifndef FS_TREE_OPS_H
#define FS_TREE_OPS_H

#include "fs/tree/tree.h"

/* The table for fuse_session_new(); its user data is a struct tree. */
extern const struct fuse_lowlevel_ops gsymfs_ops;

/* ops_dir.c */
void ops_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info);
void ops_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *info);
void ops_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *info);

/* ops_file.c */
void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info);
void ops_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *info);
void ops_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
	       struct fuse_file_info *info);
void ops_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int which, struct fuse_file_info *info);
void ops_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info);

/* ops_refuse.c: everything that would change something is EROFS */
void refuse_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev);
void refuse_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void refuse_remove(fuse_req_t req, fuse_ino_t parent, const char *name);
void refuse_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void refuse_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *to_name,
		   unsigned int flags);
void refuse_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void refuse_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		   struct fuse_file_info *info);
void refuse_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		     int flags);
void refuse_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);
void refuse_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t size,
		      struct fuse_file_info *info);

#endif

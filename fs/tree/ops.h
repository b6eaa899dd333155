/* ops.h - the functions libfuse calls. */
#ifndef FS_TREE_OPS_H
#define FS_TREE_OPS_H

#include "fs/tree/tree.h"

/* The table for fuse_session_new(); its user data is a struct tree. */
extern const struct fuse_lowlevel_ops gsymfs_ops;

/* tree_lookup.c: the attempt of a LOOKUP, see struct call */
int lookup_attempt(struct call *call);

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

#endif

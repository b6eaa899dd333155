/*
 * stream_size.h - has sendfile(2) and splice(2) of q and log fail instead of finding nothing.
 *
 * The kernel reads a file for them through the page cache, also one opened for direct I/O, and ends at the
 * size that it knows. That of q and log is 0, or where the last write ended, so it would copy nothing and
 * report success. Therefore the kernel is notified of a byte far beyond: it asks for the pages before, is
 * refused (stream_reads_page()), and programs fall back to read(2).
 *
 * A write with O_APPEND goes to that end, and reads continue after it: such a byte is announced there, too.
 *
 * stat(2) and lseek(2) still get 0, because a write and the notification invalidate the attributes, so that
 * the kernel asks for them. To answer lseek(2) it must believe in the 0; for stat(2) it passes the reply on,
 * and keeps its own size if it was notified meanwhile.
 */
#ifndef FS_TREE_STREAM_SIZE_H
#define FS_TREE_STREAM_SIZE_H

#include "fs/tree/tree.h"

/* Before a reply with @attr, whose size the kernel will believe. */
void stream_size_told(struct tree *tree, const struct stat *attr);

/* Before a reply to stat(2). */
void stream_size_shown(struct tree *tree, const struct stat *attr);

/*
 * Before the reply to a write to @file, which has the inode number @ino. @appended: where it ends, if the
 * kernel put it at the end of the file; else 0.
 */
void stream_size_written(struct tree *tree, uint64_t ino, struct open_file *file, uint64_t appended);

/*
 * Whether a READ fills a page of the page cache rather than the buffer of a process: the kernel then names no
 * owner of locks.
 */
static inline bool stream_reads_page(const struct fuse_file_info *info)
{
	return info->lock_owner == 0;
}

#endif

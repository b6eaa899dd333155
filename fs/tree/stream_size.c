/*
 * For the notification the kernel locks the page of the byte. A client can have the page locked by a READ
 * that no thread has received yet, so only a few FUSE threads may do this at a time, and the only thread of a
 * daemon with -s never: the others then answer the READ.
 */
#include "fs/tree/stream_size.h"

#include <fuse_lowlevel.h>

enum { EXTENDING_MAX = 2 };

/* Only q and log can be written to. */
static bool is_stream(const struct stat *attr)
{
	return S_ISREG(attr->st_mode) && attr->st_mode & 0222;
}

void stream_size_told(struct tree *tree, const struct stat *attr)
{
	if (is_stream(attr))
		atomic_fetch_add(&tree->sizes_told, 1);
}

/*
 * Where the byte is: each time further, since the kernel ignores other notifications, and after @end, now and
 * later. An odd offset is not the first of a page, which the kernel would take for known.
 */
static uint64_t next_offset(struct tree *tree, uint64_t end)
{
	uint64_t past = atomic_load(&tree->extensions), next;
	do {
		next = (STREAM_OFFSET_MAX + past) | 1;
		if (next <= end)
			next = (end + 1) | 1;
	} while (!atomic_compare_exchange_weak(&tree->extensions, &past, next + 1 - STREAM_OFFSET_MAX));
	return next;
}

/* Has the kernel take the file for longer than @offset, until it asks for its attributes again. */
static int notify_size(const struct tree *tree, uint64_t ino, uint64_t offset)
{
	char byte = 0;
	struct fuse_bufvec bytes = FUSE_BUFVEC_INIT(sizeof(byte));
	bytes.buf[0].mem = &byte;
	return fuse_lowlevel_notify_store(tree->session, ino, (off_t)offset, &bytes, 0);
}

/* False when it was not done. */
static bool extend(struct tree *tree, uint64_t ino, uint64_t end)
{
	if (tree->single_thread)
		return false;
	bool done = atomic_fetch_add(&tree->extending, 1) < EXTENDING_MAX &&
		    notify_size(tree, ino, next_offset(tree, end)) == 0;
	atomic_fetch_sub(&tree->extending, 1);
	return done;
}

void stream_size_shown(struct tree *tree, const struct stat *attr)
{
	if (is_stream(attr) && !extend(tree, attr->st_ino, 0))
		stream_size_told(tree, attr);
}

void stream_size_written(struct tree *tree, uint64_t ino, struct open_file *file, uint64_t appended)
{
	/* One more than what was told when the kernel was notified last: 0 is never. */
	uint64_t now = atomic_load(&tree->sizes_told) + 1;
	bool known = atomic_load_explicit(&file->extended, memory_order_relaxed) == now;
	if ((!known || appended) && extend(tree, ino, appended))
		atomic_store_explicit(&file->extended, now, memory_order_relaxed);
}

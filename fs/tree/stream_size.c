/*
 * For the notification the kernel locks the page of the byte. A client can have the page locked by a READ
 * that no thread has received yet, so only a few FUSE threads may do this at a time, and the only thread of a
 * daemon with -s never: the others then answer the READ.
 */
#include "fs/tree/stream_size.h"

#include "fs/images/images.h"
#include "fs/sys/notify.h"

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

/* Each time by one byte more, since the kernel ignores other notifications. False when it was not done. */
static bool extend(struct tree *tree, uint64_t ino)
{
	if (tree->single_thread)
		return false;
	bool done = atomic_fetch_add(&tree->extending, 1) < EXTENDING_MAX &&
		    notify_extend(tree->images->notify, ino,
				  STREAM_OFFSET_MAX + atomic_fetch_add(&tree->extensions, 1)) == 0;
	atomic_fetch_sub(&tree->extending, 1);
	return done;
}

void stream_size_shown(struct tree *tree, const struct stat *attr)
{
	if (is_stream(attr) && !extend(tree, attr->st_ino))
		stream_size_told(tree, attr);
}

void stream_size_written(struct tree *tree, uint64_t ino, struct open_file *file)
{
	/* One more than what was told when the kernel was notified last: 0 is never. */
	uint64_t now = atomic_load(&tree->sizes_told) + 1;
	if (atomic_load_explicit(&file->extended, memory_order_relaxed) != now && extend(tree, ino))
		atomic_store_explicit(&file->extended, now, memory_order_relaxed);
}

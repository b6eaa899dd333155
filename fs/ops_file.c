/*
 * Opening and reading files.
 *
 * An open image.gsym, status or info.json holds its content as it was when it was opened. Address files need nothing:
 * while one is open the kernel does not forget it.
 */
#include "ops.h"

#include <errno.h>
#include <fcntl.h>

#include "answer.h"
#include "attr.h"
#include "call.h"
#include "revision.h"

static struct open_file *file_of(const struct fuse_file_info *info)
{
	return (struct open_file *)(uintptr_t)info->fh;
}

static bool is_file(fuse_ino_t ino, enum image_file file)
{
	return ino_kind(ino) == NODE_IMAGE_FILE && ino_b(ino) == file;
}

/* ---- Open ---- */

/* Replies with an open file that holds @handle or @content, which it takes over. */
static int reply_open(struct call *call, struct handle *handle, struct content *content)
{
	struct open_file *file = open_file_new(&call->fs->open_files, handle, content);
	if (!file)
		return -ENOMEM;
	call->info.fh = (uintptr_t)file;
	if (fuse_reply_open(call->req, &call->info) == -ENOENT)
		open_file_put(file); /* interrupted: there will be no release */
	return 0;
}

static int open_gsym(struct call *call, struct revision *rev)
{
	struct handle *handle;
	int err = revision_use(&call->fs->images, rev, &handle, &call->wait);
	if (err)
		return err;
	call->info.keep_cache = 1;
	return reply_open(call, handle, NULL);
}

static int open_status(struct call *call, struct revision *rev)
{
	struct content *status = status_make(call->fs, rev, is_file(call->ino, IMAGE_INFO));
	if (!status)
		return -ENOMEM;
	call->info.direct_io = 1; /* its size is different at every look */
	return reply_open(call, NULL, status);
}

static int open_attempt(struct call *call)
{
	struct revision *rev;
	if ((call->info.flags & O_ACCMODE) != O_RDONLY || call->info.flags & O_TRUNC)
		return -EROFS;
	if (ino_kind(call->ino) == NODE_ADDRESS) {
		call->info.keep_cache = 1;
		fuse_reply_open(call->req, &call->info);
		return 0;
	}
	if (ino_kind(call->ino) != NODE_IMAGE_FILE)
		return -EISDIR;
	rev = images_revision(&call->fs->images, ino_a(call->ino));
	if (!rev)
		return -ESTALE;
	return is_file(call->ino, IMAGE_GSYM) ? open_gsym(call, rev) : open_status(call, rev);
}

void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct call call = {
		.fs = fuse_req_userdata(req),
		.req = req,
		.attempt = open_attempt,
		.ino = ino,
		.info = *info,
	};
	call_run(&call);
}

void ops_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	(void)ino;
	if (info->fh)
		open_file_put(file_of(info));
	fuse_reply_err(req, 0);
}

/* ---- Read ---- */

/* Replies with what lies in the window of @size bytes at @off: 0, or -EFAULT when @data cannot be read. */
static int reply_window(fuse_req_t req, const void *data, size_t length, size_t size, off_t off)
{
	size_t start = off < 0 || (uint64_t)off > length ? length : (size_t)off;
	size_t n = length - start < size ? length - start : size;
	return fuse_reply_buf(req, (const char *)data + start, n);
}

/* The content of an address file that was dropped to save memory, made again. */
static int remake(struct call *call, const struct node *node, struct content **ret)
{
	struct handle *handle;
	const struct request request = {
		.kind = REQUEST_ADDRESS,
		.format = (enum request_format)node->format,
		.raw = node->raw,
		.address = node->address,
		.context = node->context,
	};
	int err = revision_use(&call->fs->images, node->revision, &handle, &call->wait);
	if (err)
		return err;
	err = answer_make(call->fs, node->revision, handle, &request, ret);
	handle_put(handle);
	return err;
}

static int read_address(struct call *call)
{
	struct node node;
	if (!nodes_get(&call->fs->nodes, call->ino, &node))
		return -ESTALE;
	if (node.is_directory)
		return -EISDIR;
	int err = node.content ? 0 : remake(call, &node, &node.content);
	if (err)
		return err == -ENOENT ? -EIO : err;
	reply_window(call->req, node.content->data, node.content->size, call->size, call->off);
	content_put(node.content);
	return 0;
}

/* The cache file behind @handle was cut short: unless another is in use already, it is made again. */
static void drop_lost(struct gsymfs *fs, struct revision *rev, const struct handle *handle)
{
	static const char reason[] = "the converted file in the cache was cut short";
	pthread_mutex_lock(&fs->images.lock);
	bool in_use = rev->handle == handle;
	pthread_mutex_unlock(&fs->images.lock);
	if (!in_use)
		return;
	log_warning(&fs->log, "'%s': %s", rev->source.path, reason);
	cache_forget(&fs->cache, &rev->key);
	revision_complain(&fs->images, rev, reason, true);
}

/* Straight from the mapping: if the file was cut short, the kernel meets the fault, not we. */
static void read_gsym(struct call *call, const struct handle *handle)
{
	struct gsymfs *fs = call->fs;
	struct revision *rev = images_revision(&fs->images, ino_a(call->ino));
	int err = reply_window(call->req, handle->gsym.data, handle->gsym.size, call->size, call->off);
	if (err == -EFAULT && rev)
		drop_lost(fs, rev, handle);
}

static int read_open_file(struct call *call)
{
	struct open_file *file = open_file_get(file_of(&call->info));
	if (file->content)
		reply_window(call->req, file->content->data, file->content->size, call->size, call->off);
	else
		read_gsym(call, file->handle);
	open_file_put(file);
	return 0;
}

static int read_attempt(struct call *call)
{
	if (ino_kind(call->ino) == NODE_ADDRESS)
		return read_address(call);
	return call->info.fh ? read_open_file(call) : -EISDIR;
}

void ops_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *info)
{
	struct call call = {
		.fs = fuse_req_userdata(req),
		.req = req,
		.attempt = read_attempt,
		.ino = ino,
		.size = size,
		.off = off,
		.info = *info,
	};
	call_run(&call);
}

/*
 * Opening and reading files.
 *
 * An open file holds what its content lives in: an open image.gsym the handle of the converted file, an open
 * status the text as it was when it was opened. Address files need nothing: while one is open the kernel does
 * not forget it.
 */
#include "ops.h"

#include <errno.h>
#include <fcntl.h>

#include "answer.h"
#include "attr.h"
#include "call.h"
#include "revision.h"

static struct handle *open_handle(const struct fuse_file_info *info)
{
	return (struct handle *)(uintptr_t)info->fh;
}

static struct content *open_content(const struct fuse_file_info *info)
{
	return (struct content *)(uintptr_t)info->fh;
}

static bool is_file(fuse_ino_t ino, enum image_file file)
{
	return ino_kind(ino) == NODE_IMAGE_FILE && ino_b(ino) == file;
}

/* ---- Open ---- */

static int open_gsym(struct call *call, struct revision *rev)
{
	struct handle *handle;
	int err = revision_use(&call->fs->images, rev, &handle, &call->wait);
	if (err)
		return err;
	call->info.fh = (uintptr_t)handle;
	call->info.keep_cache = 1;
	if (fuse_reply_open(call->req, &call->info) == -ENOENT)
		handle_put(handle); /* interrupted: there will be no release */
	return 0;
}

static int open_status(struct call *call, struct revision *rev)
{
	struct content *status = status_make(call->fs, rev);
	if (!status)
		return -ENOMEM;
	call->info.fh = (uintptr_t)status;
	call->info.direct_io = 1; /* its size is different at every look */
	if (fuse_reply_open(call->req, &call->info) == -ENOENT)
		content_put(status);
	return 0;
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
	if (is_file(ino, IMAGE_GSYM))
		handle_put(open_handle(info));
	else if (is_file(ino, IMAGE_STATUS))
		content_put(open_content(info));
	fuse_reply_err(req, 0);
}

/* ---- Read ---- */

/* Replies with what lies in the window of @size bytes at @off. */
static void reply_window(fuse_req_t req, const void *data, size_t length, size_t size, off_t off)
{
	size_t start = off < 0 || (uint64_t)off > length ? length : (size_t)off;
	size_t n = length - start < size ? length - start : size;
	fuse_reply_buf(req, (const char *)data + start, n);
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
	int err = node.content ? 0 : remake(call, &node, &node.content);
	if (err)
		return err == -ENOENT ? -EIO : err;
	reply_window(call->req, node.content->data, node.content->size, call->size, call->off);
	content_put(node.content);
	return 0;
}

static int read_attempt(struct call *call)
{
	if (ino_kind(call->ino) == NODE_ADDRESS)
		return read_address(call);
	if (is_file(call->ino, IMAGE_GSYM)) {
		/*
		 * Straight from the mapping: if the file was cut short, the kernel meets the fault, not we.
		 *
		 */
		const struct span *gsym = &open_handle(&call->info)->gsym;
		reply_window(call->req, gsym->data, gsym->size, call->size, call->off);
		return 0;
	}
	if (!is_file(call->ino, IMAGE_STATUS))
		return -EISDIR;
	const struct content *status = open_content(&call->info);
	reply_window(call->req, status->data, status->size, call->size, call->off);
	return 0;
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

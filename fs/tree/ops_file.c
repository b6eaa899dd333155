/*
 * Opening and reading files.
 *
 * An open image.gsym, or a file made for each open (open_reply_content()), keeps its content as it was when
 * it was opened; an open q or log keeps what was written to it. Address files need nothing: while one is open
 * the kernel does not forget it.
 */
#include "fs/tree/ops.h"

#include <errno.h>
#include <fcntl.h>

#include "fs/answer/tsv_file.h"
#include "fs/images/revision.h"
#include "fs/tree/fixed.h"
#include "fs/tree/tree.h"
#include "fs/tree/stream_size.h"

static struct open_file *file_of(const struct fuse_file_info *info)
{
	return (struct open_file *)(uintptr_t)info->fh;
}

/* ---- Open ---- */

static struct revision *unless_expired(struct revision *rev)
{
	return rev && !revision_is_expired(rev) ? rev : NULL;
}

/*
 * The q that has the number @ino, if it is one: what its lines mean, and of what image; NULL for the root's,
 * and for that of a revision that is gone.
 */
static bool find_batch(struct tree *tree, fuse_ino_t ino, struct request *ret, struct revision **ret_rev)
{
	struct node node;
	*ret_rev = NULL;
	if (ino_is_root_batch(ino)) {
		*ret = batch_of((uint32_t)ino - INO_BATCH);
		return true;
	}
	if (ino_kind(ino) == NODE_BATCH) {
		*ret = batch_of(ino_code(ino));
		*ret_rev = unless_expired(images_revision(tree->images, ino));
		return true;
	}
	if (ino_kind(ino) != NODE_ADDRESS || !nodes_get(&tree->nodes, ino, &node))
		return false;
	content_put(node.content);
	*ret = node_request(&node);
	*ret_rev = node.is == NODE_IS_BATCH ? unless_expired(node.revision) : NULL;
	return node.is == NODE_IS_BATCH;
}

/* What was replaced is gone, and so is a snapshot without content: the kernel looks its path up again. */
static int open_node(struct call *call)
{
	struct node node;
	if (!nodes_get(&tree_of(call)->nodes, call->ino, &node))
		return -ESTALE;
	if (node.is == NODE_IS_SNAPSHOT)
		return node.content ? open_reply_kept(call, (struct open_file){.content = node.content})
				    : -ESTALE;
	/* Content that was dropped can only be made again from the present version. */
	bool gone = node.content ? revision_is_expired(node.revision) : revision_is_stale(node.revision);
	content_put(node.content);
	return gone ? -ESTALE : open_reply_stateless(call);
}

static int open_attempt(struct call *call)
{
	struct revision *rev;
	struct request request;
	if (call->info.flags & O_TRUNC) /* the kernel sets the size to 0 itself */
		atomic_fetch_add(&tree_of(call)->sizes_told, 1);
	bool is_batch = find_batch(tree_of(call), call->ino, &request, &rev);
	if (is_batch && !rev && !ino_is_root_batch(call->ino))
		return -ESTALE;
	if (is_batch && (call->info.flags & O_ACCMODE) == O_RDONLY)
		return open_reply_usage(call);
	if (is_batch)
		return open_reply_stream(call, tree_of(call)->content->batch(tree_of(call)->answers,
									     rev ? rev->image : NULL,
									     &request, caller_of(call->req)));
	if (ino_kind(call->ino) == NODE_FIXED || ino_kind(call->ino) == NODE_IMAGE_FILE)
		return fixed_open(call, call->ino);
	if ((call->info.flags & O_ACCMODE) != O_RDONLY || call->info.flags & O_TRUNC)
		return -EROFS;
	return ino_kind(call->ino) == NODE_ADDRESS ? open_node(call) : -EISDIR;
}

void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct tree *tree = fuse_req_userdata(req);
	struct call call = {
		.runners = tree->runners,
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
	const struct request request = node_request(node);
	int err = revision_use(tree_of(call)->images, node->revision, &handle, &call->wait);
	if (err)
		return err;
	err = tree_of(call)->content->answer(tree_of(call)->answers, node->revision, handle, &request,
					     &call->wait, ret, NULL);
	handle_put(handle);
	return err;
}

static int read_address(struct call *call)
{
	struct node node;
	if (!nodes_get(&tree_of(call)->nodes, call->ino, &node))
		return -ESTALE;
	if (node.is != NODE_IS_ADDRESS)
		return -EISDIR;
	int err = node.content ? 0 : remake(call, &node, &node.content);
	if (err)
		return err == -ENOENT ? -EIO : err;
	reply_window(call->req, node.content->data, node.content->size, call->size, call->off);
	content_put(node.content);
	return 0;
}

/* Straight from the mapping: if the file was cut short, the kernel meets the fault, not we. */
static void read_gsym(struct call *call, const struct handle *handle)
{
	struct tree *tree = tree_of(call);
	struct revision *rev = images_revision(tree->images, call->ino);
	int err = handle_check(handle);
	if (err)
		fuse_reply_err(call->req, EIO);
	else
		err = reply_window(call->req, handle->gsym.data, handle->gsym.size, call->size, call->off);
	if (err == -EFAULT && rev)
		answers_report_corrupt(tree->answers, rev, handle, err, NULL);
}

static int read_open_file(struct call *call)
{
	struct open_file *file = open_file_get(file_of(&call->info));
	int err = 0;
	if (file->direct && stream_reads_page(&call->info))
		err = -EINVAL; /* what it holds belongs to this open file, the page to all */
	else if (file->stream)
		err = stream_read(file->stream, call);
	else if (file->table)
		err = tsv_file_read(file->table, call);
	else if (file->content)
		reply_window(call->req, file->content->data, file->content->size, call->size, call->off);
	else
		read_gsym(call, file->handle);
	open_file_put(file);
	return err;
}

static int read_attempt(struct call *call)
{
	if (call->info.fh)
		return read_open_file(call);
	return ino_kind(call->ino) == NODE_ADDRESS ? read_address(call) : -EISDIR;
}

void ops_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *info)
{
	struct tree *tree = fuse_req_userdata(req);
	struct call call = {
		.runners = tree->runners,
		.req = req,
		.attempt = read_attempt,
		.ino = ino,
		.size = size,
		.off = off,
		.info = *info,
	};
	call_run(&call);
}

/* ---- Write ---- */

void ops_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
	       struct fuse_file_info *info)
{
	struct open_file *file = info->fh ? open_file_get(file_of(info)) : NULL;
	int err = -EROFS;
	if (file && file->stream)
		err = off < 0 ? -EINVAL
			      : stream_write(file->stream, (uint64_t)off, info->flags & O_APPEND, data, size);
	if (!err)
		stream_size_written(fuse_req_userdata(req), ino, file,
				    info->flags & O_APPEND ? (uint64_t)off + size : 0);
	if (err)
		fuse_reply_err(req, -err);
	else
		fuse_reply_write(req, size);
	if (file)
		open_file_put(file);
}

/* A shell that opens a file to write to it wants it empty first: q and log always are. */
void ops_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int which, struct fuse_file_info *info)
{
	struct tree *tree = fuse_req_userdata(req);
	struct revision *rev;
	struct request request;
	struct stat st;
	double timeout;
	(void)attr, (void)info;
	int err = -EROFS;
	if (which == FUSE_SET_ATTR_SIZE &&
	    (fixed_is_stream(tree, ino) || find_batch(tree, ino, &request, &rev)))
		err = node_attr(tree, ino, &st, &timeout);
	if (err) {
		fuse_reply_err(req, -err);
		return;
	}
	stream_size_told(tree, &st);
	fuse_reply_attr(req, &st, timeout);
}

/*
 * The FUSE operations. Callbacks are thin: they find the tree of the request, call one function and reply
 * once.
 *
 * Left out on purpose, because without a function libfuse answers ENOSYS and the kernel never asks again:
 * flush (it would come with every close), getxattr and listxattr (with every file of ls -l).
 */
#include "fs/tree/ops.h"

#include <errno.h>
#include <unistd.h>

#include "fs/images/inode_numbers.h"
#include "fs/sys/request_loop.h"
#include "fs/tree/tree.h"
#include "fs/tree/stream_size.h"

static void ops_init(void *user, struct fuse_conn_info *conn)
{
	struct tree *tree = user;
	/*
	 * Without parallel lookups one parked lookup would lock its directory (see fuse_threads.h). Listings
	 * carry attributes always, so that "ls -l" over many images costs no lookups.
	 */
	conn->want |=
		conn->capable & (FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_READDIRPLUS | FUSE_CAP_EXPORT_SUPPORT);
	conn->want &= ~(unsigned)FUSE_CAP_READDIRPLUS_AUTO;
	/* Content never changes under an inode number: nothing to look for at every read. */
	conn->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
	if (conn->max_write > request_data_max())
		conn->max_write = (unsigned)request_data_max();
	atomic_store(&tree->parallel.ready, true);
	if (tree->max_read)
		conn->max_read = tree->max_read; /* libfuse insists that both places say the same */
}

static void ops_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct tree *tree = fuse_req_userdata(req);
	struct call call = {
		.runners = tree->runners,
		.req = req,
		.attempt = lookup_attempt,
		.ino = parent,
		.name = name,
	};
	call_run(&call);
}

static void forget(struct tree *tree, fuse_ino_t ino, uint64_t count)
{
	if (ino_kind(ino) == NODE_ADDRESS)
		nodes_forget(&tree->nodes, ino, count);
}

static void ops_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	forget(fuse_req_userdata(req), ino, count);
	fuse_reply_none(req);
}

static void ops_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	struct tree *tree = fuse_req_userdata(req);
	for (size_t i = 0; i < count; i++)
		forget(tree, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

static void ops_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct stat st;
	double timeout;
	struct tree *tree = fuse_req_userdata(req);
	int err = node_attr(tree, ino, &st, &timeout);
	if (err) {
		fuse_reply_err(req, -err);
		return;
	}
	if (info) /* lseek(2) */
		stream_size_told(tree, &st);
	else
		stream_size_shown(tree, &st);
	fuse_reply_attr(req, &st, timeout);
}

/*
 * For access(2) and chdir(2). With default_permissions the kernel decides by itself; without, only the user
 * of the mount gets here, who may do all that is possible.
 */
static void ops_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	struct stat st;
	double timeout;
	int err = node_attr(fuse_req_userdata(req), ino, &st, &timeout);
	if (!err && mask & W_OK && !(st.st_mode & 0222))
		err = -EROFS;
	if (!err && mask & X_OK && S_ISREG(st.st_mode))
		err = -EACCES;
	fuse_reply_err(req, -err);
}

static void ops_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct tree *tree = fuse_req_userdata(req);
	char text[LINK_TEXT_SIZE];
	mutex_lock(&tree->images->lock);
	int size = link_text(tree->images, ino, text);
	mutex_unlock(&tree->images->lock);
	if (size < 0)
		fuse_reply_err(req, -size);
	else
		fuse_reply_readlink(req, text);
}

/* ---- What would change something ---- */

static void refuse(fuse_req_t req)
{
	fuse_reply_err(req, EROFS);
}

static void refuse_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
	(void)parent, (void)name, (void)mode, (void)dev;
	refuse(req);
}

static void refuse_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)parent, (void)name, (void)mode;
	refuse(req);
}

static void refuse_remove(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent, (void)name;
	refuse(req);
}

static void refuse_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target, (void)parent, (void)name;
	refuse(req);
}

static void refuse_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
			  const char *to_name, unsigned int flags)
{
	(void)parent, (void)name, (void)to, (void)to_name, (void)flags;
	refuse(req);
}

static void refuse_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	(void)ino, (void)parent, (void)name;
	refuse(req);
}

static void refuse_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
			  struct fuse_file_info *info)
{
	(void)parent, (void)name, (void)mode, (void)info;
	refuse(req);
}

static void refuse_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
			    int flags)
{
	(void)ino, (void)name, (void)value, (void)size, (void)flags;
	refuse(req);
}

static void refuse_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	(void)ino, (void)name;
	refuse(req);
}

static void refuse_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t size,
			     struct fuse_file_info *info)
{
	(void)ino, (void)mode, (void)off, (void)size, (void)info;
	refuse(req);
}

/* ---- The table ---- */

const struct fuse_lowlevel_ops gsymfs_ops = {
	.init = ops_init,
	.lookup = ops_lookup,
	.forget = ops_forget,
	.forget_multi = ops_forget_multi,
	.getattr = ops_getattr,
	.access = ops_access,
	.readlink = ops_readlink,
	.open = ops_open,
	.read = ops_read,
	.release = ops_release,
	.opendir = ops_opendir,
	.readdir = ops_readdir,
	.readdirplus = ops_readdirplus,
	.mknod = refuse_mknod,
	.mkdir = refuse_mkdir,
	.unlink = refuse_remove,
	.rmdir = refuse_remove,
	.symlink = refuse_symlink,
	.rename = refuse_rename,
	.link = refuse_link,
	.create = refuse_create,
	.setattr = ops_setattr,
	.setxattr = refuse_setxattr,
	.removexattr = refuse_removexattr,
	.write = ops_write,
	.fallocate = refuse_fallocate,
};

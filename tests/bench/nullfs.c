/*
 * A FUSE file system that knows nothing: every address name of its one directory is a file of fixed text. It
 * answers with the same requests, flags and timeouts as gsymfs, so its cost is FUSE's, and what gsymfs takes
 * on top of it is ours.
 *
 *     nullfs [-f] [-s] MOUNT        then MOUNT/null/0x1234
 */
#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE_INO = 2, FIRST_FILE_INO = 3 };

static const double timeout = 3600;
static const char content[] = "__skb_header_pointer at ./include/linux/skbuff.h:4121\n"
			      " (inlined by) selinux_parse_skb at ./security/selinux/hooks.c:4496\n";

static void fill_attr(fuse_ino_t ino, struct stat *attr)
{
	*attr = (struct stat){.st_ino = ino, .st_nlink = 1, .st_mode = S_IFREG | 0444};
	if (ino < FIRST_FILE_INO)
		attr->st_mode = S_IFDIR | 0555;
	else
		attr->st_size = sizeof(content) - 1;
}

static void null_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct stat attr;

	(void)info;
	fill_attr(ino, &attr);
	fuse_reply_attr(req, &attr, timeout);
}

/* Files get an inode number of their own, as addresses do in gsymfs; it is never used again. */
static void null_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	atomic_ullong *next = fuse_req_userdata(req);
	struct fuse_entry_param entry = {.attr_timeout = timeout, .entry_timeout = timeout};

	if (parent == FUSE_ROOT_ID && strcmp(name, "null") == 0)
		entry.ino = IMAGE_INO;
	else if (parent == IMAGE_INO && strncmp(name, "0x", 2) == 0)
		entry.ino = atomic_fetch_add(next, 1);
	if (!entry.ino) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	fill_attr(entry.ino, &entry.attr);
	fuse_reply_entry(req, &entry);
}

static void null_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	(void)ino;
	info->keep_cache = 1;
	fuse_reply_open(req, info);
}

static void null_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *info)
{
	size_t left = off < (off_t)sizeof(content) - 1 ? sizeof(content) - 1 - (size_t)off : 0;

	(void)ino;
	(void)info;
	fuse_reply_buf(req, content + (left ? off : 0), size < left ? size : left);
}

static const struct fuse_lowlevel_ops operations = {
	.getattr = null_getattr,
	.lookup = null_lookup,
	.open = null_open,
	.read = null_read,
};

static int serve(struct fuse_args *args, const struct fuse_cmdline_opts *options)
{
	atomic_ullong next = FIRST_FILE_INO;
	struct fuse_session *session = fuse_session_new(args, &operations, sizeof(operations), &next);
	int err = 1;

	if (!session)
		return err;
	if (fuse_set_signal_handlers(session) == 0) {
		if (fuse_session_mount(session, options->mountpoint) == 0) {
			fuse_daemonize(options->foreground);
			err = options->singlethread ? fuse_session_loop(session)
						    : fuse_session_loop_mt(session, NULL);
			fuse_session_unmount(session);
		}
		fuse_remove_signal_handlers(session);
	}
	fuse_session_destroy(session);
	return err < 0;
}

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct fuse_cmdline_opts options;

	if (fuse_parse_cmdline(&args, &options) != 0 || !options.mountpoint)
		return 2;
	int status = serve(&args, &options);
	free(options.mountpoint);
	fuse_opt_free_args(&args);
	return status;
}

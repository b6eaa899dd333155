/* Requests that would change something: each is refused with EROFS, once, whatever it is about. */
#include "fs/tree/ops.h"

#include <errno.h>
#include <sys/stat.h>

#include "fs/name/node.h"
#include "tests/lib/unit.h"

static unsigned replies;
static int reply;
static char a_request;

int __wrap_fuse_reply_err(fuse_req_t req, int err)
{
	assert_ptr_equal(req, &a_request);
	replies++;
	reply = err;
	return 0;
}

#define REFUSES(operation, ...)                                                    \
	do {                                                                       \
		replies = 0;                                                       \
		reply = 0;                                                         \
		assert_non_null(gsymfs_ops.operation);                             \
		gsymfs_ops.operation((fuse_req_t)(void *)&a_request, __VA_ARGS__); \
		assert_int_equal(replies, 1);                                      \
		assert_int_equal(reply, EROFS);                                    \
	} while (0)

TEST(every_change)
{
	struct fuse_file_info info = {0};
	REFUSES(mknod, INO_ROOT, "new", S_IFREG | 0644, 0);
	REFUSES(mkdir, INO_ROOT, "new", 0755);
	REFUSES(unlink, INO_ROOT, "q");
	REFUSES(rmdir, INO_ROOT, "by-name");
	REFUSES(symlink, "target", INO_ROOT, "new");
	REFUSES(rename, INO_ROOT, "q", INO_ROOT, "new", 0);
	REFUSES(link, INO_BATCH, INO_ROOT, "new");
	REFUSES(create, INO_ROOT, "new", 0644, &info);
	REFUSES(setxattr, INO_BATCH, "user.name", "value", 5, 0);
	REFUSES(removexattr, INO_BATCH, "user.name");
	REFUSES(fallocate, INO_BATCH, 0, 0, 1, &info);
}

/* Without a function for them the kernel does not ask again. */
TEST(not_asked)
{
	assert_null(gsymfs_ops.flush);
	assert_null(gsymfs_ops.getxattr);
	assert_null(gsymfs_ops.listxattr);
}

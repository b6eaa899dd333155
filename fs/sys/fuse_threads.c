#define FUSE_USE_VERSION 312
#include "fs/sys/fuse_threads.h"

#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FIXED_IN = FUSE_MAKE_VERSION(3, 17) };

void parallel_note_init(struct parallel *p, const void *data, size_t size)
{
	struct {
		struct fuse_in_header head;
		struct fuse_init_in init;
	} request = {.head = {0}};
	memcpy(&request, data, size < sizeof(request) ? size : sizeof(request));
	atomic_store(&p->init_flags, request.init.flags);
	atomic_store(&p->init_unique, request.head.unique);
}

/* libfuse wants both; requests are received by request_loop.c. */
static ssize_t read_request(int fd, void *buf, size_t size, void *user)
{
	(void)user;
	return read(fd, buf, size);
}

/* Whether the reply is that to INIT, and one with flags: libfuse passes header and body as two pieces. */
static bool is_init_reply(struct parallel *p, const struct iovec *iov, int count)
{
	struct fuse_out_header head;
	if (count != 2 || iov[0].iov_len != sizeof(head) ||
	    iov[1].iov_len < offsetof(struct fuse_init_out, flags) + 4)
		return false;
	memcpy(&head, iov[0].iov_base, sizeof(head));
	return head.unique == atomic_load_explicit(&p->init_unique, memory_order_relaxed) && head.error == 0;
}

static ssize_t write_reply(int fd, struct iovec *iov, int count, void *user)
{
	struct parallel *p = user;
	uint32_t able = atomic_load_explicit(&p->init_flags, memory_order_relaxed) & FUSE_PARALLEL_DIROPS;
	if (able && is_init_reply(p, iov, count)) {
		char *flags_at = (char *)iov[1].iov_base + offsetof(struct fuse_init_out, flags);
		uint32_t flags;
		memcpy(&flags, flags_at, sizeof(flags));
		flags |= able;
		memcpy(flags_at, &flags, sizeof(flags));
		atomic_store(&p->init_flags, 0);
	}
	return writev(fd, iov, count);
}

int parallel_install(struct fuse_session *session)
{
	static const struct fuse_custom_io io = {.writev = write_reply, .read = read_request};
	if (fuse_version() >= FIXED_IN)
		return 0;
	return fuse_session_custom_io(session, &io, fuse_session_fd(session));
}

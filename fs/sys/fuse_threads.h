/*
 * fuse_threads.h - lookups in one directory at the same time.
 *
 * The kernel serialises lookups and listings of a directory unless the daemon agrees to parallel ones when it
 * answers the INIT request. libfuse before 3.17 offers that (FUSE_CAP_PARALLEL_DIROPS, on by default) but
 * does not pass the flag on to the kernel (libfuse pull request 861). This is not only about speed: one
 * parked lookup would lock the directory of its image, and processes that wait for that lock cannot even be
 * killed.
 */
#ifndef FS_SYS_FUSE_THREADS_H
#define FS_SYS_FUSE_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuse_session;

/* Zero-initialised. */
struct parallel {
	_Atomic uint64_t init_unique; /* number of the INIT request; 0 = not seen */
	_Atomic uint32_t init_flags;  /* what the kernel can do */
	atomic_bool ready;            /* libfuse has accepted it */
};

/*
 * For a mounted @session whose user data begins with a struct parallel, before its loop: makes the answer to
 * INIT say it, if this libfuse does not. 0 or a negative errno.
 */
int parallel_install(struct fuse_session *session);

/* An INIT request of @size bytes was received, and will be decoded next. */
void parallel_note_init(struct parallel *parallel, const void *data, size_t size);

/* Whether one was. */
static inline bool parallel_is_begun(const struct parallel *parallel)
{
	return atomic_load(&parallel->init_unique) != 0;
}

#endif

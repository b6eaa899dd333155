/*
 * notify.h - invalidates the kernel's entry of an image directory that was replaced.
 *
 * The kernel may need the lock of the parent directory for it, which a parked lookup holds; so a dedicated
 * thread does it. While that thread waits for the lock, it also blocks later requests for the root directory.
 * Lookups are parked there during the first scan only, so invalidations are deferred until that is over.
 */
#ifndef FS_SYS_NOTIFY_H
#define FS_SYS_NOTIFY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "convert/os/mutex.h"
#include "gsym/base/vec.h"

struct fuse_session;

struct notify {
	struct mutex lock;
	pthread_cond_t wake;
	VEC(char *) ids GUARDED_BY(&lock); /* names in the root directory that changed */
	bool held GUARDED_BY(&lock);       /* until notify_release() */
	bool stopping GUARDED_BY(&lock);
	bool running;
	pthread_t thread;
	struct fuse_session *session; /* borrowed */
};

void notify_init(struct notify *notify);
int notify_start(struct notify *notify, struct fuse_session *session);
/*
 * Ends the thread, if it runs. Requests must still be served, or the connection be gone, and no call be
 * parked; else the thread may be waiting in the kernel for ever.
 */
void notify_stop(struct notify *notify) EXCLUDES(&notify->lock);
void notify_deinit(struct notify *notify);

/* No lookup in the root directory is parked any more: tells what was kept back, and from now on at once. */
void notify_release(struct notify *notify) EXCLUDES(&notify->lock);

/*
 * Has the kernel take the file @ino for longer than @size, until it asks for its attributes again. Waits
 * while a READ of the page there is not answered. 0 or a negative errno.
 */
int notify_extend(struct notify *notify, uint64_t ino, uint64_t size);

/* The entry @id of the root directory stands for something else. Never blocks, never fails. */
void notify_replaced(struct notify *notify, const char *id) EXCLUDES(&notify->lock);

#endif

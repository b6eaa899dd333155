/*
 * notify.h - telling the kernel that an image directory is another one now.
 *
 * The kernel may need locks of the parent directory for it, which a parked lookup holds; so only a thread
 * that nobody waits for does it. And even that one holds up everybody who comes after it, as long as it waits
 * for the root directory behind a lookup parked there: only the first scan parks such, so names are kept back
 * until it is over.
 */
#ifndef FS_SYS_NOTIFY_H
#define FS_SYS_NOTIFY_H

#include <pthread.h>
#include <stdbool.h>

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

/* The entry @id of the root directory stands for something else. Never blocks, never fails. */
void notify_replaced(struct notify *notify, const char *id) EXCLUDES(&notify->lock);

#endif

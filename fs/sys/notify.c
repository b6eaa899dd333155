#define FUSE_USE_VERSION 312
#include "fs/sys/notify.h"

#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>

#include "convert/os/thread.h"

void notify_init(struct notify *notify)
{
	*notify = (struct notify){.held = true};
	mutex_init(&notify->lock, LOCK_NOTIFY);
	pthread_cond_init(&notify->wake, NULL);
}

void notify_deinit(struct notify *notify) NOT_ANALYZED
{
	for (size_t i = 0; i < notify->ids.n; i++)
		free(notify->ids.v[i]);
	vec_free(&notify->ids);
	pthread_cond_destroy(&notify->wake);
	mutex_destroy(&notify->lock);
}

/* The next id, the caller's to free; NULL when it is time to stop. */
static char *next_id(struct notify *notify)
{
	mutex_lock(&notify->lock);
	while ((notify->ids.n == 0 || notify->held) && !notify->stopping)
		mutex_wait(&notify->lock, &notify->wake);
	char *id = notify->stopping ? NULL : notify->ids.v[--notify->ids.n];
	mutex_unlock(&notify->lock);
	return id;
}

static void *tell(void *arg)
{
	struct notify *notify = arg;
	for (char *id; (id = next_id(notify)); free(id))
		/* Fails when the kernel does not know the entry: all the better. */
		fuse_lowlevel_notify_inval_entry(notify->session, FUSE_ROOT_ID, id, strlen(id));
	return NULL;
}

int notify_start(struct notify *notify, struct fuse_session *session)
{
	notify->session = session;
	int err = thread_start(&notify->thread, "notify", tell, notify);
	notify->running = !err;
	return err;
}

void notify_stop(struct notify *notify)
{
	if (!notify->running)
		return;
	mutex_lock(&notify->lock);
	notify->stopping = true;
	pthread_cond_signal(&notify->wake);
	mutex_unlock(&notify->lock);
	pthread_join(notify->thread, NULL);
	notify->running = false;
}

void notify_release(struct notify *notify)
{
	mutex_lock(&notify->lock);
	notify->held = false;
	pthread_cond_signal(&notify->wake);
	mutex_unlock(&notify->lock);
}

int notify_extend(struct notify *notify, uint64_t ino, uint64_t size)
{
	char byte = 0;
	struct fuse_bufvec bytes = FUSE_BUFVEC_INIT(sizeof(byte));
	bytes.buf[0].mem = &byte;
	return fuse_lowlevel_notify_store(notify->session, ino, (off_t)size, &bytes, 0);
}

void notify_replaced(struct notify *notify, const char *id)
{
	mutex_lock(&notify->lock);
	char *copy = strdup(id);
	if (copy && vec_push(&notify->ids, copy))
		free(copy); /* without memory the kernel learns of it when its entry times out */
	pthread_cond_signal(&notify->wake);
	mutex_unlock(&notify->lock);
}

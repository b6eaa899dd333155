/*
 * remote.h - images that no source has, from servers of debuginfod.
 *
 * A lookup of a whole build id that is in no source asks for its debug file, on a few threads and on not all
 * of them for one user. The file stays in the client's directory and is a file of the image like others, for
 * as long as it is there; by-path and by-name have none of it. What no server has is remembered for a while.
 */
#ifndef FS_SCAN_REMOTE_H
#define FS_SCAN_REMOTE_H

#include <pthread.h>

#include "work/os/log.h"
#include "work/run/debuginfod.h"
#include "fs/call/call.h"
#include "fs/images/images.h"

enum {
	REMOTE_THREADS = 4,
	REMOTE_PER_USER = 2,   /* requests at a time */
	REMOTE_JOBS_MAX = 512, /* ids that calls wait for */
	REMOTE_FILES_MAX = 4096,
	REMOTE_REFUSED_MAX = 4096,
};

/* An id that could not be had, and until when that is so. */
struct remote_refused {
	uint64_t id; /* its hash; 0: none */
	int64_t until;
	int err;
};

/* A file that was fetched. */
struct remote_file {
	char *path;
	uint64_t dev, ino;
	char id[ID_TEXT_SIZE];
};

struct remote {
	/* Set before remote_start(), borrowed. */
	struct images *images; /* whose lock guards what follows */
	struct fetcher *fetcher;
	const char *worker;
	const struct log *log;
	int stop_fd; /* becomes readable when the daemon ends */

	struct list jobs; /* those under way come first */
	size_t n_jobs;
	pthread_cond_t wake;
	bool stopping;
	struct remote_refused *refused; /* REMOTE_REFUSED_MAX, by hash; a later one takes the place */
	VEC(struct remote_file) files;

	unsigned n_threads;
	pthread_t threads[REMOTE_THREADS];
};

/* With all that is set before. */
void remote_init(struct remote *remote);
void remote_deinit(struct remote *remote);

/* Starts no thread if there are no servers. */
int remote_start(struct remote *remote);
/* Moves calls that wait to @woken. stop_fd must be readable already. */
void remote_stop(struct remote *remote, struct list *woken) REQUIRES(&remote->images->lock);
void remote_join(struct remote *remote);

/*
 * No source has the image @id. -EAGAIN with @ret_wait filled while servers can be asked; else -ENOENT, also
 * if @id is not a whole build id; -ETIMEDOUT or -EHOSTUNREACH while they do not answer.
 */
int remote_lookup(struct remote *remote, const char *id, struct wait *ret_wait)
	REQUIRES(&remote->images->lock);

/*
 * images_lookup() for what is in SOURCE, and remote_lookup() for what is not.
 * @remote: may be NULL
 * @request: of REQUEST_ID
 * @ret: the image
 * @ret_wait: with -EAGAIN, what to wait for
 */
int remote_find_image(struct remote *remote, struct images *images, const struct request *request,
		      struct image **ret, struct wait *ret_wait) REQUIRES(&images->lock);

/* The earlier of @at and the times when the calls began that wait for servers, see calls_oldest(). */
int64_t remote_oldest(const struct remote *remote, int64_t at) REQUIRES(&remote->images->lock);

/* Whether there are servers to ask. */
bool remote_asks(const struct remote *remote);

/* Drops files that the client has deleted or replaced. */
void remote_recheck(struct remote *remote) EXCLUDES(&remote->images->lock);

#endif

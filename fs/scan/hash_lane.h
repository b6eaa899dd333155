/*
 * hash_lane.h - hashes files without an id in a thread and a worker of their own.
 *
 * So scans and files with an id never wait for hashing. The smallest file comes first. Only the scan thread
 * adds files and takes results.
 */
#ifndef FS_SCAN_HASH_LANE_H
#define FS_SCAN_HASH_LANE_H

#include <pthread.h>
#include <stdbool.h>

#include "work/os/mutex.h"
#include "work/run/identifier.h"
#include "fs/scan/index.h"
#include "gsym/base/list.h"

/* A file and its result. */
struct hash_job {
	struct list link;
	char *path; /* below SOURCE; owned */
	struct file_key key;
	uint64_t to_hash;
	/* Once it is done: */
	int err; /* as of identify(), or -ENOMEM */
	enum fault fault;
	char *reason;                  /* of a failure, or what the file lacks; owned, or NULL */
	struct image_identity *images; /* owned */
	size_t n_images;
};

struct hash_lane {
	/* Set before hash_lane_start(), borrowed. */
	const char *source; /* absolute path */
	const char *worker;
	int stop_fd; /* becomes readable when the daemon ends */
	int wake_fd; /* an eventfd: results are to be taken */

	struct mutex lock;   /* guards the two lists, between the scan thread and the one that hashes */
	pthread_cond_t wake; /* a job was added, or @stopping set */
	struct list jobs GUARDED_BY(&lock);
	struct list done GUARDED_BY(&lock);
	bool stopping GUARDED_BY(&lock);
	bool running;
	pthread_t thread;
};

void hash_lane_init(struct hash_lane *lane);
int hash_lane_start(struct hash_lane *lane);
/* Joins the thread, if it runs; stop_fd must be readable already. */
void hash_lane_stop(struct hash_lane *lane);
void hash_lane_deinit(struct hash_lane *lane);

/* Adds the file @path in state @key. 0 or -ENOMEM. */
int hash_lane_add(struct hash_lane *lane, const char *path, const struct file_key *key, uint64_t to_hash)
	EXCLUDES(&lane->lock);

/* The next file that is done, which becomes the caller's, or NULL. */
struct hash_job *hash_lane_take(struct hash_lane *lane) EXCLUDES(&lane->lock);

void hash_job_free(struct hash_job *job);

#endif

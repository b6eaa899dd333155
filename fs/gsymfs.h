/*
 * gsymfs.h - the daemon: one struct that holds its parts, handed to every request by libfuse.
 */
#ifndef FS_GSYMFS_H
#define FS_GSYMFS_H

#include "options.h"

#include "cache.h"
#include "convert_run.h"
#include "fetch.h"
#include "image.h"
#include "log.h"
#include "metrics.h"
#include "node.h"
#include "notify.h"
#include "open_file.h"
#include "parallel.h"
#include "queue.h"
#include "scan.h"
#include "signals.h"
#include "starter.h"

struct gsymfs {
	struct options options;
	char *source; /* absolute paths */
	char *mountpoint;
	char *worker;
	char **debug_dirs; /* and SOURCE, NULL at the end; in one piece of memory */
	int stop_fd; /* an eventfd; readable once the daemon ends */
	struct timespec mounted_at;
	struct log log;
	struct metrics metrics;
	struct cache cache;
	struct shared_dir shared;
	struct notify notify;
	struct images images;
	struct nodes nodes;
	struct open_files open_files;
	struct fetcher fetcher;
	struct converter converter;
	struct starter starter;
	struct scan scan;
	struct queue queue;
	struct parallel parallel;
	struct signals signals;
	struct fuse_session *session;
};

#endif

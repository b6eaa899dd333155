/*
 * gsymfs.h - the struct that holds all parts of the daemon, and what the files that connect them do with it.
 * Only those (main, setup, session, state) include it; a part borrows the parts it uses.
 */
#ifndef FS_GSYMFS_H
#define FS_GSYMFS_H

#include "fs/daemon_options.h"
#include "fs/liveness.h"

#include "work/cache/cache.h"
#include "work/os/log.h"
#include "work/run/convert_run.h"
#include "work/run/debuginfod.h"
#include "work/run/run_slots.h"
#include "work/run/zygote.h"
#include "fs/answer/answers.h"
#include "fs/call/runners.h"
#include "fs/convert/queue.h"
#include "fs/images/images.h"
#include "fs/scan/remote.h"
#include "fs/scan/scanner.h"
#include "fs/sys/metrics.h"
#include "fs/sys/signals.h"
#include "fs/sys/starter.h"
#include "fs/tree/tree.h"

struct gsymfs {
	struct options options;
	/* Absolute paths. Several sources are scanned as parts of "/"; else @source is the only one. */
	struct scan_root roots[SOURCES_MAX]; /* their paths are owned */
	size_t n_roots;
	const char *source;
	const char *prefix; /* of what is below @source, before the slash */
	char *source_names; /* all, with colons between them */
	char *mountpoint;
	char *worker;
	char **debug_dirs; /* with SOURCE, NULL-terminated; one allocation */
	int stop_fd;       /* an eventfd; readable once the daemon stops */
	struct log log;
	struct metrics metrics;
	struct run_counters counters;
	struct cache cache;
	struct share *share; /* a store that hosts share; NULL: none */
	struct images images;
	struct runners runners;
	struct fetcher fetcher;
	struct zygote zygote;
	struct run_slots slots;
	struct converter converter;
	struct starter starter;
	struct skipped skipped;
	struct remote remote;
	struct scanner scanner;
	struct queue queue;
	struct answers answers;
	struct tree tree; /* the session's user data */
	struct signals signals;
	struct watchdog watchdog;
	struct fuse_session *session;
};

/* ---- setup.c: checks before the mount; initialises and connects the parts ---- */

/* Finds and checks SOURCE, mount point, cache and worker. 0, or a negative errno with a diagnosis. */
int setup_prepare(struct gsymfs *fs, struct gsym_diag *diag);

/* Initialises and connects the parts; before any thread is started. */
void setup_parts(struct gsymfs *fs);

/* Frees the parts; after all threads have ended. */
void setup_undo(struct gsymfs *fs);

/* ---- session.c: the FUSE session: mount, serve, unmount ---- */

/*
 * Creates the session with the options that were left for libfuse. 0, or a negative errno with a diagnosis.
 */
int session_make(struct gsymfs *fs, struct gsym_diag *diag);

/*
 * Mounts, goes to the background unless told otherwise (-f), and serves until a signal or an unmount.
 * 0 after either, else a negative errno, which has been logged.
 */
int session_run(struct gsymfs *fs);

/* ---- state.c: daemon status for the log, on SIGUSR1 and at the end ---- */

/* Logs the status. Takes locks briefly, one at a time; the caller holds none. */
void state_log(struct gsymfs *fs);

/* Logs in a line what the daemon has done since the mount. */
void state_log_end(const struct gsymfs *fs);

#endif

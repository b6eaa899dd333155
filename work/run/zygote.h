/*
 * zygote.h - workers forked by a process that waits for that in its sandbox (work/worker/fork_loop.h).
 *
 * To start the gsym program, bind its libraries and make namespaces costs more than to convert a small file.
 * All this is done once, for the zygote; it reads no file, so a worker inherits nothing of another's. What
 * workers share are the addresses of code and the stack protector's value: so a zygote is replaced after a
 * number of workers, and after one that has crashed, which might have been an attempt to guess them.
 *
 * A worker that does not answer within a second, because it or the zygote was stopped or ended, is started in
 * another way, and the zygote is replaced. What it may have forked is in its process group until it is known
 * to its client; so all of it can be ended, and waited for, however early it was killed.
 */
#ifndef WORK_RUN_ZYGOTE_H
#define WORK_RUN_ZYGOTE_H

#include "work/os/log.h"
#include "work/os/mutex.h"
#include "work/worker/child.h"

struct zygote_process;

struct zygote {
	const char *program; /* borrowed, like log */
	const struct log *log;
	int stop_fd;
	struct mutex lock; /* guards @process and its members; never held over a wait */
	struct zygote_process *process GUARDED_BY(&lock); /* NULL: none */
};

/* Starts nothing. The members above the lock are set by the caller. */
void zygote_init(struct zygote *zygote);

/* Ends the process; its workers, if there are any, go on. No thread may still wait for one. */
void zygote_deinit(struct zygote *zygote);

/* Starts the process if there is none, so that the first worker need not wait for it. @zygote may be NULL. */
void zygote_prepare(struct zygote *zygote);

/*
 * Starts a worker as child_start() does: by @zygote, which is started when there is none; by itself if that
 * fails, or takes more than a second, or if @zygote is NULL.
 */
int zygote_start_worker(struct zygote *zygote, const struct child_order *order, struct child *ret,
			struct gsym_diag *diag);

/* A worker has ended, with @status of wait4(2). @zygote may be NULL. */
void zygote_note_end(struct zygote *zygote, int status);

#endif

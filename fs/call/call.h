/*
 * call.h - FUSE requests that may have to wait, without a thread waiting for them.
 *
 * A call is a request together with the function that tries to answer it. When that function says that
 * something is not there yet, the call is parked on a list of what it waits for, and the FUSE thread goes on
 * with other requests. Whoever makes the thing available runs the parked calls again, each from its
 * beginning. A signal to the waiting process takes its call off the list and answers EINTR at once.
 */
#ifndef FS_CALL_CALL_H
#define FS_CALL_CALL_H

#include <stdbool.h>
#include <stdint.h>

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "gsym/base/list.h"
#include "fs/name/name.h"

struct gsymfs;
struct revision;
struct stream;

/* What is made of an open image by a thread of its own, because it takes long. */
enum work {
	WORK_NONE,
	WORK_TABLE, /* a table is measured, see tsv_file.h */
	WORK_NAMES, /* an index of names, see symbol_names.h */
	WORKS,
};

/* What a call waits for; filled by the attempt that gives up. */
struct wait {
	struct revision *revision; /* until it is open or has failed; NULL: for the scanner, */
	char id[ID_TEXT_SIZE]; /* until the first scan is done or a file with this id is found ("" = no such)
				*/
	uint64_t findings;     /* images.findings when the attempt looked: later ones are news */
	uint8_t work;          /* enum work: not for the image, but for what is made of it */
	uint8_t part;          /* which: enum listing_kind, enum symbol_names */
	bool runs;             /* for nothing but a thread that may take its time */
	struct stream *stream; /* for another call to be done with it, or NULL */
};

/* A call may find its image closed again, or its file replaced, as often as this. */
enum { CALL_TRIES_MAX = 8 };

/* And wait for its work as often as this, and for images if it has to do with many: a stack in a log may have
 * 512 of them. */
enum { CALL_WORKS_MAX = CALL_TRIES_MAX + 512, CALL_TRIES_MANY = CALL_WORKS_MAX };

enum call_state {
	CALL_PARKING, /* its interrupt function is being set */
	CALL_PARKED,  /* on a list, under images.lock */
	CALL_TAKEN,   /* off the list: belongs to whoever took it off */
};

struct call {
	struct list link;
	struct gsymfs *fs;
	fuse_req_t req;
	/*
	 * Answers the request, exactly once, and returns 0; or returns a negative errno to answer with; or
	 * fills wait and returns -EAGAIN.
	 */
	int (*attempt)(struct call *call);
	fuse_ino_t ino;   /* the file, or the directory of a lookup */
	const char *name; /* of a lookup; borrowed until the call is parked, then its own */
	size_t size;      /* of a read */
	off_t off;
	struct fuse_file_info info; /* of an open */
	struct wait wait;

	enum call_state state;
	bool interrupted;
	bool on_heap;
	bool on_runner;      /* its thread may take its time */
	struct stream *turn; /* whose next call it has become, until it runs */
	unsigned tries;      /* how often it waited for a conversion, */
	unsigned works;      /* and for other work */
	/* Goes on when what it waited for failed, because that is no answer to all it was asked. */
	bool outlives_failure;
	struct revision *failed; /* what it waited for then, */
	int failure;             /* and why that failed */
};

/* Runs a call that lives on the stack until it is answered or parked; @call must not be used afterwards. */
void call_run(struct call *call);

/* ---- With images.lock: taking calls off a list ---- */

/* Moves all calls of @parked to @woken. */
void calls_wake_all(struct list *parked, struct list *woken);

/* Moves those that wait for @id. */
void calls_wake_id(struct list *parked, const char *id, struct list *woken);

/* Moves the first of them, if there is one. */
void calls_wake_first(struct list *parked, struct list *woken);

/* ---- Without it: going on with those taken ---- */

/* Has them run again. */
void calls_resume(struct list *woken);

/* What they waited for failed with @err, a negative errno, which is their answer; or they go on and know. */
void calls_fail(struct list *woken, int err);

/* Answers all with @err. */
void calls_end(struct list *woken, int err);

/* Runs one that was taken off its list, on a thread that may take its time. */
void call_go_on(struct call *call);

#endif

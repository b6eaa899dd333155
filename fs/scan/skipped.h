/*
 * skipped.h - files of SOURCE whose images are not known: damaged ones, and those that took too long; and
 * files that have images but seem to be cut short.
 *
 * The scan thread fills it; other threads list it.
 */
#ifndef FS_SCAN_SKIPPED_H
#define FS_SCAN_SKIPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "work/os/log.h"
#include "work/os/mutex.h"
#include "gsym/base/hash_table.h"

enum skipped_kind {
	FILE_SKIPPED,
	FILE_TRUNCATED,  /* its images are known and answer as far as they can */
	DIR_NOT_ENTERED, /* it holds no files but what a kernel or a daemon answers, or is the cache */
};

/* Kinds of lines in the log. */
enum skipped_line {
	LINE_UNUSABLE,   /* of files that are damaged or truncated */
	LINE_UNREADABLE, /* of what cannot be looked at */
	SKIPPED_LINES,
};

struct skipped_cause {
	const char *reason; /* borrowed */
	enum skipped_kind kind;
};

struct skipped {
	struct mutex lock;                    /* guards @files, which listings of any thread read */
	struct table files GUARDED_BY(&lock); /* by path */

	/* Of the log; the scan thread's. */
	const struct log *log; /* borrowed */
	struct {
		int64_t since; /* monotonic_ms() of the first line of this minute */
		unsigned told; /* lines since then */
		size_t untold; /* since the last summary */
	} lines[SKIPPED_LINES];
};

void skipped_init(struct skipped *skipped, const struct log *log);
void skipped_deinit(struct skipped *skipped);

/*
 * Scan @pass cannot use the file, or all of it. Without memory the file is left out.
 *
 * @path:        of the file below SOURCE
 * @cause:       why
 * @open_to_all: every user may search the directories that lead to it
 * @pass:        the scan that saw it
 */
void skipped_add(struct skipped *skipped, const char *path, const struct skipped_cause *cause,
		 bool open_to_all, uint32_t pass) EXCLUDES(&skipped->lock);

/*
 * The log names a file that was found to be so just now, and what is done with it; but only some of a kind in
 * a minute.
 */
void skipped_tell(struct skipped *skipped, enum skipped_line kind, const char *path, const char *reason,
		  const char *use);

/* After a scan: the log has the number of those that it did not name. */
void skipped_summarize(struct skipped *skipped);

/* The file @path can be used, or is none. */
void skipped_remove(struct skipped *skipped, const char *path) EXCLUDES(&skipped->lock);

/* Forgets what was at @path, and with @below all below it, unless scan @pass has seen it. */
void skipped_forget(struct skipped *skipped, const char *path, bool below, uint32_t pass)
	EXCLUDES(&skipped->lock);

/* Forgets files that scan @pass, a complete walk, did not see. */
void skipped_sweep(struct skipped *skipped, uint32_t pass) EXCLUDES(&skipped->lock);

enum { SKIPPED_LISTED = 64 };

/* The files of one kind that are first by path, at most so many, for users who may know of them. */
struct skipped_list {
	size_t n;
	size_t all; /* of that kind, listed or not */
	struct skipped_text {
		char *path;
		char *reason;
	} v[SKIPPED_LISTED]; /* owned */
};

/* @sees_all: also those in directories that not every user may search. 0 or -ENOMEM. */
int skipped_show(struct skipped *skipped, enum skipped_kind kind, bool sees_all, struct skipped_list *ret)
	EXCLUDES(&skipped->lock);
void skipped_list_deinit(struct skipped_list *list);

#endif

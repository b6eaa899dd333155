/* answers.h - state shared by everything that makes answers: borrowed parts, options, background threads. */
#ifndef FS_ANSWER_ANSWERS_H
#define FS_ANSWER_ANSWERS_H

#include <limits.h>

#include "gsym/render/listing.h"
#include "work/cache/handle.h"
#include "fs/answer/account.h"
#include "fs/answer/background.h"
#include "fs/images/images.h"

struct log;
struct metrics;
struct queue;
struct remote;
struct runners;

/* The slots of struct handle: what is attached to an open cache file. */
enum {
	SLOT_TABLES,                         /* struct tsv_index, by enum listing_kind; see tsv_file.h */
	SLOT_NAMES = SLOT_TABLES + LISTINGS, /* struct name_table, see symbol_names.h */
	SLOTS_USED,
};

static_assert((int)SLOTS_USED <= (int)HANDLE_SLOTS, "a handle has a slot for each");

struct answers {
	/* Set before answers_init(), borrowed. */
	const char *source; /* absolute path */
	struct images *images;
	struct cache *cache;
	struct queue *queue;
	struct runners *runners;
	struct remote *remote; /* NULL: no servers are asked */
	struct metrics *metrics;
	const struct log *log;
	bool unknown_print; /* an address outside all functions is a file that prints ?? */
	bool demangle;
	bool mark_merged;       /* text tells of functions that share the code */
	bool approximate;       /* code without a line has the nearest before it */
	unsigned batch_threads; /* that answer one large q, at least one; with those that help any other */

	atomic_uint batch_helpers; /* of them: they help a call now */

	struct accounts accounts; /* memory of open files, by user */
	struct list streams;      /* those that calls wait for, or did; guarded by images.lock */
	struct background tables; /* measures tables, see tsv_file.h */
	struct background names;  /* makes indexes of names, see symbol_names.h */
};

/* @tables and @names: what the threads compute. */
void answers_init(struct answers *answers, const struct job_kind *tables, const struct job_kind *names);
void answers_deinit(struct answers *answers);

/* How the names of an open image are demangled, according to the options; @raw: not at all. */
enum demangle_mode answers_demangle(const struct answers *answers, const struct handle *handle, bool raw);

/* The absolute path of a file of an image. */
void answers_path(const struct answers *answers, const char *path, char ret[static PATH_MAX]);

/* The image's name in answers: the path of its file. */
void answers_module(const struct answers *answers, const struct revision *rev, char ret[static PATH_MAX]);

/*
 * Reports that a cache file is corrupt: in the image's status and, rate-limited, in the log. A truncated file
 * is removed, and made again at the next use.
 * @rev, @handle: the image, and its open cache file
 * @err: -EFAULT if the file was truncated
 * @text: what else is wrong with it
 */
void answers_report_corrupt(const struct answers *answers, struct revision *rev, const struct handle *handle,
			    int err, const char *text);

#endif

/*
 * answers.h - what all answers are made of: images, the cache, options that shape them, threads that make
 * them.
 */
#ifndef FS_ANSWER_ANSWERS_H
#define FS_ANSWER_ANSWERS_H

#include <limits.h>

#include "convert/cache/handle.h"
#include "fs/answer/account.h"
#include "fs/answer/background.h"
#include "fs/images/images.h"

struct log;
struct metrics;
struct queue;
struct runners;

struct answers {
	/* Set before answers_init(), borrowed. */
	const char *source; /* absolute path */
	struct images *images;
	struct cache *cache;
	struct queue *queue;
	struct runners *runners;
	struct metrics *metrics;
	const struct log *log;
	bool unknown_print; /* an address nobody covers is a file that says so */
	bool demangle;
	bool approximate; /* a line nearby, where there is none */

	struct accounts accounts; /* of those who opened files */
	struct list streams;      /* for which calls have waited; guarded by images.lock */
	struct background tables; /* measures tables, see tsv_file.h */
	struct background names;  /* makes indexes of names, see symbol_names.h */
};

/* @tables and @names: what the threads make. */
void answers_init(struct answers *answers, const struct job_kind *tables, const struct job_kind *names);
void answers_deinit(struct answers *answers);

/* How names of an open image are shown, as the options have it; @raw as they are stored. */
enum demangle_mode answers_demangle(const struct answers *answers, const struct handle *handle, bool raw);

/* What answers call the image: the path of its file. */
void answers_module(const struct answers *answers, const struct revision *rev, char ret[static PATH_MAX]);

/*
 * The converted file @handle let us down: @text, or -EFAULT as @err, says how. It goes to status and, now and
 * then, to the log; a file that has become shorter is made again.
 */
void answers_report_corrupt(const struct answers *answers, struct revision *rev, const struct handle *handle,
			    int err, const char *text);

#endif

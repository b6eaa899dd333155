/* answer_fixture.h - images that are open, with functions in them, and what answers are made with. */
#ifndef TESTS_UNIT_FS_ANSWER_FIXTURE_H
#define TESTS_UNIT_FS_ANSWER_FIXTURE_H

#include <stdio.h>

#include "tests/unit/fs/images/images_fixture.h"

#include "fs/answer/answers.h"
#include "fs/call/runners.h"
#include "fs/sys/metrics.h"

enum { ENTRIES_MAX = 16 };

/* A function of an image. */
struct made_function {
	uint64_t start;
	uint32_t size; /* 0: not known */
	const char *name;
	uint32_t line;    /* of /src/a.c; 0: only its symbol is known */
	uint32_t no_line; /* the offset from which on its code belongs to no line; 0: none does */
	const char *twin; /* another function with the same code; NULL: there is none */
	bool damaged;     /* its record cannot be read */
};

/* A file of the cache. */
struct made_entry {
	FILE *file;
	struct handle *handle; /* borrowed */
};

struct answer_fixture {
	struct images_fixture *f;
	struct metrics metrics;
	struct runners runners; /* without threads */
	struct cache cache;     /* without a directory */
	struct log log;         /* warnings are dropped */
	struct answers answers; /* SOURCE is /src; the background threads do not run */
	struct made_entry entries[ENTRIES_MAX];
	size_t n_entries;
};

/* @tables and @names are those of answers_init(). */
void answer_fixture_set_up(struct answer_fixture *a, const struct job_kind *tables,
			   const struct job_kind *names);
/* No file may be open any more: nothing is charged to users. */
void answer_fixture_tear_down(struct answer_fixture *a);

/* A scan meets a file of the image @id, which all may read. */
void put_image(struct answer_fixture *a, const char *id, const char *path);

/* A file of the cache for @id, with these functions in ascending order. The reference is the caller's. */
struct handle *make_entry(struct answer_fixture *a, const char *id, const struct made_function *functions,
			  size_t n);

/* The image @id is open, with these functions. The handle is borrowed. */
struct handle *open_image(struct answer_fixture *a, const char *id, const struct made_function *functions,
			  size_t n);

/* The image is closed, but stays in the cache. */
void close_image_of(struct answer_fixture *a, const char *id);

/* The file of @handle becomes empty. */
void cut_short(struct answer_fixture *a, const struct handle *handle);

/* Does a job of the background thread, all at once; its outcome. */
int do_job(struct answer_fixture *a, const struct job_kind *kind, struct revision *rev, unsigned part);

/* Bytes charged to all users. */
size_t charged_to_all(const struct answer_fixture *a, enum account_kind kind);

#endif

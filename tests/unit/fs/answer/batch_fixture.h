/*
 * batch_fixture.h - an open q: what is written to it, what its readers see, and what it asks of batches.
 */
#ifndef TESTS_UNIT_FS_BATCH_FIXTURE_H
#define TESTS_UNIT_FS_BATCH_FIXTURE_H

#include "tests/unit/fs/answer/answer_fixture.h"

#include "fs/answer/answer_files.h"
#include "fs/call/call.h"
#include "gsym/render/batch/sharded_batch.h"

#define OTHER_ID "fedcba9876543210"
#define NO_ID    "00112233445566778899aabbccddeeff"

enum {
	RUNS_SEEN = 64,
	AHEAD_SEEN = 8,
	PREFETCHES_SEEN = 128,
};

/* Calls of others' functions, which do what they do unless it says otherwise. */
struct batch_calls {
	unsigned made, answered;              /* batches, and calls that answered */
	unsigned shards;                      /* of the last one that was made */
	size_t runs[RUNS_SEEN];               /* queries of the first calls */
	unsigned threads;                     /* that the last call could use */
	unsigned announced;                   /* calls that announced queries */
	size_t n_ahead;                       /* queries that the last one announced */
	struct batch_query ahead[AHEAD_SEEN]; /* the first of them */
	unsigned went_on;                     /* calls that went on with what was announced */
	struct {
		const struct image *image;
		bool whole;
	} prefetched[PREFETCHES_SEEN];
	size_t n_prefetched;
	/* What the test wants of the next ones. */
	unsigned no_batches;     /* so many cannot be made */
	unsigned no_time;        /* so often there is no time for all that was announced */
	int announce_err;        /* of the next announcement, once */
	int answer_err;          /* of the next answer, once */
	void (*meanwhile)(void); /* called in the midst of the next answer, once */
};

struct batch_fixture {
	struct answer_fixture a;
	struct stream *stream;
	struct call call; /* that reads */
	struct batch_calls calls;
};

/* Of the test that runs. */
extern struct batch_fixture b;

/* Two images, "debug" and "other", which are not open; the first scan is over. */
void batch_fixture_set_up(void);
void batch_fixture_tear_down(void);

/* Two functions at 0x1000 and 0x1010, and one that is damaged at 0x1020; each has 16 bytes. */
struct handle *open_sample(const char *id);

/* As these are in TSV, from the image whose file is @module. */
#define ROW(given, name, off, line, module, linkage) \
	given "\t0\t" name "\t" off "\t/src/a.c\t" line "\t-\t/src/" module "\t" linkage "\n"
#define F_OF(given, off, module) ROW(given, "f", off, "10", module, "f")
#define F(given, off)            F_OF(given, off, "debug")
#define ONE(given, off)          ROW(given, "f::one()", off, "20", "debug", "_ZN1f3oneEv")
#define UNKNOWN_OF(line, module) line "\t0\t??\t0x0\t??\t0\t-\t" module "\t??\n"
#define UNKNOWN(line)            UNKNOWN_OF(line, "/src/debug")
#define NONE(line)               UNKNOWN_OF(line, "-")

/* Opens the q of a @path, as "q.tsv" or ID "/ra/q", as the user @uid, in place of the one before. */
void open_q(const char *path, uid_t uid);

void write_bytes(const void *data, size_t size);
void write_lines(const char *text);
/* The same line, @n times. */
void write_often(const char *line, size_t n);

/* Has the q answer once, about so many bytes; what struct stream_kind says. */
int answer_some(size_t enough);
/* The same until no pending input can be answered. */
void answer_all(void);

/* These are the results since the last write. */
void expect_results(const char *text);
/* Writes, answers all and expects. */
void reads(const char *lines, const char *results);

/* Nothing can be answered before @id is converted, or a worker tells what is at @values. */
void waits_for(const char *id, const uint64_t *values, unsigned n);

#define WAITS_FOR(id, ...)                                      \
	waits_for(id, (const uint64_t[]){0, ##__VA_ARGS__} + 1, \
		  sizeof((const uint64_t[]){0, ##__VA_ARGS__}) / sizeof(uint64_t) - 1)

/* The image is closed, and not even held by the q. */
void forget_image(const char *id);

/* Bytes of input without an answer. */
size_t pending(void);

#endif

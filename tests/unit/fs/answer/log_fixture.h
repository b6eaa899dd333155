/* log_fixture.h - an open log: what is written to it, what its readers see, and what its filter may ask. */
#ifndef TESTS_UNIT_FS_LOG_FIXTURE_H
#define TESTS_UNIT_FS_LOG_FIXTURE_H

#include "tests/unit/fs/answer/answer_fixture.h"

#include "fs/answer/answer_files.h"
#include "fs/call/call.h"
#include "log/engine/filter.h"

#define OTHER_ID "fedcba9876543210"
#define THIRD_ID "00112233445566778899aabbccddeeff"

enum {
	WRITES_SEEN = 16,
	PREFETCHES_SEEN = 8,
};

struct log_fixture {
	struct answer_fixture a;
	struct stream *stream;
	struct call call;      /* that reads */
	struct filter *filter; /* of the log that was opened last, */
	struct filter_images images;
	struct filter_options options;
	struct {
		size_t sizes[WRITES_SEEN];
		enum filter_rest rest[WRITES_SEEN];
		size_t n;
		/* In place of the filter, which takes all else; or NULL. */
		int (*instead)(struct text_buf *out, size_t *ret_used);
	} written; /* to filters */
	struct {
		const struct image *images[PREFETCHES_SEEN];
		size_t n;
	} prefetched; /* conversions that were started ahead */
};

/* Of the test that runs. */
extern struct log_fixture t;

/* Two images, "debug" and "other", which are not open; the first scan is over, and a log is open. */
void log_fixture_set_up(void);
void log_fixture_tear_down(void);

/* The image is open: f(), f::one(), and one() with the code of two(), of 16 bytes each, from its base on. */
struct handle *open_at_base(const char *id);

/* The first scan is over, or not yet. */
void set_scanned(bool scanned);

/* A user with memory of his own. */
struct caller user(uid_t uid);

/* Opens a log in place of the one before. */
void open_log(uid_t uid);

/* As by a program that has read all there is. */
void write_log(const char *text);

/* Has the log answer once; what struct stream_kind says. */
int answer(void);

/* These are the results since the last write. */
void expect_results(const char *text);
/* Writes, answers all and expects. */
void reads(const char *log, const char *text);

#endif

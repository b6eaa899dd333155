/*
 * sweep_fixture.h - a small source of recipes, its scanner, and what is known after scans.
 *
 * A file of the source is a recipe: what a worker would find in it, one line a finding:
 *
 *	<id> <letters> [<name> [<architecture>]]    an image; set_flag() says what the letters mean
 *	#                                           it has no id, and must be hashed for the rest
 *	~<what it lacks>                            it is used as far as it goes
 *	!bad|limit|machine|worker <reason>, !stop   a failure of this kind
 */
#ifndef TESTS_UNIT_FS_SWEEP_FIXTURE_H
#define TESTS_UNIT_FS_SWEEP_FIXTURE_H

#include "tests/unit/fs/images/images_fixture.h"

#include "fs/scan/sweep.h"
#include "fs/sys/metrics.h"

#define LONG_ID "00112233445566778899aabbccddeeff00112233"

enum { MOST_LINES = 32, LINE = 512 };

struct scanned_source {
	struct images_fixture *f;
	char top[64], dir[80], cache_dir[80];
	struct log log;
	struct cache cache;
	struct metrics metrics;
	struct skipped skipped;
	struct search_path search;
	const char *search_dirs[2];
	struct scan_root roots[2];
	struct scan scan;
	struct changes changes;
	size_t n_open; /* descriptors before, */
	long n_live;   /* and allocations */
};

int sweep_set_up(void **state);
int sweep_tear_down(void **state);

/* The scanner of the source begins and ends as the daemon does. */
void begin_scan(struct scanned_source *s);
void end_scan(struct scanned_source *s);

/* ---- Files ---- */

/* The absolute path of @name below the source, until the call after the next. */
const char *in(const struct scanned_source *s, const char *name);

void make_dir(struct scanned_source *s, const char *path, mode_t mode);
void make_file(struct scanned_source *s, const char *path, const char *recipe);
void make_link(struct scanned_source *s, const char *target, const char *path);
void move(struct scanned_source *s, const char *from, const char *to);
void drop_file(struct scanned_source *s, const char *path);

extern const char *unopenable; /* the file that cannot be opened; NULL: none, */
extern int why_not;            /* and why */

/* ---- Scans, which must end with @outcome ---- */

void walk_all(struct scanned_source *s, int outcome);

/* The @n-th allocation of the walk fails, from 0. Returns whether there were so many. */
bool walk_without(struct scanned_source *s, long n);

/* An event names @paths, with spaces between them. */
void look_at(struct scanned_source *s, const char *paths, int outcome);

/* ---- What is known ---- */

/* So many files were opened since the last call. */
void expect_opened(unsigned n);

/* "<id> <path> <richness><flags> <mode>", a line for each file, sorted. */
void expect_files(struct scanned_source *s, const char *expected);

void expect_lines(char lines[][LINE], size_t n, const char *expected);

/* "<path>: <reason>", a line for each file, as those see it who may see all, or as others do. */
void expect_skipped(struct scanned_source *s, enum skipped_kind kind, bool sees_all, const char *expected);

/* Whether by-name/<name> has the image. */
bool is_called(struct scanned_source *s, const char *id, const char *name);

/* The mode that by-path shows of the directory @name of SOURCE, or of itself: "". */
mode_t dir_mode_of(struct scanned_source *s, const char *name);

/* The answer for what is not there. */
int absent(struct scanned_source *s);

extern char logged[16384]; /* one line a message, with the first letter of its level */

/* What was logged since the last call. */
void expect_log(const char *expected);

#endif

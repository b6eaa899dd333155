/*
 * tree_lookup_fixture.h - a small tree whose answers are made by the test, and what the kernel would ask of
 * it. Links with --wrap of what it defines and of allocations, see meson.build.
 */
#ifndef TESTS_UNIT_FS_TREE_LOOKUP_FIXTURE_H
#define TESTS_UNIT_FS_TREE_LOOKUP_FIXTURE_H

#include "tests/unit/fs/images/images_fixture.h"

#include "fs/answer/answer.h"
#include "fs/call/call.h"
#include "fs/convert/queue.h"
#include "fs/scan/remote.h"
#include "fs/scan/skipped.h"
#include "fs/sys/metrics.h"
#include "fs/tree/tree.h"
#include "fs/tree/ops.h"
#include "tests/unit/wrap_malloc.h"

#define OTHER_ID "fedcba98765432100123456789abcdef" /* no address, unlike others */
#define SIMILAR  "0123456789abcdee"                 /* as ID, but for the last digit */

struct looked_into {
	struct images_fixture *f;
	struct metrics metrics;
	struct run_counters counters;
	struct cache cache;
	struct converter converter;
	struct queue queue;
	struct answers answers;
	struct skipped skipped;
	struct remote remote;
	struct tree tree;
	struct fuse_ctx caller;
	long n_live; /* allocations before */
};

/* What answers are made of. */
struct made {
	int err;
	bool known;
	unsigned n, early;
	uint64_t address;    /* that was asked last */
	struct handle *from; /* the fragment that has the answer; NULL: none */
};

extern struct looked_into t;
extern struct made made;
extern struct tree_content content_of_test;
extern struct fuse_entry_param entry; /* of the last reply */
extern int reply_outcome;
extern char data[1 << 16]; /* of the last reply */
extern size_t data_size;
extern struct call last_call;

int tree_set_up(void **state);
int tree_tear_down(void **state);

/* What the lookup of @name returns; its entry is in @entry. */
int look(uint64_t in, const char *name);

/* There is such a name: its number. */
uint64_t found(uint64_t in, const char *name);

/* There is none, and the kernel may say so for @seconds, or as long as it may of any name. */
void missing_for(uint64_t in, const char *name, double seconds);
void missing(uint64_t in, const char *name);

/* The lookup has to wait. */
void waits(uint64_t in, const char *name);

void scan_over(void);
struct source called(const char *path, ino_t ino);

/* A directory of SOURCE, in which the next files are. */
void enter_dir(const char *name, uint32_t parent, mode_t mode);

/* One file, "fat", with two images. */
void put_two(void);

struct handle *open_image(const char *id);

/* Entries of a directory. */
struct shown {
	char names[1024]; /* each followed by a space */
	uint64_t next;
	unsigned n;
};

/* Adds those of the last reply. */
void read_entries(struct shown *ret, bool plus);

/* The directory has these names, however small the replies are. */
void lists(uint64_t ino, const char *names);

#endif

/*
 * directory_fixture.h - a directory that is a store, on a file server whose clock and faults are made up.
 * Every file is opened for this program alone, and is on disk before it gets the name of an object. Linked
 * with wrap_malloc and directory_wraps.
 */
#ifndef TESTS_DIRECTORY_FIXTURE_H
#define TESTS_DIRECTORY_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tests/lib/unit.h"

#include "store/transfer/engine.h"
#include "tests/unit/wrap_malloc.h"

enum directory_call {
	NO_CALL,
	CALL_OPENAT,
	CALL_MKDIRAT,
	CALL_FSTAT,
	CALL_FSTATAT,
	CALL_STAT,
	CALL_LINKAT,
	CALL_RENAMEAT,
	CALL_UNLINKAT,
	CALL_FUTIMENS,
	CALL_FDATASYNC,
	CALL_PREAD,
	CALL_PWRITE,
	CALL_GETRANDOM,
};
enum { DIRECTORY_CALLS = CALL_GETRANDOM + 1 };

/* What happens at one call, the first if @nth is 0. */
struct directory_event {
	enum directory_call call;
	unsigned nth;
	int err;              /* it fails; 0: it does not */
	bool is_done;         /* all the same */
	bool is_skipped;      /* nothing is done, and it succeeds */
	void (*before)(void); /* what others do just before */
};

extern struct directory_world {
	struct directory_event event;
	int64_t ms;           /* of the monotonic clock */
	struct timespec now;  /* of the file server */
	unsigned n_asked;     /* how often that was asked */
	unsigned n_used;      /* how often a time of last use was set, to the present, and no other */
	uint64_t last_random; /* the next is one more */
	dev_t other_device;   /* added to what stat(2) says */
} world;

extern char store_path[64];
extern int store_root;

/* Another event, or none; calls are counted anew. */
void set_event(const struct directory_event *event);
#define EVENT(...) set_event(&(const struct directory_event){__VA_ARGS__})

/*
 * For cmocka: a new directory at store_path, without and with the number 0 for the next file that is opened;
 * and its end, when nothing may be open that was not before.
 */
int begin_store(void **state);
int begin_store_without_stdin(void **state);
int end_store(void **state);
void close_stdin(void); /* later than that */

/* Writes a file of the store, as another host does; its directory is made. Its time is @seconds. */
void write_object(const char *name, const char *bytes, size_t size, int64_t seconds);
/* Its bytes, terminated, or NULL if it is not there. In a buffer of its own. */
const char *read_object_text(const char *name);
/* The names of the files of a directory of the store, sorted, each after a space; "": of its root. */
const char *names_in(const char *directory);

#endif

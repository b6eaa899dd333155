/* store_fixture.h - a store in a private directory, with the real process. For tests with cmocka. */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/lib/unit.h"

#include "store/client/store.h"

enum { SOON_MS = 60000 /* limit against hangs, not an assumption about time */ };

struct fixture {
	char directory[64]; /* of the store */
	int stop[2];        /* a pipe */
	struct log log;
	struct store_counters counters;
	struct store *store;
	int fd; /* an empty file, for what is received */
};

/* The gsym program: the first argument of the test. */
extern const char *fixture_program;

void fixture_open(struct fixture *f);
void fixture_close(struct fixture *f);
int fixture_set_up(void **state);
int fixture_tear_down(void **state);

/* Removes a directory and all that is in it. */
void remove_all(const char *directory);

/* Another client of the same directory. */
struct store *fixture_store(struct fixture *f);

/* An unnamed file with that content, for reading and writing. */
int file_of(const void *data, size_t size);

/* Whether @fd has exactly that content. */
bool file_is(int fd, const void *data, size_t size);

/* Does one request, and returns what came of it. */
int put(struct store *store, const char *name, const char *text, enum store_condition condition,
	const char *etag, struct store_reply *ret);
int get(struct store *store, const char *name, uint64_t most, int fd, struct store_reply *ret);
int head(struct store *store, const char *name, struct store_reply *ret);

/* Makes @path below the store's directory an absolute one. */
void path_of(const struct fixture *f, const char *path, char ret[static 512]);

/* The processes that this one has started and that have not ended. */
size_t children(pid_t *ret, size_t most);

/* Stops a process, and waits until it is: a thread may go on for a moment. */
void stop_process(pid_t pid);

/* The process of the only store that is open. */
pid_t store_process(void);

#endif

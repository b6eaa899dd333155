/* engine_directory_fixture.h - the engine of directories, and transfers of it, in directory_fixture.h. */
#ifndef TESTS_ENGINE_DIRECTORY_FIXTURE_H
#define TESTS_ENGINE_DIRECTORY_FIXTURE_H

#include "tests/unit/store/transfer/directory_fixture.h"

#include "store/transfer/engine.h"

enum {
	WHOLE_MS = 1000, /* limit of a transfer */
	DAY = 24 * 3600,
};

extern void *engine;
extern atomic_bool is_canceled;
extern unsigned n_begun; /* of the last transfer, and the size that it said */

/*
 * For cmocka: the engine of a new directory; with the number 0 for the directory, or for other files that are
 * opened. At the end nothing may be left of it.
 */
int begin_engine(void **state);
int begin_engine_at_0(void **state);
int begin_engine_without_stdin(void **state);
int end_engine(void **state);

/* Defines a test that is run three times: with descriptors as usual, from 0, and without standard input. */
#define ENGINE_TEST(name)                                                       \
	static void name(void **state);                                         \
	TEST_WITH(name##_as_usual, begin_engine, end_engine)                    \
	{                                                                       \
		name(state);                                                    \
	}                                                                       \
	TEST_WITH(name##_at_0, begin_engine_at_0, end_engine)                   \
	{                                                                       \
		name(state);                                                    \
	}                                                                       \
	TEST_WITH(name##_without_stdin, begin_engine_without_stdin, end_engine) \
	{                                                                       \
		name(state);                                                    \
	}                                                                       \
	static void name(void **state __attribute__((unused)))

struct trial {
	enum store_operation operation;
	const char *name;
	enum store_condition condition;
	const char *etag;
	const char *bytes; /* PUT: NULL: "new" */
	size_t n_bytes;
	uint64_t size;          /* PUT: that it says it has; 0: n_bytes */
	uint64_t most;          /* GET, LIST; 0: a MiB */
	void (*at_begin)(void); /* may be NULL */
};

/*
 * Runs it, with that result; what is wrong is told with the name. Nothing may be left open or in memory. The
 * reply is valid until the next.
 */
const struct store_reply *run_trial(const struct trial *trial, int want);
#define RUN(want, ...) run_trial(&(const struct trial){__VA_ARGS__}, want)

/* The file of the last transfer: its size; its bytes, terminated, in a buffer of its own. */
size_t received_size(void);
const char *received_bytes(void);

/* The tag of an object as HEAD tells it. */
const char *head_tag(const char *name);

#endif

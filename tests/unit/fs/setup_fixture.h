/*
 * setup_fixture.h - checks before the mount, of a daemon whose parts are not opened, below a directory of the
 * test. Links with --wrap of what it defines, see meson.build.
 */
#ifndef TESTS_UNIT_FS_SETUP_FIXTURE_H
#define TESTS_UNIT_FS_SETUP_FIXTURE_H

#include <sys/resource.h>

#include "store/share/share_service.h"
#include "fs/setup.h"
#include "gsym/base/vec.h"

/* What was called, and what fails. */
struct faked {
	const char *failing; /* the step that fails, with -ENFILE */
	unsigned mounts, caches, children, finished, shares, fetchers, guards, slots, limits;
	struct share_options share;
	int realpath_err; /* of the next call */
	bool moved;       /* what realpath() finds is gone then */
	int readlink_err, getrlimit_err;
	const char *self; /* our executable */
	bool no_cwd;
	char *directory; /* of the client of debuginfod */
	rlim_t cur, max; /* of descriptors */
};

extern struct faked sys;
extern struct gsymfs fs;
extern struct gsym_diag diag;
extern char top[];                /* the directory */
extern const void *digests_asked; /* whose digests */
extern bool kept_as_saved;

int setup_set_up(void **state);
int setup_tear_down(void **state);

/* Frees what the daemon holds, and makes another, with the source "src" and the worker /bin/sh. */
void setup_clear(void);
void setup_begin(void);

/* Removes the directory; what main() returns. */
int setup_main(int failed);

/* The path of @name below the directory of the test; of a directory that is made. */
char *below(const char *name);
char *new_dir(const char *name);

int prepare(void);

/* It fails, with what was said containing @text. Then all begins anew with the same options. */
void refuses(int err, const char *text);

/* The operands that are sources. */
void give(char *const *operands, size_t n);

#define GIVE(...) give((char *const[]){__VA_ARGS__}, sizeof((char *[]){__VA_ARGS__}) / sizeof(char *))

/* The allocation after @n others fails; negative: none does. */
void fail_allocation(long n);
bool allocation_failed(void);

#endif

/*
 * tree_files_fixture.h - files of a small tree as the kernel opens, reads and writes them, and the replies.
 * Links with --wrap of what it defines, too, see meson.build.
 */
#ifndef TESTS_UNIT_FS_TREE_FILES_FIXTURE_H
#define TESTS_UNIT_FS_TREE_FILES_FIXTURE_H

#include "tests/unit/fs/tree/tree_lookup_fixture.h"

#include "fs/call/runners.h"
#include "fs/tree/ops.h"

enum { NEVER_REPLIED = 12345 };

/* What libfuse was given since the last request. */
struct kernel_replies {
	unsigned n;
	int err;                  /* a positive errno, 0, or NEVER_REPLIED */
	struct fuse_file_info as; /* of an opened file */
	size_t written;
	struct stat attr;
	double timeout;
};

/* A q or log that was opened. */
struct opened_stream {
	unsigned n;
	bool is_log;
	bool fails; /* is out of memory, to be set before */
	struct image *image;
	struct request request;
	uid_t uid;
};

extern struct kernel_replies replies;
extern struct opened_stream opened_stream;
extern int open_outcome; /* of replies to OPEN */
extern struct list parked;

int files_set_up(void **state);
int files_tear_down(void **state);

/* Opens, as OWNER unless t.caller says otherwise; the file is kept in replies.as. */
void open_ino(uint64_t ino, int flags);

/* Opening must fail with @err, a positive errno, and keep nothing. */
void open_fails(uint64_t ino, int flags, int err);

/* Reads with an owner of locks, as read(2) does. */
void read_at(uint64_t ino, size_t size, off_t off);

/* The last reply has just these bytes. */
void replied_with(const char *bytes);

/* The last request failed with @err, a positive errno, and there was no other reply. */
void failed_with(int err);

/* Closes the file that was opened last; none is open then. */
void close_last(uint64_t ino);

struct open_file *last_file(void);

/* Runs the only call that is parked again. */
void go_on(void);

/* What a user holds in open files. */
size_t held_by(uid_t uid);

#endif

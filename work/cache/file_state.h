/* file_state.h - the identity of a file, its state, and its read permissions. */
#ifndef WORK_CACHE_FILE_STATE_H
#define WORK_CACHE_FILE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Which file, with which content: whatever changes that changes one of these, see file_key_unsettled(). */
struct file_key {
	uint64_t dev, ino;
	uint64_t size;
	int64_t mtime_ns, ctime_ns;
};

/* Of an open or listed file. */
struct file_key file_key_of(const struct stat *st);
bool file_key_same(const struct file_key *a, const struct file_key *b);

/*
 * Two changes within one step of the clock leave the same ctime. So what is seen of a file may be kept for
 * its key only once the file is older than that: seconds until then, 0 for most files.
 */
int64_t file_key_unsettled(const struct file_key *key);

struct file_state {
	uint64_t dev, ino;
	uint64_t size;
	int64_t mtime_ns, ctime_ns;
	uint32_t uid, gid;
	uint32_t mode; /* read permissions only; those of others than the owner only if they can reach the
			  file */
};

/*
 * The state of the open file @fd of @st. @open_to_all: every user may search the directories above it. Access
 * control lists only reduce permissions, see acl.h.
 */
struct file_state file_state_of(int fd, const struct stat *st, bool open_to_all);

/* The read permissions alone, as in struct file_state. */
mode_t file_readers(int fd, const struct stat *st, bool open_to_all);

/*
 * 0 if the open file @fd is a regular file in @state, permissions aside; -ESTALE if not; or the negative
 * errno of fstat(2), which says nothing about the file.
 */
int file_state_check(int fd, const struct file_state *state);

#endif

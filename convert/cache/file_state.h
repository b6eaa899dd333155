/* file_state.h - the identity of a file, its state, and its read permissions. */
#ifndef CONVERT_CACHE_FILE_STATE_H
#define CONVERT_CACHE_FILE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

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

/* Whether the open file @fd is a regular file in @state, permissions aside. */
bool file_state_is(int fd, const struct file_state *state);

#endif

#include "work/cache/file_state.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include "work/os/acl.h"
#include "gsym/base/fault.h"

enum { SETTLED_SECONDS = 2 /* more than a step of any file system's clock */ };

static int64_t nanoseconds(struct timespec t)
{
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

struct file_key file_key_of(const struct stat *st)
{
	return (struct file_key){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = nanoseconds(st->st_mtim),
		.ctime_ns = nanoseconds(st->st_ctim),
	};
}

bool file_key_same(const struct file_key *a, const struct file_key *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mtime_ns == b->mtime_ns &&
	       a->ctime_ns == b->ctime_ns;
}

int64_t file_key_unsettled(const struct file_key *key)
{
	int64_t left = key->ctime_ns / 1000000000 + SETTLED_SECONDS + 1 - time(NULL);
	return left > 0 ? left : 0;
}

mode_t file_readers(int fd, const struct stat *st, bool open_to_all)
{
	return open_to_all ? acl_reduced(fd, st->st_mode) & 0444 : st->st_mode & 0400;
}

struct file_state file_state_of(int fd, const struct stat *st, bool open_to_all)
{
	return (struct file_state){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = nanoseconds(st->st_mtim),
		.ctime_ns = nanoseconds(st->st_ctim),
		.uid = st->st_uid,
		.gid = st->st_gid,
		.mode = file_readers(fd, st, open_to_all),
	};
}

int file_state_check(int fd, const struct file_state *state)
{
	struct stat st;
	if (fstat(fd, &st))
		return system_error(errno);
	bool same = S_ISREG(st.st_mode) && st.st_dev == state->dev && st.st_ino == state->ino &&
		    (uint64_t)st.st_size == state->size && nanoseconds(st.st_mtim) == state->mtime_ns &&
		    nanoseconds(st.st_ctim) == state->ctime_ns && st.st_uid == state->uid;
	return same ? 0 : -ESTALE;
}

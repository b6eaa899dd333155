/*
 * gsym store prune: deletes from a directory what was not used for long, and the least recently used above a
 * size. It is run beside daemons that use the directory: an object that is used meanwhile stays, and so does
 * a lease that may be held. Stores behind a server have rules of their own.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "work/cache/cache_dir.h"
#include "cli/command/message.h"
#include "cli/store/store_command.h"
#include "store/client/store_directory.h"
#include "store/client/store_key.h"
#include "gsym/base/diag.h"
#include "gsym/base/vec.h"

enum {
	DAY = 24 * 3600,
	LEASE_STALE = 3600, /* seconds; no lease is held for more than two minutes without being renewed */
	TEMP_STALE = DAY,
};

struct pruned_file {
	char *name; /* below the directory */
	uint64_t bytes;
	int64_t used; /* seconds since the epoch */
};

struct prune {
	const char *path;
	const struct store_command *command;
	int dir;
	int64_t now; /* by the file server's clock */
	VEC(struct pruned_file) files;
	uint64_t bytes;
	uint64_t removed, removed_bytes;
	int err; /* the first */
};

static void prune_deinit(struct prune *p)
{
	for (size_t i = 0; i < p->files.n; i++)
		free(p->files.v[i].name);
	vec_free(&p->files);
	if (p->dir >= 0)
		close(p->dir);
}

/* When it was used last: clients set the time of access, which the file system may not do itself. */
static int64_t time_of_use(const struct stat *st)
{
	return st->st_atime > st->st_mtime ? st->st_atime : st->st_mtime;
}

/* ---- What there is ---- */

/* Of a client that was writing. Other names with a dot are those of the file system, such as ".nfs..." */
static bool is_temporary(const char *base)
{
	return strncmp(base, ".tmp-", 5) == 0 || strncmp(base, ".claim-", 7) == 0;
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), size = strlen(end);
	return n > size && strcmp(name + n - size, end) == 0;
}

static void note_error(struct prune *p, const char *name, int err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", p->path, name);
	fail(path, err, NULL);
	p->err = p->err ? p->err : err;
}

/* Deletes @name unless it has been used since @used. */
static bool remove_file(struct prune *p, const char *name, int64_t used)
{
	struct stat st;
	if (p->command->dry_run) {
		say(stdout, "%s", name);
		return true;
	}
	bool is_there = fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (is_there && time_of_use(&st) != used)
		return false;
	if (is_there && unlinkat(p->dir, name, 0) == 0)
		return true;
	if (errno != ENOENT)
		note_error(p, name, -errno);
	return false;
}

/* A file in one of the store's directories. What is none of its own is left alone. */
static int note_file(struct prune *p, const char *name, const struct stat *st)
{
	struct store_key key;
	const char *base = strrchr(name, '/') + 1;
	int64_t used = time_of_use(st);
	if (store_name_parse(name, &key)) {
		struct pruned_file file = {strdup(name), cache_file_bytes(st), used};
		if (!file.name || vec_push(&p->files, file)) {
			free(file.name);
			return -ENOMEM;
		}
		p->bytes += file.bytes;
	} else if ((is_temporary(base) && p->now - used > TEMP_STALE) ||
		   (ends_with(base, ".lease") && p->now - used > LEASE_STALE)) {
		remove_file(p, name, used);
	}
	return 0;
}

static bool is_hex_pair(const char *name)
{
	return strspn(name, "0123456789abcdef") == 2 && !name[2];
}

static int walk(struct prune *p, const char *below, bool has_pairs);

static int visit(struct prune *p, const char *below, const char *base, bool has_pairs)
{
	char name[STORE_NAME_SIZE];
	struct stat st;
	if (strcmp(base, ".") == 0 || strcmp(base, "..") == 0 ||
	    snprintf(name, sizeof(name), "%s/%s", below, base) >= (int)sizeof(name))
		return 0;
	if (fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno != ENOENT) /* deleted meanwhile */
			note_error(p, name, -errno);
		return 0;
	}
	if (S_ISDIR(st.st_mode))
		return has_pairs && is_hex_pair(base) ? walk(p, name, false) : 0;
	return S_ISREG(st.st_mode) ? note_file(p, name, &st) : 0;
}

static int walk(struct prune *p, const char *below, bool has_pairs)
{
	int fd = openat(p->dir, below, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int err = 0;
	if (!dir) {
		if (errno != ENOENT)
			note_error(p, below, -errno);
		if (fd >= 0)
			close(fd);
		return 0;
	}
	for (struct dirent *entry; !err && (errno = 0, entry = readdir(dir));)
		err = visit(p, below, entry->d_name, has_pairs);
	if (!err && errno)
		note_error(p, below, -errno);
	closedir(dir);
	return err;
}

/* ---- What goes ---- */

static int compare_use(const void *a, const void *b)
{
	int64_t x = ((const struct pruned_file *)a)->used, y = ((const struct pruned_file *)b)->used;
	return (x > y) - (x < y);
}

static void remove_files(struct prune *p)
{
	int64_t oldest = p->command->max_age ? p->now - (int64_t)p->command->max_age * DAY : INT64_MIN;
	if (p->files.n)
		qsort(p->files.v, p->files.n, sizeof(p->files.v[0]), compare_use);
	for (size_t i = 0; i < p->files.n; i++) {
		const struct pruned_file *file = &p->files.v[i];
		if (file->used >= oldest && p->bytes <= p->command->max_size)
			break;
		if (!remove_file(p, file->name, file->used))
			continue;
		p->bytes -= file->bytes;
		p->removed_bytes += file->bytes;
		p->removed++;
	}
}

/* ---- The command ---- */

/* The time by the clock that the files have theirs from. */
static int read_clock(struct prune *p)
{
	char name[64];
	struct stat st;
	p->now = time(NULL);
	if (p->command->dry_run)
		return 0;
	snprintf(name, sizeof(name), ".tmp-clock-%ld-%lld", (long)getpid(), (long long)p->now);
	int fd = openat(p->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	int err = fstat(fd, &st) ? -errno : 0;
	close(fd);
	unlinkat(p->dir, name, 0);
	p->now = err ? p->now : st.st_mtime;
	return err;
}

static int prune(struct prune *p)
{
	int err = read_clock(p);
	if (!err)
		err = walk(p, ".", false); /* only temporary files are there */
	if (!err)
		err = p->command->session.layout == SESSION_BAZEL ? walk(p, "ac", false)
								  : walk(p, "gsymfs1", true);
	if (err)
		return fail(p->path, err, NULL);
	size_t found = p->files.n;
	remove_files(p);
	say(stdout, "%s: %s%" PRIu64 " objects of %" PRIu64 " bytes removed, %" PRIu64 " of %" PRIu64 " left",
	    p->path, p->command->dry_run ? "would be: " : "", p->removed, p->removed_bytes,
	    (uint64_t)found - p->removed, p->bytes);
	return p->err ? STATUS_FAILED : STATUS_OK;
}

int store_prune(const struct store_command *c, int n, char **operands)
{
	struct prune p = {.path = operands[0], .command = c};
	(void)n;
	if (strstr(operands[0], "://")) {
		complain("%s: is no directory; a server deletes objects by rules of its own, see gsym(1)",
			 operands[0]);
		return STATUS_USAGE;
	}
	struct gsym_diag diag = {""};
	p.dir = store_directory_open(operands[0], &diag);
	if (p.dir < 0)
		return session_refuse(&diag);
	int status = prune(&p);
	prune_deinit(&p);
	return status;
}

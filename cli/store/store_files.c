/*
 * The files of a store that is a directory, and gsym store list and prune.
 *
 * Prune deletes what a key signed, what was not used for long, and the least recently used above a size. It
 * is run beside daemons that use the directory: an object that is used meanwhile stays, and so does a lease
 * that may be held.
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
#include "store/client/store_address.h"
#include "gsym/base/diag.h"

enum {
	DAY = 24 * 3600,
	LEASE_STALE = 3600, /* seconds: no lease lasts longer */
	TEMP_STALE = DAY,
};

/* When it was used last: clients set the time of access, which the file system may not do itself. */
static int64_t time_of_use(const struct stat *st)
{
	return st->st_atime > st->st_mtime ? st->st_atime : st->st_mtime;
}

/* ---- What there is ---- */

static void note_error(struct stored_files *files, const char *name, int err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", files->path, name);
	fail(path, err, NULL);
	files->err = files->err ? files->err : err;
}

static int add_file(struct stored_files *files, const char *name, const struct stat *st)
{
	struct stored_file file = {.name = strdup(name),
				   .size = (uint64_t)st->st_size,
				   .bytes = cache_file_bytes(st),
				   .modified = st->st_mtime,
				   .used = time_of_use(st)};
	file.is_object = store_name_parse(name, &file.key);
	if (file.name && vec_push(&files->v, file) == 0)
		return 0;
	free(file.name);
	return -ENOMEM;
}

static bool is_hex_pair(const char *name)
{
	return strspn(name, "0123456789abcdef") == 2 && !name[2];
}

static int walk(struct stored_files *files, const char *below, bool has_pairs);

static int visit(struct stored_files *files, const char *below, const char *base, bool has_pairs)
{
	char name[STORE_NAME_SIZE];
	struct stat st;
	if (strcmp(base, ".") == 0 || strcmp(base, "..") == 0 ||
	    snprintf(name, sizeof(name), "%s/%s", below, base) >= (int)sizeof(name))
		return 0;
	if (fstatat(files->dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno != ENOENT) /* deleted meanwhile */
			note_error(files, name, -errno);
		return 0;
	}
	if (S_ISDIR(st.st_mode))
		return has_pairs && is_hex_pair(base) ? walk(files, name, false) : 0;
	return S_ISREG(st.st_mode) ? add_file(files, name, &st) : 0;
}

static int walk(struct stored_files *files, const char *below, bool has_pairs)
{
	int fd = openat(files->dir, below, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int err = 0;
	if (!dir) {
		if (errno != ENOENT)
			note_error(files, below, -errno);
		if (fd >= 0)
			close(fd);
		return 0;
	}
	for (struct dirent *entry; !err && (errno = 0, entry = readdir(dir));)
		err = visit(files, below, entry->d_name, has_pairs);
	if (!err && errno)
		note_error(files, below, -errno);
	closedir(dir);
	return err;
}

int stored_files_open(struct stored_files *files, const char *path)
{
	struct gsym_diag diag = {""};
	*files = (struct stored_files){.path = path, .dir = -1};
	if (strstr(path, "://")) {
		complain("%s: is no directory; for stores on servers, see gsym(1)", path);
		return STATUS_USAGE;
	}
	files->dir = store_directory_open(path, &diag);
	if (files->dir < 0)
		return session_refuse(&diag);
	int err = walk(files, ".", false); /* only temporary files are there */
	if (!err)
		err = walk(files, "gsymfs1", true);
	return err ? fail(path, err, NULL) : STATUS_OK;
}

void stored_files_close(struct stored_files *files)
{
	for (size_t i = 0; i < files->v.n; i++)
		free(files->v.v[i].name);
	vec_free(&files->v);
	if (files->dir >= 0)
		close(files->dir);
}

int stored_file_is_signed(const struct stored_files *files, const struct stored_file *file, const char *keys,
			  struct gsym_diag *diag)
{
	struct object_trailer trailer = {.is_signed = false};
	int fd = openat(files->dir, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : diag_set(diag, -errno, "%s: %s", file->name, strerror(errno));
	/* What has no trailer is damaged, and nobody's. */
	if (object_read_trailer(fd, file->size, &trailer, NULL))
		trailer.is_signed = false;
	close(fd);
	return trailer.is_signed ? trust_file_has(keys, trailer.signer, diag) : 0;
}

/* ---- list ---- */

static void print_file(const struct stored_file *file, int64_t now)
{
	char key[KEY_TEXT_SIZE];
	session_key_text(&file->key, key);
	printf("%s\t%" PRIu64 "\t%" PRId64 "\n", key, file->size,
	       now > file->modified ? now - file->modified : 0);
}

int store_list(const struct store_command *c, int n, char **operands)
{
	struct stored_files files;
	(void)c, (void)n;
	int status = stored_files_open(&files, operands[0]);
	if (status == STATUS_OK && files.err)
		status = STATUS_FAILED;
	for (size_t i = 0; i < files.v.n && status == STATUS_OK; i++)
		if (files.v.v[i].is_object)
			print_file(&files.v.v[i], time(NULL));
	stored_files_close(&files);
	return status;
}

/* ---- prune ---- */

struct prune {
	const struct store_command *command;
	struct stored_files files;
	int64_t now;                               /* by the file server's clock */
	uint64_t n, bytes, removed, removed_bytes; /* objects */
};

/* Of a client that was writing. Other names with a dot are those of the file system, such as ".nfs..." */
static bool is_temporary(const char *base)
{
	return strncmp(base, ".tmp-", 5) == 0;
}

static bool is_stale(const struct prune *p, const struct stored_file *file)
{
	const char *base = strrchr(file->name, '/') + 1, *end = strrchr(base, '.');
	int64_t age = p->now - file->used;
	return (is_temporary(base) && age > TEMP_STALE) ||
	       (end && end != base && strcmp(end, ".lease") == 0 && age > LEASE_STALE);
}

/* Deletes @file unless it has been used meanwhile. */
static bool remove_file(struct prune *p, const struct stored_file *file)
{
	struct stat st;
	const int dir = p->files.dir;
	if (p->command->dry_run) {
		say(stdout, "%s", file->name);
		return true;
	}
	bool is_there = fstatat(dir, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (is_there && time_of_use(&st) != file->used)
		return false;
	if (is_there && unlinkat(dir, file->name, 0) == 0)
		return true;
	if (errno != ENOENT)
		note_error(&p->files, file->name, -errno);
	return false;
}

static void remove_object(struct prune *p, struct stored_file *file)
{
	if (!remove_file(p, file))
		return;
	file->is_object = false;
	p->bytes -= file->bytes;
	p->removed_bytes += file->bytes;
	p->removed++;
}

static int compare_use(const void *a, const void *b)
{
	int64_t x = ((const struct stored_file *)a)->used, y = ((const struct stored_file *)b)->used;
	return COMPARE(x, y);
}

static void remove_unused(struct prune *p)
{
	int64_t oldest = p->command->max_age ? p->now - (int64_t)p->command->max_age * DAY : INT64_MIN;
	for (size_t i = 0; i < p->files.v.n; i++) {
		struct stored_file *file = &p->files.v.v[i];
		if (file->is_object && (file->used < oldest || p->bytes > p->command->max_size))
			remove_object(p, file);
	}
}

static int remove_signed(struct prune *p)
{
	const char *keys = p->command->signed_by;
	struct gsym_diag diag = {""};
	for (size_t i = 0; i < p->files.v.n && keys; i++) {
		struct stored_file *file = &p->files.v.v[i];
		int is_signed = file->is_object ? stored_file_is_signed(&p->files, file, keys, &diag) : 0;
		if (is_signed < 0)
			return session_refuse(&diag);
		if (is_signed)
			remove_object(p, file);
	}
	return STATUS_OK;
}

/* Counts objects, and deletes what hosts left that ended. What is none of the store's own is left alone. */
static void remove_left(struct prune *p)
{
	for (size_t i = 0; i < p->files.v.n; i++) {
		const struct stored_file *file = &p->files.v.v[i];
		if (!file->is_object && is_stale(p, file))
			remove_file(p, file);
		p->n += file->is_object;
		p->bytes += file->is_object ? file->bytes : 0;
	}
}

/* The time by the clock that the files have theirs from. */
static int read_clock(struct prune *p)
{
	char name[64];
	struct stat st;
	p->now = time(NULL);
	if (p->command->dry_run)
		return 0;
	snprintf(name, sizeof(name), ".tmp-clock-%ld-%lld", (long)getpid(), (long long)p->now);
	int fd = openat(p->files.dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	int err = fstat(fd, &st) ? -errno : 0;
	close(fd);
	unlinkat(p->files.dir, name, 0);
	p->now = err ? p->now : st.st_mtime;
	return err;
}

static int prune(struct prune *p)
{
	int err = read_clock(p);
	if (err)
		return fail(p->files.path, err, NULL);
	if (p->files.v.n)
		qsort(p->files.v.v, p->files.v.n, sizeof(p->files.v.v[0]), compare_use);
	remove_left(p);
	if (remove_signed(p) != STATUS_OK)
		return STATUS_FAILED;
	remove_unused(p);
	say(stdout, "%s: %s%" PRIu64 " objects of %" PRIu64 " bytes removed, %" PRIu64 " of %" PRIu64 " left",
	    p->files.path, p->command->dry_run ? "would be: " : "", p->removed, p->removed_bytes,
	    p->n - p->removed, p->bytes);
	return p->files.err ? STATUS_FAILED : STATUS_OK;
}

int store_prune(const struct store_command *c, int n, char **operands)
{
	struct prune p = {.command = c};
	(void)n;
	int status = stored_files_open(&p.files, operands[0]);
	if (status == STATUS_OK)
		status = prune(&p);
	stored_files_close(&p.files);
	return status;
}

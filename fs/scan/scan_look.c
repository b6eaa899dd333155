/*
 * What an event names is met like in a walk; then what was known at these paths and was not met is dropped.
 * So a file that was renamed is known by its new path before its old one is gone.
 *
 * Files with several paths and truncated ids concern more than what was named: of these only as much is done
 * as is certain, and a walk does the rest.
 */
#include "fs/scan/scan_look.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "work/os/beneath.h"
#include "fs/call/call.h"
#include "fs/images/catalogue.h"
#include "fs/scan/recheck.h"
#include "fs/scan/sweep.h"
#include "fs/sys/metrics.h"
#include "gsym/base/fault.h"

enum {
	/* Records of files that are gone and held no image are dropped by a walk only. */
	RECORDS_SPARE = 20000,
};

/* The directory whose entries are looked at. */
struct look {
	struct sweep *s;
	struct walk_visitor visitor;
	/* walk_entry() or walk_entry_alone() */
	int (*visit)(int root, int dir, const char *path, const char *name, bool open_to_all,
		     const struct walk_visitor *visitor);
	char path[PATH_MAX];
	int dir; /* opened with O_PATH; -1: it is not there, or none yet */
	bool any, open_to_all;
};

static void leave(struct look *look)
{
	if (look->dir >= 0)
		close(look->dir);
	look->dir = -1;
	look->any = false;
}

/* Enters the directory above, or the last one: @path. */
static int enter_one(struct look *look, const char *path)
{
	struct stat st;
	leave(look);
	look->dir = open_dir_inside(look->s->root, *path ? path : ".", look->visitor.avoid);
	if (look->dir < 0)
		return look->dir;
	if (fstat(look->dir, &st))
		return -errno;
	look->open_to_all = dir_open_to_all(look->dir);
	return sweep_enter(look->s, path, &st, look->open_to_all);
}

/* Enters SOURCE and all directories down to @dir. */
static int enter(struct look *look, const char *dir)
{
	char path[PATH_MAX];
	look->s->dirs.n = 0;
	int err = enter_one(look, "");
	for (size_t n = 0; !err && n < strlen(dir); n++) {
		n += strcspn(dir + n, "/");
		memcpy(path, dir, n);
		path[n] = 0;
		err = enter_one(look, path);
	}
	strcpy(look->path, dir);
	look->any = true;
	return err;
}

/* What cannot be looked at is left to a walk, which tells of it. */
static int unless_gone(struct look *look, int err)
{
	if (err == -ECANCELED)
		return err;
	look->s->unsure |= err && fault_of(err) != FAULT_ABSENT;
	return 0;
}

static int look_at(struct look *look, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char dir[PATH_MAX];
	size_t n = slash ? (size_t)(slash - path) : 0;
	if (strlen(path) >= sizeof(dir))
		return 0;
	memcpy(dir, path, n);
	dir[n] = 0;
	if (!look->any || strcmp(dir, look->path) != 0) {
		int err = enter(look, dir);
		if (err)
			leave(look);
		if (err)
			return unless_gone(look, err);
		sweep_refresh(look->s);
	}
	size_t n_dirs = look->s->dirs.n;
	int err = look->visit(look->s->root, look->dir, dir, name, look->open_to_all, &look->visitor);
	if (look->s->dirs.n != n_dirs)
		look->any = false; /* it was a directory, and the walk has left this one */
	return unless_gone(look, err);
}

static void forget_record(void *user, dev_t dev, ino_t ino)
{
	struct sweep *s = user;
	const struct file_record *r = index_find(&s->scan->index, dev, ino);
	s->n_added++;
	if (!r || r->pass == s->scan->pass)
		return; /* the same file has another image now */
	s->unsaved++;
	index_remove(&s->scan->index, dev, ino);
}

/* Unless a fault of the machine left unknown what a file holds: then the walk that follows decides. */
static void forget(struct sweep *s, const struct changes *changes)
{
	struct scan *scan = s->scan;
	for (size_t i = 0; i < changes->paths.n && !s->trouble; i++) {
		skipped_forget(scan->skipped, changes->paths.v[i], false, scan->pass);
		s->unsure |=
			!images_forget_path(scan->images, changes->paths.v[i], scan->pass, forget_record, s);
	}
}

/*
 * What was known below a directory that was moved away, and is not met elsewhere. Unless something could not
 * be looked at, which may be in there: then the walk that follows drops it.
 */
static void forget_moved(struct sweep *s, const struct changes *changes)
{
	struct scan *scan = s->scan;
	for (size_t i = 0; i < changes->moved.n && !s->unsure && !s->trouble; i++) {
		watch_forget_below(&scan->watch, changes->moved.v[i], scan->pass);
		skipped_forget(scan->skipped, changes->moved.v[i], true, scan->pass);
		s->unsure |=
			!images_forget_below(scan->images, changes->moved.v[i], scan->pass, forget_record, s);
	}
}

static int look_at_all(struct sweep *s, const struct changes *changes)
{
	struct look look = {.s = s, .visitor = sweep_visitor(s), .visit = walk_entry, .dir = -1};
	int err = 0;
	for (size_t i = 0; i < changes->paths.n && !err; i++)
		err = look_at(&look, changes->paths.v[i]);
	leave(&look);
	return err;
}

static int walk_below(struct look *look, const char *path)
{
	struct sweep *s = look->s;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char dir[PATH_MAX];
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 0, path);
	int err = enter(look, dir);
	if (err)
		return err;
	sweep_directory(s); /* so that by-path has the way to it from the beginning */
	return walk_entry(s->root, look->dir, dir, name, look->open_to_all, &look->visitor);
}

int scan_look_root(struct sweep *s, const char *path, const struct walk_visitor *visitor)
{
	struct look look = {.s = s, .visitor = *visitor, .dir = -1};
	int fd = open_dir_inside(s->root, path, visitor->avoid);
	int err = fd < 0 ? fd : walk_below(&look, path);
	if (fd >= 0)
		close(fd);
	leave(&look);
	if (fd >= 0)
		return err;
	log_warning(s->scan->log, "scan: /%s: cannot open: %s", path, strerror(-err));
	return fault_of(err) == FAULT_NETWORK ? err : -EIO;
}

void scan_look_aside(struct sweep *s, const char *path)
{
	if (scan_root_of(s->scan, path) == s->scan->n_roots)
		return;
	struct look look = {.s = s, .visitor = sweep_visitor(s), .visit = walk_entry_alone, .dir = -1};
	const struct sweep before = *s;
	memset(&s->dirs, 0, sizeof(s->dirs));
	if (look_at(&look, path) == 0 && strcmp(s->dir_path, path) == 0 && s->dirs.n)
		sweep_directory(s);
	leave(&look);
	vec_free(&s->dirs);
	memcpy(&s->dirs, &before.dirs, sizeof(s->dirs));
	memcpy(s->dir_path, before.dir_path, sizeof(s->dir_path));
	/* The walk is going to count it. */
	s->n_files = before.n_files;
	s->n_images = before.n_images;
	s->n_bad = before.n_bad;
}

/* Whether a walk should follow. */
static bool is_unsure(const struct sweep *s)
{
	const struct scan *scan = s->scan;
	return s->unsure || s->trouble || (s->n_added && scan->n_truncated) ||
	       scan->index.files.n > 2 * scan->n_records + RECORDS_SPARE;
}

static int look(struct sweep *s, const struct changes *changes)
{
	int err = sweep_begin(s);
	if (!err)
		err = look_at_all(s, changes);
	if (err)
		return err == -ECANCELED ? err : -EAGAIN;
	if (sweep_settle(s, false))
		s->unsure = true;
	forget(s, changes);
	forget_moved(s, changes);
	images_recheck(s->scan->images, s->scan->search);
	return is_unsure(s) ? -EAGAIN : 0;
}

static void resume_calls(struct images *images)
{
	struct list woken;
	list_init(&woken);
	images_looked(images, &woken);
	calls_resume(&woken);
}

int scan_look(struct scan *scan, struct changes *changes)
{
	struct sweep s = {.scan = scan, .partial = true, .root = -1};
	int64_t start = monotonic_ms();
	scan->pass++;
	changes_sort(changes);
	int err = look(&s, changes);
	resume_calls(scan->images);
	metric_add(&scan->metrics->scan_ms, (uint64_t)(monotonic_ms() - start));
	metric_add(&scan->metrics->scanned_files, s.n_files);
	metric_add(&scan->metrics->scans[SCAN_PARTIAL], 1); /* last: who sees it finds what it met */
	log_say(scan->log, LOG_LEVEL_DEBUG, "scan: %zu changed names, %zu files, %zu opened, %.2f s%s",
		changes->paths.n, s.n_files, s.n_opened, (double)(monotonic_ms() - start) / 1000,
		err == -EAGAIN ? "; a walk must find out more" : "");
	sweep_end(&s);
	return err;
}

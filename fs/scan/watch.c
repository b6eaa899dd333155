#include "fs/scan/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work/os/beneath.h"
#include "gsym/base/path.h"

enum {
	EVENTS = IN_CLOSE_WRITE | IN_MOVE | IN_CREATE | IN_DELETE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF,
	BUFFER_SIZE = 64 << 10,
	/* Of one batch of events; of more all new files are looked at, begun or not. */
	LOOKS_MAX = 64,
	LEAST_WATCHES = 4096, /* where the system's limit cannot be read */
	BUILD_ID_DIRS = 256,
};

struct watched {
	struct table_link table;
	int wd;
	uint32_t pass; /* of the walk that met it last */
	bool is_cache, is_root;
	char *path; /* below SOURCE when it was met; or NULL */
};

/* Half of what the user may have: other programs need some, too. */
static unsigned watches_most(void)
{
	unsigned most = 0;
	FILE *file = fopen("/proc/sys/fs/inotify/max_user_watches", "re");
	if (file) {
		if (fscanf(file, "%u", &most) != 1)
			most = 0;
		fclose(file);
	}
	return most ? most / 2 : LEAST_WATCHES;
}

void watch_open(struct watch *watch, const struct log *log)
{
	*watch = (struct watch){.log = log, .most = watches_most()};
	watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watch->fd < 0)
		log_warning(log, "scan: cannot watch for changes: %s%s; they are found by rescan= only",
			    strerror(errno),
			    errno == EMFILE ? " (fs.inotify.max_user_instances can be raised)" : "");
}

static void forget(struct watch *watch, struct watched *w)
{
	table_remove(&watch->dirs, &w->table);
	free(w->path);
	free(w);
}

/* Those that are in @dir, or all if it is NULL, unless the walk @pass met them; 0: none. */
static void forget_all(struct watch *watch, const char *dir, uint32_t pass)
{
	TABLE_EACH(struct watched, w, &watch->dirs) {
		if ((pass && w->pass == pass) || (dir && !(w->path && path_is_within(w->path, dir))))
			continue;
		inotify_rm_watch(watch->fd, w->wd);
		forget(watch, w);
	}
}

void watch_close(struct watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
	watch->fd = -1;
	forget_all(watch, NULL, 0);
	table_deinit(&watch->dirs);
}

void watch_sweep(struct watch *watch, uint32_t pass)
{
	if (watch->fd >= 0)
		forget_all(watch, NULL, pass);
}

void watch_forget_below(struct watch *watch, const char *path, uint32_t pass)
{
	forget_all(watch, path, pass);
}

/* ---- Directories ---- */

static struct watched *find(const struct watch *watch, int wd)
{
	return TABLE_FIND(struct watched, w, &watch->dirs, (uint64_t)wd, true); /* the hash is the key */
}

static void complain(struct watch *watch, int err)
{
	if (watch->complained)
		return;
	watch->complained = true;
	if (err == ENOSPC)
		log_warning(
			watch->log,
			"scan: only %zu directories are watched for changes; those in others are found by "
			"rescan= only: raise fs.inotify.max_user_watches (now twice %u)",
			watch->dirs.n, watch->most);
	else
		log_warning(watch->log,
			    "scan: cannot watch all directories for changes: %s; other changes are found by "
			    "rescan= only",
			    strerror(err));
}

/* What the kernel knows as @wd is the directory @path. */
static int note(struct watch *watch, int wd, const char *path, bool is_root, uint32_t pass)
{
	struct watched *w = find(watch, wd);
	if (w && w->pass == pass)
		return 0;
	char *copy = path ? strdup(path) : NULL;
	if (path && !copy)
		return -ENOMEM;
	if (!w) {
		w = calloc(1, sizeof(*w));
		if (!w || table_add(&watch->dirs, &w->table, (uint64_t)wd)) {
			free(w);
			free(copy);
			return -ENOMEM;
		}
		w->wd = wd;
	}
	free(w->path);
	w->path = copy;
	w->is_root = is_root;
	w->pass = pass;
	return 0;
}

/* The watch descriptor, or -1. By what was opened: its name may belong to something else by now. */
static int add(struct watch *watch, int dir, uint32_t events)
{
	char link[32];
	if (watch->fd < 0)
		return -1;
	if (watch->dirs.n >= watch->most) {
		complain(watch, ENOSPC);
		return -1;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	int wd = inotify_add_watch(watch->fd, link, events | IN_ONLYDIR);
	if (wd < 0)
		complain(watch, errno);
	return wd;
}

void watch_dir(struct watch *watch, int dir, const char *path, bool is_root, uint32_t pass)
{
	int wd = add(watch, dir, EVENTS);
	if (wd >= 0 && note(watch, wd, path, is_root, pass))
		inotify_rm_watch(watch->fd, wd);
}

void watch_cache(struct watch *watch, int dir, uint32_t pass)
{
	int wd = add(watch, dir, IN_DELETE);
	if (wd < 0)
		return;
	if (note(watch, wd, NULL, false, pass))
		inotify_rm_watch(watch->fd, wd);
	else
		find(watch, wd)->is_cache = true;
}

/* The directory @name in @parent for reading, unless it is on @avoid; a descriptor, or negative. */
static int open_dir(int parent, const char *name, dev_t avoid)
{
	if (avoid && entry_device(parent, name) == avoid)
		return -EXDEV;
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* What is in .build-id; closes @fd. */
static void watch_build_ids(struct watch *watch, int fd, dev_t avoid, uint32_t pass)
{
	DIR *d = fdopendir(fd);
	if (!d) {
		close(fd);
		return;
	}
	struct dirent *e;
	for (int n = 0; n < BUILD_ID_DIRS && (e = readdir(d));) {
		int sub = strlen(e->d_name) == 2 && *e->d_name != '.' ? open_dir(fd, e->d_name, avoid) : -1;
		if (sub < 0)
			continue;
		watch_dir(watch, sub, NULL, false, pass);
		close(sub);
		n++;
	}
	closedir(d);
}

static void watch_debug_dir(struct watch *watch, const char *dir, dev_t avoid, uint32_t pass)
{
	int place = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = place < 0 || (avoid && entry_device(place, "") == avoid) ? -1 : open_dir(place, ".", 0);
	if (fd >= 0) {
		watch_dir(watch, fd, NULL, false, pass);
		int build_id = open_dir(fd, ".build-id", avoid);
		if (build_id >= 0) {
			watch_dir(watch, build_id, NULL, false, pass);
			watch_build_ids(watch, build_id, avoid, pass);
		}
		close(fd);
	}
	if (place >= 0)
		close(place);
}

void watch_debug_dirs(struct watch *watch, const struct search_path *search, size_t n_sources, uint32_t pass)
{
	if (watch->fd < 0)
		return;
	dev_t avoid = entry_device(AT_FDCWD, search->mountpoint);
	size_t n = 0;
	while (search->dirs[n])
		n++;
	for (size_t i = 0; i + n_sources < n; i++)
		watch_debug_dir(watch, search->dirs[i], avoid, pass);
}

/* ---- Events ---- */

/*
 * Whether a new directory entry is a file that is still being written: closing it causes another event. Links
 * are complete, as are files written without a name (O_TMPFILE), for which no event follows: their ctime is
 * later than their mtime.
 */
static bool looks_begun(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 && st->st_mtim.tv_sec == st->st_ctim.tv_sec &&
	       st->st_mtim.tv_nsec == st->st_ctim.tv_nsec;
}

static bool is_begun(const struct watched *w, const char *name, int root, dev_t avoid)
{
	struct stat st;
	bool begun = false;
	int dir = w->path && root >= 0 ? open_path_inside(root, *w->path ? w->path : ".", avoid) : -1;
	if (dir < 0)
		return false;
	if (!avoid || entry_device(dir, name) != avoid)
		begun = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && looks_begun(&st);
	close(dir);
	return begun;
}

struct looking {
	int root;
	dev_t avoid;
	unsigned looks;
	struct changes *changes;
};

/* A directory of debug files, of which only the names of other directories are watched. */
static void note_debug_dir(const struct inotify_event *event, struct changes *changes)
{
	if (event->mask & IN_ISDIR)
		changes->all = true; /* to be watched, or no longer */
	else
		changes->neighbours = true;
}

/* Events of a directory itself; its parent tells when it comes and goes. */
static void note_own(const struct watched *w, const struct inotify_event *event, struct changes *changes)
{
	if (event->mask & IN_ATTRIB || w->is_root)
		changes->all = true; /* who may reach what is below it */
}

static void note_entry(const struct watched *w, const struct inotify_event *event, struct looking *at)
{
	bool is_dir = event->mask & IN_ISDIR;
	if (is_dir && event->mask & IN_ATTRIB)
		at->changes->all = true;
	if (!is_dir && event->mask & IN_CREATE && ++at->looks <= LOOKS_MAX &&
	    is_begun(w, event->name, at->root, at->avoid))
		return;
	if (is_dir && event->mask & IN_MOVED_FROM)
		changes_add_moved(at->changes, w->path, event->name);
	else
		changes_add(at->changes, w->path, event->name);
}

/* @at NULL: a walk will see it. */
static void take_event(struct watch *watch, const struct inotify_event *event, struct looking *at)
{
	struct watched *w = find(watch, event->wd);
	if (event->mask & IN_IGNORED) {
		if (w)
			forget(watch, w);
	} else if (!at) {
		return;
	} else if (event->mask & (IN_Q_OVERFLOW | IN_UNMOUNT)) {
		at->changes->all = true;
	} else if (!w) {
		return; /* of a directory that has left SOURCE */
	} else if (w->is_cache) {
		at->changes->evicted = true;
	} else if (!w->path) {
		note_debug_dir(event, at->changes);
	} else if (!event->len) {
		note_own(w, event, at->changes);
	} else {
		note_entry(w, event, at);
	}
}

static void take(struct watch *watch, struct looking *at)
{
	static _Alignas(struct inotify_event) char buffer[BUFFER_SIZE]; /* of the scan thread */
	for (ssize_t n; (n = read(watch->fd, buffer, sizeof(buffer))) > 0;) {
		for (const char *p = buffer; p < buffer + n;) {
			const struct inotify_event *event = (const void *)p;
			p += sizeof(*event) + event->len;
			take_event(watch, event, at);
		}
	}
}

void watch_read(struct watch *watch, int root, dev_t avoid, struct changes *ret)
{
	struct looking at = {root, avoid, 0, ret};
	take(watch, &at);
}

void watch_drain(struct watch *watch)
{
	take(watch, NULL);
}

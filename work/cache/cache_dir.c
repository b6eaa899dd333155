#include "work/cache/cache_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "gsym/base/diag.h"
#include "gsym/base/vec.h"

/* ---- Location ---- */

/*
 * $HOME if it belongs to the user: with the option "user" in fstab, mount(8) clears it and mount.fuse3(8)
 * sets /root. Otherwise the home directory in the user database, or NULL.
 */
static const char *find_home(void)
{
	const char *home = getenv("HOME");
	struct stat st;
	if (home && home[0] == '/' && stat(home, &st) == 0 && st.st_uid == geteuid())
		return home;
	const struct passwd *user = getpwuid(geteuid());
	return user && user->pw_dir ? user->pw_dir : home;
}

/* $XDG_CACHE_HOME/gsymfs, ~/.cache/gsymfs, or for root /var/cache/gsymfs. */
static int default_path(char **ret)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = find_home();
	int n;
	if (geteuid() == 0)
		n = asprintf(ret, "/var/cache/gsymfs");
	else if (xdg && xdg[0] == '/')
		n = asprintf(ret, "%s/gsymfs", xdg);
	else if (home && home[0] == '/')
		n = asprintf(ret, "%s/.cache/gsymfs", home);
	else
		return -ENOENT;
	return n < 0 ? -ENOMEM : 0;
}

int cache_dir_make(const char *path)
{
	CLEANUP(freep) char *parent = strdup(path);
	if (!parent)
		return -ENOMEM;
	for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(parent, 0755) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

/* A user who can write there could forge answers, and read files which the owner of an image protects. */
static int check_owner(int fd, const char *path, struct gsym_diag *diag)
{
	struct stat st;
	if (fstat(fd, &st))
		return diag_set(diag, -errno, "cache directory '%s': cannot stat: %s", path, strerror(errno));
	if (st.st_uid != geteuid())
		return diag_set(diag, -EPERM,
				"cache directory '%s' belongs to user %u: choose another with cache=DIR",
				path, (unsigned)st.st_uid);
	if (st.st_mode & 022)
		return diag_set(diag, -EPERM, "cache directory '%s' is writable by others: chmod it to 0700",
				path);
	return 0;
}

int cache_dir_open(const char *path, int *ret_fd, char **ret_path, struct gsym_diag *diag)
{
	CLEANUP(freep) char *own = NULL;
	int err = 0;
	if (path)
		own = strdup(path);
	else
		err = default_path(&own);
	if (err == -ENOENT)
		return diag_set(diag, err, "no directory for the cache: set HOME or cache=DIR");
	if (err || !own)
		return diag_set(diag, -ENOMEM, "no memory for the name of the cache directory");
	err = cache_dir_make(own);
	if (err)
		return diag_set(diag, err, "cache directory '%s': cannot create: %s", own, strerror(-err));
	int fd = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return diag_set(diag, -errno, "cache directory '%s': cannot open: %s", own, strerror(errno));
	err = check_owner(fd, own, diag);
	if (err) {
		close(fd);
		return err;
	}
	char *absolute = realpath(own, NULL);
	*ret_fd = fd;
	*ret_path = absolute ? absolute : TAKE(own);
	return 0;
}

/* ---- Content ---- */

struct cached {
	char name[CACHE_KEY_SIZE + 8];
	uint64_t size;
	int64_t used;   /* seconds since the epoch */
	uint32_t owner; /* of the object file */
};

typedef VEC(struct cached) cached_vec;

enum { LINK_SECONDS = 30 * 24 * 3600 };

/* Of entries by earlier versions, whose names have no owner. */
enum { EARLIER_DIGITS = FINGERPRINT_DIGITS - OWNER_DIGITS };

/* The directory may hold unrelated files of the user: only names in the cache's format may be deleted. */
static bool is_cached(const char *name)
{
	static const char hex[] = "0123456789abcdef", id_letters[] = "0123456789abcdefxh-";
	const char *dash = strrchr(name, '-');
	if (!dash || dash == name || dash - name >= ID_TEXT_SIZE ||
	    strspn(name, id_letters) < (size_t)(dash - name))
		return false;
	size_t digits = strspn(dash + 1, hex);
	if (digits != FINGERPRINT_DIGITS && digits != EARLIER_DIGITS)
		return false;
	const char *suffix = dash + 1 + digits;
	return strcmp(suffix, CACHE_GSYM_SUFFIX) == 0 || strcmp(suffix, CACHE_FAILED_SUFFIX) == 0;
}

/* ".tmp-<process>-<number>" */
static bool is_temporary(const char *name)
{
	static const char digits[] = "0123456789";
	size_t prefix = strlen(CACHE_TEMP_PREFIX);
	if (strncmp(name, CACHE_TEMP_PREFIX, prefix) != 0)
		return false;
	size_t pid = strspn(name + prefix, digits);
	const char *rest = name + prefix + pid;
	size_t number = *rest == '-' ? strspn(rest + 1, digits) : 0;
	return pid > 0 && number > 0 && rest[1 + number] == 0;
}

static bool is_index(const char *name)
{
	static const char hex[] = "0123456789abcdef";
	size_t prefix = strlen(CACHE_INDEX_PREFIX);
	return strncmp(name, CACHE_INDEX_PREFIX, prefix) == 0 && strspn(name + prefix, hex) == 16 &&
	       name[prefix + 16] == 0;
}

static bool is_link(const char *name)
{
	static const char hex[] = "0123456789abcdef";
	size_t prefix = strlen(CACHE_LINK_PREFIX);
	return strncmp(name, CACHE_LINK_PREFIX, prefix) == 0 && strlen(name) == CACHE_LINK_SIZE - 1 &&
	       strspn(name + prefix, hex) == CACHE_LINK_SIZE - 1 - prefix;
}

static bool is_ours(const char *name)
{
	return is_cached(name) || is_temporary(name) || is_index(name) || is_link(name);
}

DIR *cache_dir_list(int dir)
{
	/* Through "." rather than dup(2), which would share the file offset. */
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d && fd >= 0)
		close(fd);
	return d;
}

uint32_t cache_name_owner(const char *name)
{
	const char *digits = strrchr(name, '-') + 1;
	char owner[OWNER_DIGITS + 1] = "";
	if (strspn(digits, "0123456789abcdef") == FINGERPRINT_DIGITS)
		memcpy(owner, digits, OWNER_DIGITS);
	return (uint32_t)strtoul(owner, NULL, 16);
}

/* Without memory the file is left out until the next listing. */
static void add_cached(const char *name, const struct stat *st, cached_vec *vec)
{
	struct cached c = {
		.size = cache_file_bytes(st), .used = st->st_mtime, .owner = cache_name_owner(name)};
	if (strlen(name) >= sizeof(c.name))
		return;
	strcpy(c.name, name);
	if (vec_push(vec, c))
		return;
}

/* Removes a temporary file unless its writer still holds the lock. */
static void remove_stale(int dir, const char *name, const struct log *log)
{
	int fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && unlinkat(dir, name, 0) == 0)
		log_info(log, "cache: removed '%s', the stale temporary file of a crashed daemon", name);
	close(fd);
}

uint64_t cache_file_bytes(const struct stat *st)
{
	return (uint64_t)st->st_blocks * 512; /* st_blocks has this unit everywhere */
}

uint64_t cache_dir_shortage(int dir, uint64_t spare)
{
	struct statvfs fs;
	if (!spare || fstatvfs(dir, &fs))
		return 0;
	uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	return free_bytes < spare ? spare - free_bytes : 0;
}

static bool is_converted(const char *name)
{
	return is_cached(name) && strcmp(strrchr(name, '.'), CACHE_GSYM_SUFFIX) == 0;
}

static void count_entry(struct cache_sum *sum, const char *name, const struct stat *st)
{
	sum->bytes += cache_file_bytes(st);
	sum->files += is_converted(name);
}

/* Whether it is a link that is due; a file that is still used is identified once more. */
static bool is_due(const char *name, const struct stat *st, int64_t now)
{
	return is_link(name) && S_ISLNK(st->st_mode) && st->st_mtime < now - LINK_SECONDS;
}

struct cache_sum cache_dir_clean(int dir, const struct log *log)
{
	struct cache_sum sum = {0};
	DIR *d = cache_dir_list(dir);
	int64_t now = time(NULL);
	if (!d)
		return sum;
	for (struct dirent *e; (e = readdir(d));) {
		struct stat st;
		if (is_temporary(e->d_name))
			remove_stale(dir, e->d_name, log);
		else if (is_ours(e->d_name) && fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			 !(is_due(e->d_name, &st, now) && unlinkat(dir, e->d_name, 0) == 0))
			count_entry(&sum, e->d_name, &st);
	}
	closedir(d);
	return sum;
}

/* Least recently used files first, for each owner. */
static int by_owner(const void *a, const void *b)
{
	const struct cached *x = a, *y = b;
	return COMPARE(x->owner, y->owner) ?: COMPARE(x->used, y->used) ?: strcmp(x->name, y->name);
}

/* Fills @vec with the files that may be evicted, and returns the sum of all files of the cache. */
static struct cache_sum list_cached(int dir, cached_vec *vec)
{
	struct cache_sum sum = {0};
	DIR *d = cache_dir_list(dir);
	if (!d)
		return sum;
	for (struct dirent *e; (e = readdir(d));) {
		struct stat st;
		if (!is_ours(e->d_name) || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		count_entry(&sum, e->d_name, &st);
		if (is_cached(e->d_name))
			add_cached(e->d_name, &st, vec);
	}
	closedir(d);
	return sum;
}

/* True if the file is gone, possibly because another daemon deleted it first. */
static bool delete (int dir, const struct cached *c, const struct log *log)
{
	char link[CACHE_LINK_SIZE];
	if (unlinkat(dir, c->name, 0))
		return errno == ENOENT;
	cache_link_name(link, c->name);
	unlinkat(dir, link, 0);
	log_event(log, "cache: evicted '%s' (%llu bytes)", c->name, (unsigned long long)c->size);
	return true;
}

/* The files of one owner: files.v[next, end) are left, of those that were tried. */
struct owner_share {
	uint64_t bytes;
	size_t next, end;
};

typedef VEC(struct owner_share) share_vec;

/* Without memory some owners are left out until the next eviction. */
static void list_shares(const cached_vec *files, share_vec *ret)
{
	for (size_t i = 0; i < files->n; i++) {
		const struct cached *c = &files->v[i];
		if ((!i || c->owner != c[-1].owner) && vec_push(ret, (struct owner_share){.next = i}))
			return;
		struct owner_share *share = &ret->v[ret->n - 1];
		share->bytes += c->size;
		share->end = i + 1;
	}
}

static struct owner_share *largest_share(const share_vec *shares)
{
	struct owner_share *largest = shares->v;
	for (size_t i = 1; i < shares->n; i++)
		if (shares->v[i].bytes > largest->bytes)
			largest = &shares->v[i];
	return largest;
}

struct cache_sum cache_dir_evict(int dir, const struct cache_bounds *bounds, const char *keep,
				 const struct log *log)
{
	cached_vec files = {0};
	share_vec shares = {0};
	struct cache_sum sum = list_cached(dir, &files);
	uint64_t most = sum.bytes > bounds->limit ? bounds->target : sum.bytes,
		 shortage = cache_dir_shortage(dir, bounds->spare),
		 affordable = sum.bytes > shortage ? sum.bytes - shortage : 0;
	most = most < affordable ? most : affordable;
	if (sum.bytes > most && files.n) {
		qsort(files.v, files.n, sizeof(*files.v), by_owner);
		list_shares(&files, &shares);
	}
	while (shares.n && sum.bytes > most) {
		struct owner_share *share = largest_share(&shares);
		if (share->next == share->end)
			break; /* what is left of it is @keep: no other owner's files go instead */
		const struct cached *c = &files.v[share->next++];
		if (strcmp(c->name, keep) == 0)
			continue;
		share->bytes -= c->size;
		if (!delete (dir, c, log))
			continue;
		sum.bytes -= c->size;
		sum.files -= is_converted(c->name);
		sum.evicted++;
	}
	vec_free(&files);
	vec_free(&shares);
	return sum;
}

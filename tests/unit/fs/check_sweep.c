/*
 * Scans of small directories, by walks and by events: what the catalogue, the log and the list of skipped
 * files have of each file. Files are recipes: what a worker would find in them.
 */
#include "images_fixture.h"

#include "fs/scan/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

#include "fs/images/basename.h"
#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "fs/images/evicted.h"
#include "fs/scan/index_store.h"
#include "fs/scan/recheck.h"
#include "fs/scan/remote.h"
#include "fs/scan/scan_look.h"
#include "fs/scan/scan_pass.h"
#include "fs/sys/metrics.h"
#include "gsym/base/vec.h"
#include "tests/unit/wrap_asprintf.h"

/* ---- The worker, and the log ---- */

static atomic_uint n_identified;

/* What letters of a recipe mean: kinds are upper case. */
static void set_flag(struct image_identity *image, char letter)
{
	switch (letter) {
	case 'E': image->kind = IMAGE_ELF; break;
	case 'M': image->kind = IMAGE_MACHO; break;
	case 'B': image->kind = IMAGE_BREAKPAD; break;
	case 'G': image->kind = IMAGE_GSYM_FILE; break;
	case 'P': image->kind = IMAGE_PDB; break;
	case 'd': image->has_dwarf = true; break;
	case 's': image->has_symtab = true; break;
	case 'g': image->has_gsym = true; break;
	case 'o': image->has_go = true; break;
	case 't': image->has_text = true; break;
	case 'l': image->has_lost = true; break;
	case 'c': image->id_is_truncated = true; break;
	case 'h': image->id_is_hash = true; break;
	default: fail_msg("no such letter: %c", letter);
	}
}

/* "<id> <letters> [<name> [<architecture>]]" */
static void add_image(struct identified *ret, const char *line)
{
	struct image_identity *image = &ret->images[ret->n++];
	char id[2 * IMAGE_ID_MAX + 1], letters[32];
	*image = (struct image_identity){.kind = IMAGE_OTHER};
	assert_in_range(sscanf(line, "%128s %31s %255s %15s", id, letters, image->name, image->arch), 2, 4);
	image->id_size = id_parse(id, image->id);
	for (const char *letter = letters; *letter; letter++)
		set_flag(image, *letter);
}

static int fail_as(int err, enum fault fault, const char *why, struct identified *ret, struct gsym_diag *diag)
{
	ret->fault = fault;
	snprintf(diag->text, sizeof(diag->text), "%s", why);
	return err;
}

/* A line: "!<kind of failure> <reason>", "~<what it lacks>", "#": it must be hashed, or an image. */
static int follow(const char *line, bool hashes, struct identified *ret, struct gsym_diag *diag)
{
	if (strncmp(line, "!bad ", 5) == 0)
		return fail_as(-EBADMSG, FAULT_FILE, line + 5, ret, diag);
	if (strncmp(line, "!limit ", 7) == 0)
		return fail_as(-EFBIG, FAULT_LIMIT, line + 7, ret, diag);
	if (strncmp(line, "!machine ", 9) == 0)
		return fail_as(-EMFILE, FAULT_MACHINE, line + 9, ret, diag);
	if (strncmp(line, "!worker ", 8) == 0)
		return fail_as(-ECHILD, FAULT_MACHINE, line + 8, ret, diag);
	if (strncmp(line, "!stop", 5) == 0)
		return fail_as(-ECANCELED, FAULT_MACHINE, "", ret, diag);
	if (*line == '~')
		snprintf(ret->lost.text, sizeof(ret->lost.text), "%s", line + 1);
	else if (*line == '#' && !hashes)
		ret->to_hash = 1000;
	else if (*line != '#')
		add_image(ret, line);
	return 0;
}

int __wrap_identify(struct identifier *identifier, int fd, uint64_t size, uint64_t hash_max,
		    struct identified *ret, struct gsym_diag *diag);
void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

int __wrap_identify(struct identifier *identifier, int fd, uint64_t size, uint64_t hash_max,
		    struct identified *ret, struct gsym_diag *diag)
{
	char recipe[4096], *rest;
	int err = 0;
	assert_string_equal(identifier->worker, "worker");
	atomic_fetch_add(&n_identified, 1);
	assert_true(size < sizeof(recipe));
	assert_int_equal(pread(fd, recipe, size, 0), size);
	recipe[size] = 0;
	*ret = (struct identified){.fault = FAULT_MACHINE};
	for (char *line = strtok_r(recipe, "\n", &rest); line && !err && !ret->to_hash;
	     line = strtok_r(NULL, "\n", &rest))
		err = follow(line, hash_max >= IMAGE_HASH_MAX, ret, diag);
	return err;
}

static const char *unopenable; /* the file that cannot be opened, */
static int why_not;            /* and why; NULL: none */

int __real_open_beneath(int dir, const char *path, int flags);
int __wrap_open_beneath(int dir, const char *path, int flags);

int __wrap_open_beneath(int dir, const char *path, int flags)
{
	return unopenable && strcmp(path, unopenable) == 0 ? why_not : __real_open_beneath(dir, path, flags);
}

/* What follows a walk: how often since the last look at it. */
static struct {
	unsigned remote, kernel, watches, cache, evicted, neighbours;
} followed;

void __real_notify_release(struct notify *notify);
void __real_watch_sweep(struct watch *watch, uint32_t pass);
void __real_cache_trim(struct cache *cache);
void __real_images_close_evicted(struct images *images, struct cache *cache);
void __real_images_recheck(struct images *images, const struct search_path *search);
void __wrap_remote_recheck(struct remote *remote);
void __wrap_notify_release(struct notify *notify);
void __wrap_watch_sweep(struct watch *watch, uint32_t pass);
void __wrap_cache_trim(struct cache *cache);
void __wrap_images_close_evicted(struct images *images, struct cache *cache);
void __wrap_images_recheck(struct images *images, const struct search_path *search);

void __wrap_remote_recheck(struct remote *remote)
{
	assert_non_null(remote);
	followed.remote++;
}

void __wrap_notify_release(struct notify *notify)
{
	followed.kernel++;
	__real_notify_release(notify);
}

void __wrap_watch_sweep(struct watch *watch, uint32_t pass)
{
	followed.watches++;
	__real_watch_sweep(watch, pass);
}

void __wrap_cache_trim(struct cache *cache)
{
	followed.cache++;
	__real_cache_trim(cache);
}

void __wrap_images_close_evicted(struct images *images, struct cache *cache)
{
	followed.evicted++;
	__real_images_close_evicted(images, cache);
}

void __wrap_images_recheck(struct images *images, const struct search_path *search)
{
	followed.neighbours++;
	__real_images_recheck(images, search);
}

static char logged[16384]; /* one line a message, with the first letter of its level */

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
{
	size_t n = strlen(logged);
	va_list args;
	if (level > log->most)
		return;
	n += (size_t)snprintf(logged + n, sizeof(logged) - n, "%c ", "EWID"[level]);
	va_start(args, fmt);
	n += (size_t)vsnprintf(logged + n, sizeof(logged) - n, fmt, args);
	va_end(args);
	assert_true(n + 1 < sizeof(logged));
	strcpy(logged + n, "\n");
}

/* What was logged since the last call. */
static void expect_log(const char *expected)
{
	assert_string_equal(logged, expected);
	*logged = 0;
}

/* ---- A source, and its scanner ---- */

struct scanned_source {
	struct images_fixture *f;
	char top[64], dir[80], cache_dir[80];
	struct log log;
	struct cache cache;
	struct metrics metrics;
	struct skipped skipped;
	struct search_path search;
	const char *search_dirs[2];
	struct scan_root roots[2];
	struct scan scan;
	struct changes changes;
	size_t n_open; /* descriptors before, */
	long n_live;   /* and allocations */
};

static size_t count_descriptors(void)
{
	size_t n = 0;
	DIR *dir = opendir("/proc/self/fd");
	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void begin_scan(struct scanned_source *s)
{
	s->scan = (struct scan){
		.source = s->dir,
		.roots = s->roots,
		.n_roots = 1,
		.names = "NAMES",
		.mountpoint = "/nonexistent",
		.worker = "worker",
		.images = &s->f->images,
		.search = &s->search,
		.cache = &s->cache,
		.metrics = &s->metrics,
		.skipped = &s->skipped,
		.log = &s->log,
		.stop_fd = -1,
		.watch.fd = -1,
	};
	s->roots[0] = (struct scan_root){s->dir, ""};
	hash_lane_init(&s->scan.hashes);
	digest_lane_init(&s->scan.digesting);
	s->scan.index.digests = &s->f->images.digests;
}

static void end_scan(struct scanned_source *s)
{
	hash_lane_stop(&s->scan.hashes);
	hash_lane_deinit(&s->scan.hashes);
	digest_lane_deinit(&s->scan.digesting);
	index_deinit(&s->scan.index);
}

static void open_cache(struct scanned_source *s)
{
	assert_int_equal(cache_open(&s->cache, s->cache_dir, 1 << 20, 0, &s->log, NULL), 0);
}

static int set_up(void **state)
{
	long before = live;
	struct scanned_source *s = calloc(1, sizeof(*s));
	void *fixture;
	s->n_open = count_descriptors();
	images_fixture_set_up(&fixture);
	s->f = fixture;
	strcpy(s->top, "/tmp/gsymfs-sweep-XXXXXX");
	assert_non_null(mkdtemp(s->top));
	assert_int_equal(chmod(s->top, 0755), 0);
	snprintf(s->dir, sizeof(s->dir), "%s/source", s->top);
	snprintf(s->cache_dir, sizeof(s->cache_dir), "%s/cache", s->top);
	assert_int_equal(mkdir(s->dir, 0755) | chmod(s->dir, 0755) | mkdir(s->cache_dir, 0700), 0);
	s->log.most = LOG_LEVEL_WARNING;
	long n_live = live;
	open_cache(s);
	cache_close(&s->cache);
	/* Its path comes from realpath(3), where allocations are not counted, each time. */
	s->n_live = before + 2 * (live - n_live);
	open_cache(s);
	s->search_dirs[0] = s->dir;
	s->search = (struct search_path){.dirs = s->search_dirs, .n_sources = 1};
	skipped_init(&s->skipped, &s->log);
	begin_scan(s);
	atomic_store(&n_identified, 0);
	unopenable = NULL;
	*logged = 0;
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scanned_source *s = *state;
	void *fixture = s->f;
	char command[128];
	end_scan(s);
	changes_clear(&s->changes);
	skipped_deinit(&s->skipped);
	cache_close(&s->cache);
	images_fixture_tear_down(&fixture);
	assert_int_equal(count_descriptors(), s->n_open);
	snprintf(command, sizeof(command), "rm -r '%s'", s->top);
	assert_int_equal(system(command), 0);
	long n_live = s->n_live;
	free(s);
	assert_int_equal(live, n_live);
	return 0;
}

/* ---- Files ---- */

/* The absolute path of @name below the source, until the call after the next. */
static const char *in(const struct scanned_source *s, const char *name)
{
	static char paths[2][256];
	static unsigned n;
	char *path = paths[n++ % 2];
	snprintf(path, sizeof(paths[0]), "%s/%s", s->dir, name);
	return path;
}

static void make_dir(struct scanned_source *s, const char *path, mode_t mode)
{
	assert_int_equal(mkdir(in(s, path), 0700), 0);
	assert_int_equal(chmod(in(s, path), mode), 0);
}

static void make_file(struct scanned_source *s, const char *path, const char *recipe)
{
	FILE *file = fopen(in(s, path), "w");
	assert_non_null(file);
	assert_true(fputs(recipe, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(in(s, path), 0644), 0);
}

static void make_link(struct scanned_source *s, const char *target, const char *path)
{
	assert_int_equal(symlink(target, in(s, path)), 0);
}

static void move(struct scanned_source *s, const char *from, const char *to)
{
	assert_int_equal(rename(in(s, from), in(s, to)), 0);
}

static void drop_file(struct scanned_source *s, const char *path)
{
	assert_int_equal(unlink(in(s, path)), 0);
}

/* ---- What is known ---- */

enum { MOST_LINES = 32, LINE = 512 };

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* "<id> <path> <richness><flags> <mode>", for each file. */
static void describe_source(const struct image *image, const struct source *source, char ret[static LINE])
{
	static const char words[][5] = {"bare", "syms", "go", "text", "gsym", "dwrf", "pdb"};
	snprintf(ret, LINE, "%s %s %s%s%s%s %03o\n", image->id, source->path, words[source->richness],
		 source->has_text ? "+code" : "", source->has_lost ? "+lost" : "",
		 source->id_is_truncated ? "+cut" : "", source->mode);
}

static void expect_lines(char lines[][LINE], size_t n, const char *expected)
{
	char found[MOST_LINES * LINE] = "";
	qsort(lines, n, LINE, by_text);
	for (size_t i = 0; i < n; i++)
		strcat(found, lines[i]);
	assert_string_equal(found, expected);
}

static void expect_files(struct scanned_source *s, const char *expected)
{
	struct images *images = &s->f->images;
	char lines[MOST_LINES][LINE];
	size_t n = 0;
	const struct image *image;
	mutex_lock(&images->lock);
	for (uint32_t i = 0; (image = slots_from(&images->all, &i)); i++)
		for (size_t k = 0; k < image->sources.n; k++)
			describe_source(image, &image->sources.v[k], lines[n++]);
	mutex_unlock(&images->lock);
	expect_lines(lines, n, expected);
}

/* Whether by-name/<name> has the image. */
static bool is_called(struct scanned_source *s, const char *id, const char *name)
{
	struct images *images = &s->f->images;
	mutex_lock(&images->lock);
	const struct basename *basename = images_find_basename(images, name);
	const struct image *image = images_find(images, id);
	bool called = basename && image && images_find_member(images, basename, image);
	mutex_unlock(&images->lock);
	return called;
}

static void add_path(const struct path_tree *paths, const struct path_dir *dir, char *ret, size_t size)
{
	if (dir->parent == PATH_NONE)
		return;
	add_path(paths, path_tree_dir(paths, dir->parent), ret, size);
	size_t n = strlen(ret);
	snprintf(ret + n, size - n, "%s/", dir->name);
}

/* "<id> <path> <mode of its directory>" of each file in by-path. */
static void expect_paths(struct scanned_source *s, const char *expected)
{
	const struct path_tree *paths = &s->f->images.paths;
	char lines[MOST_LINES][LINE];
	size_t n = 0;
	const struct path_file *file;
	mutex_lock(&s->f->images.lock);
	for (uint32_t i = 0; (file = slots_from(&paths->files, &i)); i++) {
		const struct path_dir *dir = path_tree_dir(paths, file->dir);
		const struct image *image = slots_get(&s->f->images.all, file->image);
		char path[128] = "";
		if (!file->pass)
			continue;
		add_path(paths, dir, path, sizeof(path));
		snprintf(lines[n++], LINE, "%s %s%s %03o\n", image->id, path, file->name, dir->attr.mode);
	}
	mutex_unlock(&s->f->images.lock);
	expect_lines(lines, n, expected);
}

/* The mode that by-path shows of the directory @name of SOURCE, or of itself: "". */
static mode_t dir_mode_of(struct scanned_source *s, const char *name)
{
	const struct path_tree *paths = &s->f->images.paths;
	mutex_lock(&s->f->images.lock);
	const struct path_dir *dir = path_tree_dir(paths, s->f->top);
	if (*name)
		dir = path_tree_find_dir(paths, s->f->top, name);
	mode_t mode = dir ? dir->attr.mode : 0;
	mutex_unlock(&s->f->images.lock);
	return mode;
}

static size_t count_path_dirs(struct scanned_source *s)
{
	mutex_lock(&s->f->images.lock);
	size_t n = s->f->images.paths.dirs.n;
	mutex_unlock(&s->f->images.lock);
	return n;
}

/* The answer for what is not there. */
static int absent(struct scanned_source *s)
{
	mutex_lock(&s->f->images.lock);
	int err = s->f->images.absent;
	mutex_unlock(&s->f->images.lock);
	return err;
}

static bool is_hashing(struct scanned_source *s)
{
	mutex_lock(&s->f->images.lock);
	bool hashing = s->f->images.hashing;
	mutex_unlock(&s->f->images.lock);
	return hashing;
}

/* "<path>: <reason>" of each. */
static void expect_skipped(struct scanned_source *s, enum skipped_kind kind, bool sees_all,
			   const char *expected)
{
	struct skipped_list list;
	char found[4096] = "";
	assert_int_equal(skipped_show(&s->skipped, kind, sees_all, &list), 0);
	for (size_t i = 0; i < list.n; i++) {
		size_t n = strlen(found);
		snprintf(found + n, sizeof(found) - n, "%s: %s\n", list.v[i].path, list.v[i].reason);
	}
	skipped_list_deinit(&list);
	assert_string_equal(found, expected);
}

/* So many files were opened since the last call. */
static void expect_opened(unsigned n)
{
	assert_int_equal(atomic_exchange(&n_identified, 0), n);
}

static void walk_all(struct scanned_source *s, int outcome)
{
	assert_int_equal(scan_pass(&s->scan), outcome);
}

/* An event names @path, or some with spaces between them. */
static void look_at(struct scanned_source *s, const char *paths, int outcome)
{
	char text[256], *rest;
	snprintf(text, sizeof(text), "%s", paths);
	for (char *path = strtok_r(text, " ", &rest); path; path = strtok_r(NULL, " ", &rest))
		assert_int_equal(vec_push(&s->changes.paths, strdup(path)), 0);
	assert_int_equal(scan_look(&s->scan, &s->changes), outcome);
	changes_clear(&s->changes);
}

/* ---- Walks ---- */

static void kinds_of_files(void **state)
{
	struct scanned_source *s = *state;
	make_dir(s, "sub", 0755);
	make_file(s, "bare", "01 E");
	make_file(s, "symbols", "02 Es");
	make_file(s, "go", "03 Eso");
	make_file(s, "dwarf", "04 Esodt");
	make_file(s, "both", "05 Edg");
	make_file(s, "sub/gsym", "06 Eg");
	make_file(s, "sub/text", "07 Bd");
	make_file(s, "sub/pdb", "08 Pdg");
	make_file(s, "sub/hash", "09 Eh");
	make_file(s, "sub/lost", "0a Edl\n~truncated");
	make_file(s, "sub/two", "0b Md\n0c Mt");
	make_file(s, "none", "");
	s->log.most = LOG_LEVEL_INFO;
	walk_all(s, 0);
	assert_non_null(
		strstr(logged, "I scan: 12 files in 'NAMES', 11 with images, 0 damaged, 12 opened, "));
	expect_files(s, "01 bare bare 444\n02 symbols syms 444\n03 go go 444\n04 dwarf dwrf+code 444\n"
			"05 both dwrf 444\n06 sub/gsym gsym 444\n07 sub/text text 444\n08 sub/pdb pdb 444\n"
			"0a sub/lost dwrf+lost 444\n0b sub/two dwrf 444\n0c sub/two bare+code 444\n"
			"xxh3-09 sub/hash bare 444\n");
	expect_opened(12);
	expect_skipped(s, FILE_SKIPPED, true, "");
	expect_skipped(s, FILE_TRUNCATED, true, "sub/lost: truncated\n");
	assert_true(is_called(s, "0b", "two") && is_called(s, "0c", "two"));
	assert_false(is_called(s, "0b", "gsym"));
	assert_int_equal(atomic_load(&s->metrics.scanned_files), 12);
	assert_int_equal(atomic_load(&s->metrics.scans[SCAN_COMPLETE]), 1);
	mutex_lock(&s->f->images.lock);
	const struct source *source = &images_find(&s->f->images, "04")->sources.v[0];
	assert_int_equal(source->uid, geteuid());
	assert_int_equal(source->size, strlen("04 Esodt"));
	assert_int_equal(source->root, 0);
	assert_true(s->f->images.scanned);
	mutex_unlock(&s->f->images.lock);
}

/* What did not change is not opened again, also by the next daemon; what did is. */
static void opened_once(void **state)
{
	struct scanned_source *s = *state;
	make_file(s, "a", "01 Ed");
	make_file(s, "b", "02 Ed");
	make_file(s, "bad", "!bad damaged");
	walk_all(s, 0);
	expect_opened(3);
	walk_all(s, 0);
	expect_opened(0);
	make_file(s, "b", "03 Edt");
	walk_all(s, 0);
	expect_opened(1);
	expect_files(s, "01 a dwrf 444\n03 b dwrf+code 444\n");
	drop_file(s, "a");
	walk_all(s, 0);
	expect_files(s, "03 b dwrf+code 444\n");
	assert_int_equal(s->scan.index.files.n, 2);
	assert_int_equal(s->scan.n_records, 2);
	end_scan(s);
	begin_scan(s);
	index_load(&s->scan.index, 0, &s->cache, s->dir);
	assert_int_equal(s->scan.index.files.n, 2);
	walk_all(s, 0);
	expect_opened(0);
	expect_skipped(s, FILE_SKIPPED, true, "bad: damaged\n");
}

/* A walk that could not see all drops nothing. */
static void incomplete(void **state)
{
	struct scanned_source *s = *state;
	make_dir(s, "sub", 0755);
	make_file(s, "sub/a", "01 Ed");
	walk_all(s, 0);
	s->scan.source = "/nonexistent/gsymfs";
	walk_all(s, -EIO);
	expect_log("W scan: '/nonexistent/gsymfs': cannot open: No such file or directory\n");
	expect_files(s, "01 sub/a dwrf 444\n");
	assert_int_equal(absent(s), -EIO);
	assert_int_equal(atomic_load(&s->metrics.scans[SCAN_INCOMPLETE]), 1);
	assert_int_equal(s->scan.index.files.n, 1);
	s->scan.source = s->dir;
	walk_all(s, 0);
	assert_int_equal(absent(s), -ENOENT);
	drop_file(s, "sub/a");
	walk_all(s, 0);
	expect_files(s, "");
	assert_int_equal(s->scan.index.files.n, 0);
}

static void expect_followed(bool any, bool complete, bool has_servers)
{
	assert_int_equal(followed.kernel, any);
	assert_int_equal(followed.cache, any);
	assert_int_equal(followed.evicted, any);
	assert_int_equal(followed.neighbours, any);
	assert_int_equal(followed.watches, complete);
	assert_int_equal(followed.remote, has_servers);
	memset(&followed, 0, sizeof(followed));
}

/* What is done after each walk, after a complete one, and when there are servers. */
static void after_walks(void **state)
{
	static char servers;
	struct scanned_source *s = *state;
	make_file(s, "a", "01 E");
	memset(&followed, 0, sizeof(followed));
	walk_all(s, 0);
	expect_followed(true, true, false);
	s->scan.remote = (struct remote *)(void *)&servers;
	walk_all(s, 0);
	expect_followed(true, true, true);
	s->scan.source = "/nonexistent/gsymfs";
	walk_all(s, -EIO);
	expect_followed(true, false, true);
	s->scan.source = s->dir;
	make_file(s, "b", "!stop");
	walk_all(s, -ECANCELED);
	expect_followed(false, false, false);
}

/* by-path has the directories, however their names begin. */
static void paths(void **state)
{
	struct scanned_source *s = *state;
	make_dir(s, "a", 0755);
	make_dir(s, "a/a", 0750);
	make_dir(s, "a/a/a", 0711);
	make_dir(s, "aa", 0700);
	make_dir(s, "aab", 0755);
	make_dir(s, "aab/empty", 0755);
	make_dir(s, "aab/none", 0755);
	make_file(s, "aab/none/file", "");
	make_file(s, "f", "01 E");
	make_file(s, "a/f", "02 E");
	make_file(s, "a/a/a/f", "03 E");
	make_file(s, "a/a/a/g", "04 E\n05 E");
	make_file(s, "aa/f", "06 E");
	make_file(s, "aab/f", "07 E");
	make_link(s, "f", "aab/link");
	for (int i = 0; i < 2; i++) {
		walk_all(s, 0);
		expect_paths(s, "01 f 555\n02 a/f 555\n03 a/a/a/f 511\n04 a/a/a/g 511\n05 a/a/a/g 511\n"
				"06 aa/f 500\n07 aab/f 555\n07 aab/link 555\n");
		assert_int_equal(count_path_dirs(s), 6);
	}
	/* By events, in any order. */
	make_file(s, "aab/none/file", "08 E");
	make_file(s, "a/a/f", "09 E");
	make_file(s, "h", "0a E");
	look_at(s, "h aab/none/file a/a/f", 0);
	expect_paths(
		s,
		"01 f 555\n02 a/f 555\n03 a/a/a/f 511\n04 a/a/a/g 511\n05 a/a/a/g 511\n"
		"06 aa/f 500\n07 aab/f 555\n07 aab/link 555\n08 aab/none/file 555\n09 a/a/f 550\n0a h 555\n");
}

/* ---- Who may read ---- */

static void readable_as_there(void **state)
{
	struct scanned_source *s = *state;
	make_dir(s, "open", 0755);
	make_dir(s, "shut", 0750);
	make_file(s, "open/all", "01 E");
	make_file(s, "open/few", "02 E");
	make_file(s, "open/one", "03 E");
	make_file(s, "shut/all", "04 E");
	make_file(s, "shut/bad", "!bad damaged");
	make_file(s, "open/exec", "05 E");
	make_file(s, "shut/exec", "06 E");
	assert_int_equal(chmod(in(s, "open/exec"), 0777) | chmod(in(s, "shut/exec"), 0777), 0);
	assert_int_equal(chmod(in(s, "open/few"), 0640), 0);
	assert_int_equal(chmod(in(s, "open/one"), 0600), 0);
	walk_all(s, 0);
	expect_files(s, "01 open/all bare 444\n02 open/few bare 440\n03 open/one bare 400\n"
			"04 shut/all bare 400\n05 open/exec bare 444\n06 shut/exec bare 400\n");
	expect_skipped(s, FILE_SKIPPED, true, "shut/bad: damaged\n");
	expect_skipped(s, FILE_SKIPPED, false, "");
	assert_int_equal(dir_mode_of(s, "open"), 0555);
	assert_int_equal(dir_mode_of(s, "shut"), 0550);
	assert_int_equal(dir_mode_of(s, ""), 0555);
	/* Of a source that others cannot reach they see no names. */
	assert_int_equal(chmod(s->top, 0700), 0);
	walk_all(s, 0);
	assert_int_equal(dir_mode_of(s, ""), 0500);
	assert_int_equal(dir_mode_of(s, "open"), 0555);
	expect_files(s, "01 open/all bare 400\n02 open/few bare 400\n03 open/one bare 400\n"
			"04 shut/all bare 400\n05 open/exec bare 400\n06 shut/exec bare 400\n");
	expect_opened(7);
}

/* ---- Failures ---- */

static void failures_of_files(void **state)
{
	struct scanned_source *s = *state;
	make_file(s, "a", "01 Ed");
	make_file(s, "bad", "!bad damaged at 5");
	make_file(s, "limit", "!limit took too long");
	walk_all(s, 0);
	assert_non_null(strstr(logged, "'bad': damaged at 5; skipped until it changes\n"));
	assert_non_null(strstr(logged, "'limit': took too long; skipped until it changes, or for an hour\n"));
	assert_null(strstr(logged, "'a'"));
	*logged = 0;
	expect_opened(3);
	expect_skipped(s, FILE_SKIPPED, true, "bad: damaged at 5\nlimit: took too long\n");
	assert_true(s->scan.again > 0);
	assert_int_equal(absent(s), -EIO); /* it may hold what is looked for */
	walk_all(s, 0);
	expect_opened(0);
	expect_log("");
	assert_true(s->scan.again > 0);
	/* When it is due, or was replaced. */
	struct stat st;
	assert_int_equal(stat(in(s, "limit"), &st), 0);
	index_find(&s->scan.index, st.st_dev, st.st_ino)->again = 1;
	walk_all(s, 0);
	expect_opened(1);
	make_file(s, "limit", "02 Ed");
	make_file(s, "bad", "03 Ed\n~cut short");
	*logged = 0;
	walk_all(s, 0);
	expect_opened(2);
	assert_non_null(strstr(logged, "'bad': cut short; used as far as it goes\n"));
	expect_skipped(s, FILE_SKIPPED, true, "");
	expect_skipped(s, FILE_TRUNCATED, true, "bad: cut short\n");
	assert_int_equal(s->scan.again, 0);
	assert_int_equal(absent(s), -ENOENT);
	expect_files(s, "01 a dwrf 444\n02 limit dwrf 444\n03 bad dwrf 444\n");
	drop_file(s, "bad");
	walk_all(s, 0);
	expect_skipped(s, FILE_TRUNCATED, true, "");
}

/* A fault of the machine says nothing of the file: it keeps what it had, and is looked at again. */
static void faults_of_the_machine(void **state)
{
	struct scanned_source *s = *state;
	make_file(s, "a", "01 Ed");
	make_file(s, "b", "02 Ed");
	walk_all(s, 0);
	make_file(s, "a", "!machine no descriptors");
	make_file(s, "new", "!machine no memory at all");
	expect_opened(2);
	for (int i = 0; i < 2; i++) {
		walk_all(s, -EMFILE);
		expect_opened(2);
		assert_non_null(strstr(logged, "W scan: 'a': no descriptors; skipped until the next scan\n"));
		assert_non_null(strstr(logged, "W scan: 'new': no memory at all; skipped until"));
		expect_files(s, "01 a dwrf 444\n02 b dwrf 444\n");
		assert_int_equal(absent(s), -EIO);
		*logged = 0;
	}
	expect_skipped(s, FILE_SKIPPED, true, "");
	make_file(s, "a", "03 Ed");
	make_file(s, "new", "04 Ed");
	walk_all(s, 0);
	expect_files(s, "02 b dwrf 444\n03 a dwrf 444\n04 new dwrf 444\n");
}

/* A file that cannot be opened: of some reasons it is known that it hides no image. */
static void unopened(void **state)
{
	static const struct {
		int err, outcome;
		bool told;
	} cases[] = {{-ENOENT, 0, false}, {-EACCES, 0, true},  {-EPERM, 0, true},  {-ELOOP, 0, true},
		     {-ENXIO, 0, true},   {-ENOTDIR, 0, true}, {-EIO, -EIO, true}, {-ESTALE, -ESTALE, true}};
	struct scanned_source *s = *state;
	char line[256];
	make_file(s, "a", "01 E");
	make_file(s, "b", "02 E");
	unopenable = "a";
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		why_not = cases[i].err;
		walk_all(s, cases[i].outcome);
		snprintf(line, sizeof(line), "W scan: 'a': cannot open: %s; skipped until the next scan\n",
			 strerror(-why_not));
		expect_log(cases[i].told ? line : "");
		expect_files(s, "02 b bare 444\n");
		assert_int_equal(absent(s) == -ENOENT, !cases[i].outcome);
	}
	expect_opened(1);
	unopenable = NULL;
	walk_all(s, 0);
	expect_files(s, "01 a bare 444\n02 b bare 444\n");
	/* One that is known and unchanged need not be. */
	unopenable = "a";
	walk_all(s, 0);
	expect_log("");
}

/* Without a worker nothing more is opened, and at the end of the daemon nothing more is logged. */
static void ends_early(void **state)
{
	struct scanned_source *s = *state;
	make_file(s, "a", "01 Ed");
	walk_all(s, 0);
	expect_opened(1);
	for (unsigned i = 0; i < 3; i++) {
		char name[8];
		snprintf(name, sizeof(name), "b%u", i);
		make_file(s, name, "!worker cannot start gsym");
	}
	walk_all(s, -ECHILD);
	expect_opened(1);
	expect_log("E scan: cannot start gsym\n");
	expect_files(s, "01 a dwrf 444\n");
	for (unsigned i = 0; i < 3; i++) {
		char name[8];
		snprintf(name, sizeof(name), "b%u", i);
		make_file(s, name, "!stop");
	}
	uint64_t walks = atomic_load(&s->metrics.scans[SCAN_INCOMPLETE]);
	walk_all(s, -ECANCELED);
	expect_opened(1);
	expect_log("");
	assert_int_equal(atomic_load(&s->metrics.scans[SCAN_INCOMPLETE]), walks);
}

/* ---- Names ---- */

static void links_to_files(void **state)
{
	struct scanned_source *s = *state;
	make_dir(s, "lib", 0755);
	make_file(s, "lib/file.so.1.2", "01 Ed\n02 Ed");
	make_file(s, "lib/other", "");
	make_link(s, "lib/file.so.1.2", "file.so");
	make_link(s, "lib/other", "other.so");
	make_link(s, "lib/nothing", "nothing.so");
	walk_all(s, 0);
	assert_true(is_called(s, "01", "file.so") && is_called(s, "02", "file.so"));
	assert_true(is_called(s, "01", "file.so.1.2"));
	assert_false(is_called(s, "01", "other.so") || is_called(s, "01", "nothing.so"));
	drop_file(s, "file.so");
	walk_all(s, 0);
	assert_false(is_called(s, "01", "file.so"));
	assert_true(is_called(s, "01", "file.so.1.2"));
}

#define LONG_ID "00112233445566778899aabbccddeeff00112233"

/* Files that are called by their id have the name that they tell, compressed ones that without the suffix. */
static void titles_of_files(void **state)
{
	struct scanned_source *s = *state;
	make_dir(s, "00", 0755);
	make_file(s, "00/112233445566778899aabbccddeeff00112233.debug", LONG_ID " Ed libtold.so");
	make_file(s, "plain", "0102 Ed libuntold.so");
	make_file(s, "hashed", "0103 Eh libhash.so");
	make_file(s, "prog.xz", "0104 Ed");
	walk_all(s, 0);
	assert_true(is_called(s, LONG_ID, "libtold.so"));
	assert_true(is_called(s, LONG_ID, "112233445566778899aabbccddeeff00112233.debug"));
	assert_false(is_called(s, "0102", "libuntold.so"));
	assert_true(is_called(s, "0104", "prog"));
	assert_true(is_called(s, "0104", "prog.xz"));
	assert_false(is_called(s, "0102", "plai"));
}

/* In a source alone the text of such links says the name of a program that is elsewhere. */
static void titles_of_links(void **state)
{
	struct scanned_source *s = *state;
	make_dir(s, ".build-id", 0755);
	make_dir(s, ".build-id/00", 0755);
	make_dir(s, ".build-id/01", 0755);
	make_link(s, "/usr/lib/libaway.so", ".build-id/00/112233445566778899aabbccddeeff00112233");
	make_link(s, "/usr/lib/", ".build-id/00/112233445566778899aabbccddeeff00112234");
	make_link(s, "/usr/lib/libno.so", "00112233");
	make_file(s, "debug", LONG_ID " Ed");
	walk_all(s, 0);
	assert_true(is_called(s, LONG_ID, "libaway.so"));
	assert_true(is_called(s, LONG_ID, "debug"));
	assert_false(is_called(s, LONG_ID, "libno.so"));
	drop_file(s, ".build-id/00/112233445566778899aabbccddeeff00112233");
	walk_all(s, 0);
	assert_false(is_called(s, LONG_ID, "libaway.so"));
}

/* PROGRAM.gsym of another build than PROGRAM is told of once, when it is new. */
static void gsym_beside_programs(void **state)
{
	struct scanned_source *s = *state;
	make_file(s, "foreign", "02 Ed");
	walk_all(s, 0);
	make_file(s, "fits", "01 Ed");
	make_file(s, "fits.gsym", "01 Gg");
	make_file(s, "foreign.gsym", "03 Gg");
	make_file(s, "several", "05 Ed\n06 Ed");
	make_file(s, "several.gsym", "06 Gg");
	make_file(s, "alone.gsym", "07 Gg");
	make_file(s, ".gsym", "08 Gg");
	make_file(s, "elf", "09 Ed");
	make_file(s, "elf.gsym", "0a Ed");
	walk_all(s, 0);
	expect_log("W scan: 'foreign.gsym': its UUID is not the id of 'foreign'; converting the latter\n");
	walk_all(s, 0);
	expect_log("");
	make_file(s, "fits.gsym", "0102 Gg");
	look_at(s, "fits.gsym", 0);
	expect_log("W scan: 'fits.gsym': its UUID is not the id of 'fits'; converting the latter\n");
	drop_file(s, "elf"); /* what is gone is none's program */
	make_file(s, "elf.gsym", "0b Gg");
	make_file(s, "foreign", "03 Edtt");
	make_file(s, "foreign.gsym", "03 Ggg");
	walk_all(s, 0);
	expect_log("");
}

/* ---- Truncated ids ---- */

#define CUT_ID "00112233445566778899aabbccddeeff"

static void truncated_ids(void **state)
{
	struct scanned_source *s = *state;
	make_file(s, "a.sym", CUT_ID " Bc");
	make_link(s, "a.sym", "link.sym");
	walk_all(s, 0);
	expect_files(s, CUT_ID " a.sym text+cut 444\n");
	assert_int_equal(s->scan.n_truncated, 1);
	make_file(s, "whole", CUT_ID "0001 Ed");
	walk_all(s, 0);
	expect_files(s, CUT_ID "0001 a.sym text+cut 444\n" CUT_ID "0001 whole dwrf 444\n");
	assert_true(is_called(s, CUT_ID "0001", "link.sym"));
	/* Of two it may belong to either. */
	make_file(s, "other", CUT_ID "0002 Ed");
	walk_all(s, 0);
	expect_files(s, CUT_ID " a.sym text+cut 444\n" CUT_ID "0001 whole dwrf 444\n" CUT_ID
			       "0002 other dwrf 444\n");
	assert_true(is_called(s, CUT_ID, "link.sym"));
	drop_file(s, "whole");
	walk_all(s, 0);
	expect_files(s, CUT_ID "0002 a.sym text+cut 444\n" CUT_ID "0002 other dwrf 444\n");
	/* With such files a look at others is not enough. */
	make_file(s, "new", "01 Ed");
	look_at(s, "new", -EAGAIN);
	expect_files(s, CUT_ID "0002 a.sym text+cut 444\n" CUT_ID "0002 other dwrf 444\n01 new dwrf 444\n");
	drop_file(s, "a.sym");
	look_at(s, "a.sym", -EAGAIN);
	walk_all(s, 0);
	assert_int_equal(s->scan.n_truncated, 0);
	make_file(s, "b", "02 Ed");
	look_at(s, "b", 0);
}

/* ---- Hashes ---- */

/* Until @n results are to be taken, and the scanner was told. */
static void wait_for_hashes(struct scanned_source *s, size_t n)
{
	struct hash_lane *lane = &s->scan.hashes;
	struct pollfd wake = {.fd = lane->wake_fd, .events = POLLIN};
	for (size_t done = 0; done != n;) {
		eventfd_t count;
		assert_int_equal(poll(&wake, 1, 60000), 1);
		assert_int_equal(eventfd_read(lane->wake_fd, &count), 0);
		mutex_lock(&lane->lock);
		done = list_count(&lane->done);
		mutex_unlock(&lane->lock);
	}
}

static void start_hashing(struct scanned_source *s)
{
	struct hash_lane *lane = &s->scan.hashes;
	lane->source = s->dir;
	lane->worker = "worker";
	lane->stop_fd = eventfd(1, EFD_CLOEXEC); /* no rest after faults */
	lane->wake_fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(hash_lane_start(lane), 0);
}

static void stop_hashing(struct scanned_source *s)
{
	hash_lane_stop(&s->scan.hashes);
	assert_false(s->scan.hashes.running);
	close(s->scan.hashes.stop_fd);
	close(s->scan.hashes.wake_fd);
}

/* Files without an id are hashed beside the walks. */
static void hashed(void **state)
{
	struct scanned_source *s = *state;
	make_file(s, "a", "#\n01 Eh\n02 Eht");
	make_file(s, "b", "#\n03 Eh\n~cut short");
	make_file(s, "bad", "#\n!bad damaged");
	make_file(s, "machine", "#\n!machine no memory");
	s->log.most = LOG_LEVEL_INFO;
	walk_all(s, 0);
	assert_non_null(strstr(logged, "I scan: 'a': no build id or UUID; hashing 1000 bytes for an id\n"));
	s->log.most = LOG_LEVEL_WARNING;
	*logged = 0;
	expect_files(s, "");
	assert_true(is_hashing(s));
	walk_all(s, 0); /* they are not opened for that again */
	expect_opened(4);
	start_hashing(s);
	wait_for_hashes(s, 4);
	expect_opened(4);
	walk_all(s, -EMFILE);
	assert_non_null(strstr(logged, "'bad': damaged; skipped until it changes\n"));
	assert_non_null(strstr(logged, "'machine': no memory; skipped until the next scan\n"));
	expect_files(s, "xxh3-01 a bare 444\nxxh3-02 a bare+code 444\nxxh3-03 b bare 444\n");
	expect_skipped(s, FILE_SKIPPED, true, "bad: damaged\n");
	expect_skipped(s, FILE_TRUNCATED, true, "b: cut short\n");
	assert_true(is_hashing(s));
	wait_for_hashes(s, 1);
	expect_opened(2); /* that which could not be read, by both */
	stop_hashing(s);
}

/* What changed or went meanwhile has no result. */
static void hashed_too_late(void **state)
{
	struct scanned_source *s = *state;
	make_file(s, "a", "#\n01 Eh");
	make_file(s, "b", "#\n02 Eh");
	make_file(s, "c", "#\n03 Eh");
	walk_all(s, 0);
	make_file(s, "a", "#\n0101 Eh");
	make_file(s, "b", "05 Ed");
	drop_file(s, "c");
	start_hashing(s);
	wait_for_hashes(s, 3);
	expect_opened(3); /* by the walk alone */
	walk_all(s, 0);
	expect_log("");
	expect_files(s, "05 b dwrf 444\n");
	assert_true(is_hashing(s));
	wait_for_hashes(s, 1);
	expect_opened(3);
	walk_all(s, 0);
	expect_files(s, "05 b dwrf 444\nxxh3-0101 a bare 444\n");
	assert_false(is_hashing(s));
	stop_hashing(s);
}

/* ---- Looks ---- */

static void events(void **state)
{
	struct scanned_source *s = *state;
	make_dir(s, "sub", 0755);
	make_file(s, "sub/a", "01 Ed");
	make_file(s, "b", "02 Ed");
	walk_all(s, 0);
	expect_opened(2);
	make_file(s, "sub/c", "03 Ed");
	make_file(s, "d", "04 Ed");
	look_at(s, "sub/c", 0); /* and nothing else */
	expect_opened(1);
	expect_files(s, "01 sub/a dwrf 444\n02 b dwrf 444\n03 sub/c dwrf 444\n");
	look_at(s, "d sub/gone gone/x", 0);
	expect_opened(1);
	drop_file(s, "b");
	make_file(s, "sub/a", "05 Edt");
	look_at(s, "b sub/a", 0);
	expect_files(s, "03 sub/c dwrf 444\n04 d dwrf 444\n05 sub/a dwrf+code 444\n");
	move(s, "d", "sub/e");
	look_at(s, "d sub/e", 0);
	expect_files(s, "03 sub/c dwrf 444\n04 sub/e dwrf 444\n05 sub/a dwrf+code 444\n");
	expect_opened(2); /* renaming a file changes its ctime */
	assert_int_equal(atomic_load(&s->metrics.scans[SCAN_PARTIAL]), 4);
	assert_int_equal(atomic_load(&s->metrics.scans[SCAN_COMPLETE]), 1);
	walk_all(s, 0);
	expect_opened(0);
	expect_files(s, "03 sub/c dwrf 444\n04 sub/e dwrf 444\n05 sub/a dwrf+code 444\n");
}

static void events_of_directories(void **state)
{
	struct scanned_source *s = *state;
	make_dir(s, "old", 0755);
	make_file(s, "old/a", "01 Ed");
	make_file(s, "old/bad", "!bad damaged");
	walk_all(s, 0);
	expect_opened(2);
	/* A directory that has come is walked. */
	make_dir(s, "new", 0711);
	make_dir(s, "new/below", 0755);
	make_file(s, "new/below/b", "02 Ed");
	look_at(s, "new", 0);
	expect_files(s, "01 old/a dwrf 444\n02 new/below/b dwrf 444\n");
	assert_int_equal(dir_mode_of(s, "new"), 0511);
	expect_opened(1);
	/* Moved inside the source: all of it is elsewhere. */
	move(s, "old", "moved");
	assert_int_equal(vec_push(&s->changes.moved, strdup("old")), 0);
	look_at(s, "old moved", 0);
	expect_files(s, "01 moved/a dwrf 444\n02 new/below/b dwrf 444\n");
	expect_skipped(s, FILE_SKIPPED, true, "moved/bad: damaged\n");
	expect_opened(0);
	/* Moved away. */
	char away[128];
	snprintf(away, sizeof(away), "%s/away", s->top);
	assert_int_equal(rename(in(s, "moved"), away), 0);
	assert_int_equal(vec_push(&s->changes.moved, strdup("moved")), 0);
	look_at(s, "moved", 0);
	expect_files(s, "02 new/below/b dwrf 444\n");
	expect_skipped(s, FILE_SKIPPED, true, "");
	assert_int_equal(dir_mode_of(s, "moved"), 0);
	/* Its attributes. */
	assert_int_equal(chmod(in(s, "new"), 0755), 0);
	look_at(s, "new/x", 0);
	assert_int_equal(dir_mode_of(s, "new"), 0555);
}

/* What a look cannot decide is left to a walk. */
static void events_that_need_a_walk(void **state)
{
	struct scanned_source *s = *state;
	make_file(s, "a", "01 Ed");
	make_file(s, "b", "02 Ed");
	walk_all(s, 0);
	assert_int_equal(link(in(s, "a"), in(s, "hard")), 0);
	look_at(s, "hard", -EAGAIN);
	walk_all(s, 0);
	assert_true(is_called(s, "01", "a") && is_called(s, "01", "hard"));
	make_file(s, "c", "!limit too much");
	look_at(s, "c", -EAGAIN);
	make_file(s, "c", "#\n03 Eh");
	look_at(s, "c", -EAGAIN);
	make_file(s, "c", "!machine fault");
	drop_file(s, "b");
	look_at(s, "b c", -EAGAIN);
	assert_true(is_called(s, "02", "b")); /* c may be what b was */
	make_file(s, "c", "!stop");
	look_at(s, "c", -ECANCELED);
	drop_file(s, "c");
	look_at(s, "b c", 0);
	assert_false(is_called(s, "02", "b"));
	s->scan.source = "/nonexistent/gsymfs";
	look_at(s, "a", -EAGAIN);
	s->scan.source = s->dir;
	assert_true(is_called(s, "01", "a") && is_called(s, "01", "hard"));
}

/* ---- Without memory ---- */

static void known_again(struct scanned_source *s)
{
	walk_all(s, 0);
	expect_files(s, CUT_ID "0001 a.sym text+cut 444\n" CUT_ID
			       "0001 whole dwrf 444\n01 one bare 444\n02 sub/two bare+lost 444\n"
			       "03 sub/two dwrf 444\n");
	assert_true(is_called(s, "01", "link") && is_called(s, CUT_ID "0001", "libaway.so"));
	expect_skipped(s, FILE_SKIPPED, true, "bad: damaged\n");
	expect_skipped(s, FILE_TRUNCATED, true, "sub/two: cut short\n");
	*logged = 0;
}

/* Each allocation of a walk fails in turn: the next walk knows everything, and nothing is leaked. */
static void without_memory(void **state)
{
	struct scanned_source *s = *state;
	make_dir(s, "sub", 0755);
	make_dir(s, "00", 0755);
	make_file(s, "one", "01 E");
	make_file(s, "sub/two", "02 El\n03 Ed\n~cut short");
	make_file(s, "bad", "!bad damaged");
	make_file(s, "a.sym", CUT_ID " Bc");
	make_file(s, "whole", CUT_ID "0001 Ed");
	make_link(s, "one", "link");
	make_link(s, "/lib/libaway.so", "00/112233445566778899aabbccddeeff0001");
	bool failed = true;
	for (long n = 0; failed; n++) {
		end_scan(s); /* nothing is known of files */
		begin_scan(s);
		allowed = n;
		scan_pass(&s->scan);
		failed = allowed < 0;
		allowed = -1;
		known_again(s);
		assert_in_range(n, 0, 10000);
	}
}

/* ---- Several sources ---- */

static void several_sources(void **state)
{
	struct scanned_source *s = *state;
	char one[128], two[128], files[1024];
	make_dir(s, "one", 0755);
	make_dir(s, "two", 0755);
	make_dir(s, "three", 0755);
	make_dir(s, "two/00", 0755);
	make_file(s, "one/a", "01 Ed");
	make_file(s, "two/b", "02 Ed");
	make_file(s, "two/also", "01 Ed");
	make_file(s, "three/c", "03 Ed");
	make_file(s, "two/debug", LONG_ID " Ed");
	make_link(s, "../libaway.so", "two/00/112233445566778899aabbccddeeff00112233");
	make_file(s, "two/libaway.so", "");
	snprintf(one, sizeof(one), "%s/one", s->dir);
	snprintf(two, sizeof(two), "%s/two", s->dir);
	s->roots[0] = (struct scan_root){one, one + 1};
	s->roots[1] = (struct scan_root){two, two + 1};
	s->scan.n_roots = 2;
	s->scan.source = "/";
	s->log.from_root = true;
	assert_int_equal(scan_root_of(&s->scan, one + 1), 0);
	assert_int_equal(scan_root_of(&s->scan, two + 1), 1);
	assert_int_equal(scan_root_of(&s->scan, "nowhere"), 2);
	walk_all(s, 0);
	snprintf(files, sizeof(files),
		 LONG_ID " %s/debug dwrf 444\n01 %s/a dwrf 444\n01 %s/also dwrf 444\n"
			 "02 %s/b dwrf 444\n",
		 two + 1, one + 1, two + 1, two + 1);
	expect_files(s, files);
	assert_true(is_called(s, LONG_ID, "libaway.so"));
	mutex_lock(&s->f->images.lock);
	const struct image *image = images_find(&s->f->images, "01");
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(image->sources.v[i].root, strstr(image->sources.v[i].path, "two/") != NULL);
	mutex_unlock(&s->f->images.lock);
	expect_opened(5);
	/* One that is gone leaves unknown what it has; the other one is walked. */
	move(s, "one", "gone");
	make_file(s, "two/new", "04 Ed");
	drop_file(s, "two/b");
	walk_all(s, -EIO);
	snprintf(files, sizeof(files), "W scan: '%s': cannot open: No such file or directory\n", one);
	expect_log(files);
	snprintf(files, sizeof(files),
		 LONG_ID " %s/debug dwrf 444\n01 %s/a dwrf 444\n01 %s/also dwrf 444\n"
			 "02 %s/b dwrf 444\n04 %s/new dwrf 444\n",
		 two + 1, one + 1, two + 1, two + 1, two + 1);
	expect_files(s, files);
	move(s, "gone", "one");
	make_file(s, "one/bad", "!bad damaged");
	walk_all(s, 0);
	snprintf(files, sizeof(files), "W scan: '%s/bad': damaged; skipped until it changes\n", one);
	expect_log(files);
	/* Each has an index of its own. */
	end_scan(s);
	begin_scan(s);
	index_load(&s->scan.index, 1, &s->cache, two);
	assert_int_equal(s->scan.index.files.n, 4);
	index_load(&s->scan.index, 0, &s->cache, one);
	assert_int_equal(s->scan.index.files.n, 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kinds_of_files),
		TEST(opened_once),
		TEST(incomplete),
		TEST(after_walks),
		TEST(paths),
		TEST(readable_as_there),
		TEST(failures_of_files),
		TEST(faults_of_the_machine),
		TEST(unopened),
		TEST(ends_early),
		TEST(links_to_files),
		TEST(titles_of_files),
		TEST(titles_of_links),
		TEST(gsym_beside_programs),
		TEST(truncated_ids),
		TEST(hashed),
		TEST(hashed_too_late),
		TEST(events),
		TEST(events_of_directories),
		TEST(events_that_need_a_walk),
		TEST(without_memory),
		TEST(several_sources),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

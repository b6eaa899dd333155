#include "tests/unit/fs/scan/sweep_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/images/basename.h"
#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "fs/scan/scan_look.h"
#include "fs/scan/scan_state.h"
#include "fs/scan/sweep.h"
#include "gsym/base/vec.h"
#include "tests/lib/unit.h"
#include "tests/unit/temp_directory.h"
#include "tests/unit/wrap_asprintf.h"
#include "tests/unit/wrap_log.h"

/* ---- The worker, and the log ---- */

/*
 * identify() is the one function of ours that is replaced: it has a worker process look at the file, and here
 * the file says what that finds.
 */
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

const char *unopenable;
int why_not;

long __real_syscall(long number, ...);

/* openat2(2) has no function of its own. */
long __wrap_syscall(long number, ...)
{
	va_list list;
	va_start(list, number);
	int dir = va_arg(list, int);
	const char *path = va_arg(list, const char *);
	const void *how = va_arg(list, const void *);
	size_t size = va_arg(list, size_t);
	va_end(list);
	assert_int_equal(number, SYS_openat2);
	if (!unopenable || strcmp(path, unopenable) != 0)
		return __real_syscall(number, dir, path, how, size);
	errno = -why_not;
	return -1;
}

void expect_log(const char *expected)
{
	assert_string_equal(logged, expected);
	*logged = 0;
}

/* ---- A source, and its scanner ---- */

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

void begin_scan(struct scanned_source *s)
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
}

void end_scan(struct scanned_source *s)
{
	hash_lane_stop(&s->scan.hashes);
	hash_lane_deinit(&s->scan.hashes);
	index_deinit(&s->scan.index);
}

static void open_cache(struct scanned_source *s)
{
	assert_int_equal(cache_open(&s->cache, s->cache_dir, 1 << 20, 0, &s->log, NULL), 0);
}

int sweep_set_up(void **state)
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

int sweep_tear_down(void **state)
{
	struct scanned_source *s = *state;
	void *fixture = s->f;
	end_scan(s);
	changes_clear(&s->changes);
	skipped_deinit(&s->skipped);
	cache_close(&s->cache);
	images_fixture_tear_down(&fixture);
	assert_int_equal(count_descriptors(), s->n_open);
	assert_int_equal(remove_tree(s->top), 0);
	long n_live = s->n_live;
	free(s);
	assert_int_equal(live, n_live);
	return 0;
}

/* ---- Files ---- */

const char *in(const struct scanned_source *s, const char *name)
{
	static char paths[2][256];
	static unsigned n;
	char *path = paths[n++ % 2];
	snprintf(path, sizeof(paths[0]), "%s/%s", s->dir, name);
	return path;
}

void make_dir(struct scanned_source *s, const char *path, mode_t mode)
{
	assert_int_equal(mkdir(in(s, path), 0700), 0);
	assert_int_equal(chmod(in(s, path), mode), 0);
}

void make_file(struct scanned_source *s, const char *path, const char *recipe)
{
	FILE *file = fopen(in(s, path), "w");
	assert_non_null(file);
	assert_true(fputs(recipe, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(in(s, path), 0644), 0);
}

void make_link(struct scanned_source *s, const char *target, const char *path)
{
	assert_int_equal(symlink(target, in(s, path)), 0);
}

void move(struct scanned_source *s, const char *from, const char *to)
{
	assert_int_equal(rename(in(s, from), in(s, to)), 0);
}

void drop_file(struct scanned_source *s, const char *path)
{
	assert_int_equal(unlink(in(s, path)), 0);
}

/* ---- What is known ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void describe_source(const struct image *image, const struct source *source, char ret[static LINE])
{
	static const char words[][5] = {"bare", "syms", "go", "text", "gsym", "dwrf", "pdb"};
	snprintf(ret, LINE, "%s %s %s%s%s%s %03o\n", image->id, source->path, words[source->richness],
		 source->has_text ? "+code" : "", source->has_lost ? "+lost" : "",
		 source->id_is_truncated ? "+cut" : "", source->mode);
}

void expect_lines(char lines[][LINE], size_t n, const char *expected)
{
	char found[MOST_LINES * LINE] = "";
	qsort(lines, n, LINE, by_text);
	for (size_t i = 0; i < n; i++)
		strcat(found, lines[i]);
	assert_string_equal(found, expected);
}

void expect_files(struct scanned_source *s, const char *expected)
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

bool is_called(struct scanned_source *s, const char *id, const char *name)
{
	struct images *images = &s->f->images;
	mutex_lock(&images->lock);
	const struct basename *basename = images_find_basename(images, name);
	const struct image *image = images_find(images, id);
	bool called = basename && image && images_find_member(images, basename, image);
	mutex_unlock(&images->lock);
	return called;
}

mode_t dir_mode_of(struct scanned_source *s, const char *name)
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

int absent(struct scanned_source *s)
{
	mutex_lock(&s->f->images.lock);
	int err = s->f->images.absent;
	mutex_unlock(&s->f->images.lock);
	return err;
}

void expect_skipped(struct scanned_source *s, enum skipped_kind kind, bool sees_all, const char *expected)
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

void expect_opened(unsigned n)
{
	assert_int_equal(atomic_exchange(&n_identified, 0), n);
}

void walk_all(struct scanned_source *s, int outcome)
{
	assert_int_equal(scan_pass(&s->scan), outcome);
}

bool walk_without(struct scanned_source *s, long n)
{
	allowed = n;
	scan_pass(&s->scan);
	bool failed = end_allocations();
	return failed;
}

void look_at(struct scanned_source *s, const char *paths, int outcome)
{
	char text[256], *rest;
	snprintf(text, sizeof(text), "%s", paths);
	for (char *path = strtok_r(text, " ", &rest); path; path = strtok_r(NULL, " ", &rest))
		assert_int_equal(vec_push(&s->changes.paths, strdup(path)), 0);
	assert_int_equal(scan_look(&s->scan, &s->changes), outcome);
	changes_clear(&s->changes);
}

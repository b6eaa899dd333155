#include "fs/images/catalogue.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "fs/call/call.h"
#include "fs/images/scan_request.h"
#include "fs/images/basename.h"
#include "fs/images/fragments.h"
#include "fs/images/image_find.h"
#include "fs/images/other_ids.h"
#include "fs/images/revision.h"
#include "fs/images/inode_numbers.h"
#include "gsym/base/fault.h"
#include "gsym/base/invariant.h"

enum { READY_DEFAULT = 4096 };

/* See struct path_tree. */
static void count_path(void *user, uint32_t number, bool appears)
{
	struct images *images = user;
	mutex_assert_held(&images->lock);
	struct image *image = slots_get(&images->all, number);
	invariant(appears || image->paths > 0);
	image->paths += appears ? 1 : -1U;
}

void images_init(struct images *images)
{
	*images = (struct images){
		.absent = -ENOENT,
		.ready_max = READY_DEFAULT,
		.paths = {.counted = count_path, .user = images},
	};
	mutex_init(&images->lock, LOCK_IMAGES);
	list_init(&images->scan_waiters);
	list_init(&images->fragments);
	list_init(&images->retired);
	list_init(&images->leaving);
}

static void source_deinit(struct source *source)
{
	free(source->path);
	free(source->go_id);
}

void image_free(struct image *image)
{
	for (size_t i = 0; i < image->sources.n; i++)
		source_deinit(&image->sources.v[i]);
	vec_free(&image->sources);
	free(image);
}

void images_deinit(struct images *images) NOT_ANALYZED
{
	struct image *image;
	struct revision *rev;
	images_free_other(images);
	for (uint32_t i = 0; (image = slots_from(&images->all, &i)); i++)
		image_free(image);
	for (size_t i = 0; i < images->leaving_images.n; i++)
		image_free(images->leaving_images.v[i]);
	fragments_free(&images->fragments);
	for (uint32_t i = 0; (rev = slots_from(&images->revisions, &i)); i++)
		revision_free(rev);
	for (struct list *at; (at = list_take(&images->leaving));)
		revision_free(LIST_ENTRY_OF(at, struct revision, retired));
	scan_request_clear(images);
	path_tree_deinit(&images->paths);
	basenames_free(images);
	slots_deinit(&images->all);
	vec_free(&images->sorted);
	slots_deinit(&images->revisions);
	table_deinit(&images->by_place);
	vec_free(&images->leaving_images);
	vec_free(&images->ready);
	table_deinit(&images->by_id);
	mutex_destroy(&images->lock);
}

/* ---- Adding ---- */

void images_expect(struct images *images, size_t n)
{
	mutex_lock(&images->lock);
	if (table_reserve(&images->by_id, images->by_id.n + n) == 0 &&
	    table_reserve(&images->by_basename, images->by_basename.n + n) == 0)
		path_tree_reserve(&images->paths, images->paths.files.n + n);
	mutex_unlock(&images->lock);
}

static struct image *add_image(struct images *images, const char *id) REQUIRES(&images->lock)
{
	size_t id_size = strlen(id) + 1;
	struct image *image = id_size > ID_TEXT_SIZE ? NULL : calloc(1, sizeof(*image) + id_size);
	if (!image || slots_add(&images->all, image, &image->number)) {
		free(image);
		return NULL;
	}
	memcpy(image->id, id, id_size);
	uint64_t hash = XXH3_64bits(id, strlen(id));
	image_choose_key(images, image, hash);
	if (table_add(&images->by_id, &image->table, hash)) {
		slots_remove(&images->all, image->number);
		free(image);
		return NULL;
	}
	return image;
}

static struct source *find_source(struct image *image, const struct source *like)
{
	for (size_t i = 0; i < image->sources.n; i++)
		if (image->sources.v[i].dev == like->dev && image->sources.v[i].ino == like->ino)
			return &image->sources.v[i];
	return NULL;
}

static bool same_file(const struct source *a, const struct source *b)
{
	return a->size == b->size && a->mtime_ns == b->mtime_ns;
}

static bool unchanged(const struct source *a, const struct source *b)
{
	return same_file(a, b) && a->ctime_ns == b->ctime_ns && a->uid == b->uid && a->gid == b->gid;
}

static void forget_source(struct images *images, const struct image *image, struct source *source)
	REQUIRES(&images->lock)
{
	images_drop_source(images, image, source);
	source_deinit(source);
}

/*
 * Replaces or adds a source. A file with several hard links keeps the path seen first in this scan; its
 * permissions are the union of those of all its paths.
 */
static int put_source(struct images *images, struct image *image, const struct source *seen, bool alone)
	REQUIRES(&images->lock)
{
	struct source *old = find_source(image, seen);
	if (old && old->pass == seen->pass) {
		old->mode_seen |= seen->mode;
		return 0;
	}
	struct source copy = *seen;
	copy.mode_seen = seen->mode;
	if (old && same_file(old, seen)) {
		copy.chosen = old->chosen;
		copy.chosen_binary = old->chosen_binary;
	}
	if (old && !alone && unchanged(old, seen))
		copy.mode = old->mode; /* its other paths may be yet to come */
	copy.path = strdup(seen->path);
	copy.go_id = seen->go_id ? strdup(seen->go_id) : NULL;
	if (!copy.path || (seen->go_id && !copy.go_id) || (!old && vec_reserve_few(&image->sources, 1))) {
		source_deinit(&copy);
		return -ENOMEM;
	}
	if (old)
		forget_source(images, image, old);
	else
		old = &image->sources.v[image->sources.n++];
	*old = copy;
	images_note_source(images, image, old);
	return 0;
}

static int add_path(struct images *images, struct image *image, const struct found_at *at)
	REQUIRES(&images->lock)
{
	struct name_member *member;
	int err = basename_add(images, at->basename, image, at->pass, &member);
	if (err)
		return err;
	const struct basename *name = member->basename;
	/* All files of that name are its members'. */
	if (name->members.n == 1 && !member->files)
		return path_tree_add_first(&images->paths, at->directory, name->name, image->number, at->pass,
					   &member->files);
	return path_tree_add(&images->paths, at->directory, name->name, image->number, at->pass, at->last,
			     &member->files);
}

uint32_t images_add_directory(struct images *images, uint32_t parent, const char *name,
			      const struct path_attr *attr)
{
	uint32_t number;
	mutex_lock(&images->lock);
	path_tree_enter(&images->paths, parent, name, attr, &number);
	mutex_unlock(&images->lock);
	return number;
}

/* The directory of by-path that @path is in, and its last component. */
static const struct path_dir *find_parent(const struct path_tree *paths, const char *path,
					  const char **ret_name)
{
	const struct path_dir *dir = path_tree_dir(paths, 0);
	char name[NAME_MAX + 1];
	for (size_t n; dir && path[n = strcspn(path, "/")]; path += n + 1) {
		if (n > NAME_MAX)
			return NULL;
		memcpy(name, path, n);
		name[n] = 0;
		dir = path_tree_find_dir(paths, dir->number, name);
	}
	*ret_name = path;
	return dir;
}

void images_set_directory(struct images *images, const char *path, const struct path_attr *attr)
{
	const char *name;
	mutex_lock(&images->lock);
	const struct path_dir *dir = find_parent(&images->paths, path, &name);
	if (dir && *path)
		dir = path_tree_find_dir(&images->paths, dir->number, name);
	if (dir)
		path_tree_set_attr(&images->paths, dir->number, attr);
	mutex_unlock(&images->lock);
}

const struct path_dir *images_find_directory(const struct images *images, uint32_t parent, const char *name)
{
	return images->scanned ? path_tree_find_dir(&images->paths, parent, name)
			       : path_tree_find_any_dir(&images->paths, parent, name);
}

static int add_locked(struct images *images, const struct finding *finding, struct list *woken)
	REQUIRES(&images->lock)
{
	struct image *image = images_find(images, finding->id);
	images->findings++;
	if (!image)
		image = add_image(images, finding->id);
	if (!image)
		return -ENOMEM;
	int err = put_source(images, image, &finding->source, finding->alone);
	if (!err) {
		err = finding->at.basename ? add_path(images, image, &finding->at) : 0;
		revision_choose(images, image);
	}
	calls_wake_id(&images->scan_waiters, image->id, woken);
	if (images->found && !finding->source.fetched)
		images->found(images->finder, image->id, woken);
	return err;
}

int images_add(struct images *images, const struct finding *finding, struct list *woken)
{
	mutex_lock(&images->lock);
	int err = add_locked(images, finding, woken);
	mutex_unlock(&images->lock);
	return err;
}

int images_add_name(struct images *images, const char *id, const struct found_at *at)
{
	mutex_lock(&images->lock);
	struct image *image = images_find(images, id);
	int err = image ? add_path(images, image, at) : 0;
	mutex_unlock(&images->lock);
	return err;
}

int images_add_title(struct images *images, const char *id, const char *name, uint32_t dir, uint32_t pass)
{
	mutex_lock(&images->lock);
	struct image *image = images_find(images, id);
	int err = image ? basename_add_title(images, name, image, dir, pass) : 0;
	mutex_unlock(&images->lock);
	return err;
}

/* ---- Sweeping ---- */

/* Whether there were any. */
static bool drop_unseen(struct images *images, struct image *image, uint32_t pass) REQUIRES(&images->lock)
{
	size_t kept = 0, n = image->sources.n;
	for (size_t i = 0; i < image->sources.n; i++) {
		if (image->sources.v[i].pass == pass || image->sources.v[i].fetched)
			image->sources.v[kept++] = image->sources.v[i];
		else
			forget_source(images, image, &image->sources.v[i]);
	}
	image->sources.n = kept;
	return kept < n;
}

/* All paths of a file count that the scan has met. Whether that made a difference. */
static bool settle_modes(struct image *image, uint32_t pass)
{
	bool changed = false;
	for (size_t i = 0; i < image->sources.n; i++) {
		struct source *s = &image->sources.v[i];
		if (s->pass != pass || s->mode == s->mode_seen)
			continue;
		s->mode = s->mode_seen;
		changed = true;
	}
	return changed;
}

/* @complete: the scan saw all files. */
static void settle_sources(struct images *images, uint32_t pass, bool complete) REQUIRES(&images->lock)
{
	struct image *image;
	for (uint32_t i = 0; (image = slots_from(&images->all, &i)); i++) {
		bool changed = settle_modes(image, pass);
		if (complete)
			changed |= drop_unseen(images, image, pass);
		if (changed)
			revision_choose(images, image);
	}
}

/* Unless scan @pass has seen the file. */
static void drop_source(struct images *images, struct image *image, const struct source *gone, uint32_t pass)
	REQUIRES(&images->lock)
{
	struct source *s = find_source(image, gone);
	if (!s || s->pass == pass)
		return;
	forget_source(images, image, s);
	*s = image->sources.v[--image->sources.n];
	revision_choose(images, image);
}

/*
 * An incomplete scan leaves what it did not see; but calls that wait for it because the file of their image
 * was replaced or removed know better.
 */
static void drop_replaced(struct images *images, uint32_t pass) REQUIRES(&images->lock)
{
	for (struct list *at = images->scan_waiters.next; at != &images->scan_waiters; at = at->next) {
		struct revision *rev = LIST_ENTRY(at, struct call)->wait.revision;
		if (rev && !rev->stale)
			drop_source(images, rev->image, &rev->source, pass);
	}
}

struct leaving {
	const char *path;
	uint32_t pass;
	void (*gone)(void *user, dev_t dev, ino_t ino);
	void *user;
};

static bool all_seen(const struct image *image, uint32_t pass)
{
	for (size_t i = 0; i < image->sources.n; i++)
		if (image->sources.v[i].pass != pass && !image->sources.v[i].fetched)
			return false;
	return true;
}

/*
 * Drops the file of @image that the path led to unless the scan has seen it. @vanished: the path leads to the
 * image no more. False: the file may have other paths, and the walk that finds out drops it.
 */
static bool drop_file(struct images *images, struct image *image, const struct leaving *l, bool vanished)
	REQUIRES(&images->lock)
{
	for (size_t i = 0; i < image->sources.n; i++) {
		struct source *s = &image->sources.v[i];
		if (s->pass == l->pass || strcmp(s->path, l->path) != 0)
			continue;
		if (image->paths >= image->sources.n)
			return false;
		l->gone(l->user, s->dev, s->ino);
		drop_source(images, image, s, l->pass);
		return true;
	}
	return !vanished || all_seen(image, l->pass);
}

/* Removes an image of which nothing is left; images_free_retired() frees one that threads may still use. */
static void release_image(struct images *images, struct image *image) REQUIRES(&images->lock)
{
	if (image_is_there(image) || image->paths || image->members || image->pins || image->leaving)
		return;
	if (image->kept && vec_push(&images->leaving_images, image))
		return; /* until the next walk */
	image->leaving = true;
	image_retire_key(images, image);
	images_remove_sorted(images, image);
	table_remove(&images->by_id, &image->table);
	slots_remove(&images->all, image->number);
	if (!image->kept)
		image_free(image);
}

void image_unpin_locked(struct images *images, struct image *image)
{
	invariant(image->pins > 0);
	image->pins--;
	release_image(images, image);
}

void image_pin(struct images *images, struct image *image)
{
	if (!image)
		return;
	mutex_lock(&images->lock);
	image->pins++;
	image->touched = true;
	mutex_unlock(&images->lock);
}

void image_unpin(struct images *images, struct image *image)
{
	if (!image)
		return;
	mutex_lock(&images->lock);
	image_unpin_locked(images, image);
	mutex_unlock(&images->lock);
}

void images_drop_fetched(struct images *images, const char *id)
{
	mutex_lock(&images->lock);
	struct image *image = images_find(images, id);
	for (size_t i = 0; image && i < image->sources.n; i++) {
		if (!image->sources.v[i].fetched)
			continue;
		forget_source(images, image, &image->sources.v[i]);
		image->sources.v[i] = image->sources.v[--image->sources.n];
		revision_choose(images, image);
		release_image(images, image);
		break;
	}
	mutex_unlock(&images->lock);
}

/* Removes a file that is gone. */
static void remove_file(struct images *images, const struct path_file *file) REQUIRES(&images->lock)
{
	struct image *image = slots_get(&images->all, file->image);
	basename_remove_file(images, file, image);
	release_image(images, image);
}

static void remove_gone(struct images *images, const struct path_file *file) REQUIRES(&images->lock)
{
	for (const struct path_file *next; file; file = next) {
		next = path_file_next(&images->paths, file);
		if (!file->pass)
			remove_file(images, file);
	}
}

/* The files called @name in the directory @dir, of the path in @l. */
static bool forget_files(struct images *images, uint32_t dir, const char *name, const struct leaving *l)
	REQUIRES(&images->lock)
{
	bool sure = true;
	const struct path_file *file = path_tree_find(&images->paths, dir, name);
	for (; file; file = path_file_next(&images->paths, file)) {
		struct image *image = slots_get(&images->all, file->image);
		bool vanishes = file->pass && file->pass != l->pass;
		if (vanishes)
			path_tree_forget(&images->paths, file);
		if (!file->pass)
			basename_forget(images, name, image);
		sure &= drop_file(images, image, l, vanishes);
		sure &= !vanishes || !image->titled; /* a name may go with it */
	}
	remove_gone(images, path_tree_find(&images->paths, dir, name));
	return sure;
}

static bool forget_path(struct images *images, const struct leaving *l) REQUIRES(&images->lock)
{
	const char *name;
	const struct path_dir *dir = find_parent(&images->paths, l->path, &name);
	return !dir || forget_files(images, dir->number, name, l);
}

/* A directory that is to be left, and its path. */
struct leaving_dir {
	uint32_t number;
	char *path;
};

typedef VEC(struct leaving_dir) leaving_vec;

static int push_dir(leaving_vec *dirs, uint32_t number, const char *above, const char *name)
{
	struct leaving_dir dir = {.number = number};
	if (asprintf(&dir.path, "%s%s%s", above, *above ? "/" : "", name) < 0)
		return -ENOMEM;
	if (vec_push(dirs, dir) == 0)
		return 0;
	free(dir.path);
	return -ENOMEM;
}

static bool forget_child_file(struct images *images, const struct leaving_dir *dir, const char *child,
			      const struct leaving *l) REQUIRES(&images->lock)
{
	char name[NAME_MAX + 1], *path;
	struct leaving leaving = *l;
	snprintf(name, sizeof(name), "%s", child); /* it goes with its last file */
	if (asprintf(&path, "%s/%s", dir->path, name) < 0)
		return false;
	leaving.path = path;
	bool sure = forget_files(images, dir->number, name, &leaving);
	free(path);
	return sure;
}

/* By positions, since removals compact the children. */
static bool forget_dir(struct images *images, const struct leaving_dir *at, leaving_vec *dirs,
		       const struct leaving *l) REQUIRES(&images->lock)
{
	const struct path_tree *paths = &images->paths;
	const struct path_dir *dir = path_tree_dir(paths, at->number);
	bool sure = true;
	uint32_t next = 0;
	for (size_t i; (i = path_dir_from(dir, next)) < dir->children.n;) {
		const struct path_child child = dir->children.v[i];
		const struct path_dir *below = child.child & 1 ? NULL : path_tree_dir(paths, child.child / 2);
		const struct path_file *file =
			child.child & 1 ? path_tree_file(paths, child.child / 2) : NULL;
		next = child.position + 1;
		if (below && below->alive)
			sure &= push_dir(dirs, below->number, at->path, below->name) == 0;
		else if (file)
			sure &= forget_child_file(images, at, file->name, l);
	}
	return sure;
}

static bool forget_below(struct images *images, const struct leaving *l) REQUIRES(&images->lock)
{
	const char *name;
	leaving_vec dirs = {0};
	const struct path_dir *parent = find_parent(&images->paths, l->path, &name);
	const struct path_dir *top = parent ? path_tree_find_dir(&images->paths, parent->number, name) : NULL;
	bool sure = !top || push_dir(&dirs, top->number, "", l->path) == 0;
	while (dirs.n) {
		struct leaving_dir dir = dirs.v[--dirs.n];
		sure &= forget_dir(images, &dir, &dirs, l);
		free(dir.path);
	}
	vec_free(&dirs);
	return sure;
}

bool images_forget_path(struct images *images, const char *path, uint32_t pass,
			void (*gone)(void *user, dev_t dev, ino_t ino), void *user)
{
	const struct leaving leaving = {path, pass, gone, user};
	mutex_lock(&images->lock);
	bool sure = forget_path(images, &leaving);
	mutex_unlock(&images->lock);
	return sure;
}

bool images_forget_below(struct images *images, const char *path, uint32_t pass,
			 void (*gone)(void *user, dev_t dev, ino_t ino), void *user)
{
	const struct leaving leaving = {path, pass, gone, user};
	mutex_lock(&images->lock);
	bool sure = forget_below(images, &leaving);
	mutex_unlock(&images->lock);
	return sure;
}

/* Paths and names that the scan did not see, and images of which nothing is left. */
static void sweep(struct images *images, uint32_t pass) REQUIRES(&images->lock)
{
	struct image *image;
	struct path_file *file;
	path_tree_sweep(&images->paths, pass);
	basenames_sweep(images, pass);
	for (uint32_t i = 0; (file = slots_from(&images->paths.files, &i)); i++)
		if (!file->pass)
			remove_file(images, file);
	for (uint32_t i = 0; (image = slots_from(&images->all, &i)); i++)
		release_image(images, image);
}

/* What to say of an id that a scan with @err did not find. */
static int absent_errno(int err)
{
	const enum fault fault = fault_of(err);
	if (!err || fault == FAULT_DENIED)
		return -ENOENT; /* what is closed to us is not served in any case */
	return fault == FAULT_NETWORK ? err : -EIO;
}

void images_scanned(struct images *images, uint32_t pass, const struct scan_report *report,
		    struct list *woken)
{
	mutex_lock(&images->lock);
	if (report->err)
		drop_replaced(images, pass);
	settle_sources(images, pass, !report->err);
	if (!report->err)
		sweep(images, pass);
	images->complete |= !report->err;
	images->absent = absent_errno(report->err ? report->err : report->unknown);
	images->hashing = report->hashing;
	images->scanned = true;
	scan_request_clear(images);
	calls_wake_all(&images->scan_waiters, woken);
	if (images->found)
		images->found(images->finder, NULL, woken);
	mutex_unlock(&images->lock);
}

void images_looked(struct images *images, struct list *woken)
{
	mutex_lock(&images->lock);
	LIST_EACH(struct call, call, &images->scan_waiters) {
		const struct revision *rev = call->wait.revision;
		if (rev && rev->stale && image_is_there(rev->image))
			call_wake(call, woken);
	}
	if (images->found)
		images->found(images->finder, NULL, woken);
	mutex_unlock(&images->lock);
}

void images_wake_all(struct images *images, struct list *woken)
{
	calls_wake_all(&images->scan_waiters, woken);
	struct revision *rev;
	for (uint32_t i = 0; (rev = slots_from(&images->revisions, &i)); i++)
		calls_wake_all(&rev->waiters, woken);
}

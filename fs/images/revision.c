/*
 * Revisions of images. Which source is best: one with DWARF, else GSYM, else Breakpad's text symbols, else
 * one with a symbol table, else any; GSYM that lies beside the program under its name comes before all. Among
 * equals the one already chosen, so that copies of a file do not replace each other, else the first by path.
 * A debug file is joined by the best of those with code, which alone has dynamic symbols and linkage tables.
 */
#include "fs/images/revision.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "work/os/monotonic.h"
#include "work/os/retry.h"
#include "work/run/neighbour.h"
#include "fs/images/basename.h"
#include "fs/images/fragments.h"
#include "fs/images/image_find.h"
#include "fs/images/inode_numbers.h"
#include "gsym/base/invariant.h"

enum {
	/* Rate limit: every lookup in a corrupt image fails, and any user may repeat it. */
	COMPLAIN_SECONDS = 60,
	/*
	 * What failed images are made of, together. A file of a few kilobytes can ask for thousands of long
	 * paths; failures beyond are not looked at again until the next mount, or until their own files
	 * change.
	 */
	INPUTS_BYTES_MAX = 64 << 20,
};

const char *const state_words[STATES] = {
	[STATE_COLD] = "cold",     [STATE_OPENING] = "opening",
	[STATE_QUEUED] = "queued", [STATE_CONVERTING] = "converting",
	[STATE_READY] = "ready",   [STATE_FAILED] = "failed",
};

static struct file_state state_of(const struct source *s)
{
	return (struct file_state){
		.dev = s->dev,
		.ino = s->ino,
		.size = s->size,
		.mtime_ns = s->mtime_ns,
		.ctime_ns = s->ctime_ns,
		.uid = s->uid,
		.gid = s->gid,
		.mode = s->mode,
	};
}

struct file_key source_key(const struct source *s)
{
	return (struct file_key){
		.dev = s->dev,
		.ino = s->ino,
		.size = s->size,
		.mtime_ns = s->mtime_ns,
		.ctime_ns = s->ctime_ns,
	};
}

/* Whether @a should rather stand for the image than @b. @a_chosen, @b_chosen: it does now. */
static bool better(const struct source *a, bool a_chosen, const struct source *b, bool b_chosen)
{
	if (a->richness != b->richness)
		return a->richness > b->richness;
	if (a->has_lost != b->has_lost)
		return b->has_lost;
	if (a->root != b->root)
		return a->root < b->root;
	if (a_chosen != b_chosen)
		return a_chosen;
	return strcmp(a->path, b->path) < 0;
}

static struct source *best_source(const struct image *image)
{
	struct source *best = NULL;
	for (size_t i = 0; i < image->sources.n; i++) {
		struct source *s = &image->sources.v[i];
		if (!best || better(s, s->chosen, best, best->chosen))
			best = s;
	}
	return best;
}

/*
 * Whether @binary may complete @debug: it has the code, belongs to the same user or root, and all users who
 * may read the one may read the other.
 */
static bool completes(const struct source *binary, const struct source *debug)
{
	struct stat st = {.st_uid = binary->uid, .st_gid = binary->gid, .st_mode = binary->mode};
	const struct file_state debug_state = state_of(debug);
	bool same_arch = !*debug->arch || strcmp(binary->arch, debug->arch) == 0; /* GSYM has none */
	return binary->has_text && same_arch && (binary->uid == debug->uid || binary->uid == 0) &&
	       readable_like(&st, true, &debug_state);
}

static struct source *best_binary(const struct image *image, const struct source *debug)
{
	struct source *best = NULL;
	if (debug->has_text)
		return NULL;
	for (size_t i = 0; i < image->sources.n; i++) {
		struct source *s = &image->sources.v[i];
		if (completes(s, debug) && (!best || better(s, s->chosen_binary, best, best->chosen_binary)))
			best = s;
	}
	return best;
}

/*
 * The file beside the program @binary that is called like it, with the ending of its kind (PROGRAM.gsym), or
 * NULL. It takes precedence if it belongs to the same user or to root, as with llvm-symbolizer.
 */
static struct source *gsym_beside(const struct image *image, const struct source *binary)
{
	size_t length = binary ? strlen(binary->path) : 0;
	for (size_t i = 0; i < image->sources.n && binary && binary->has_text; i++) {
		struct source *s = &image->sources.v[i];
		const char *ending = image_traits[s->kind].ending;
		if (ending && (s->uid == binary->uid || s->uid == 0) &&
		    strncmp(s->path, binary->path, length) == 0 && strcmp(s->path + length, ending) == 0)
			return s;
	}
	return NULL;
}

/* ---- The choice ---- */

const struct source *image_source(const struct image *image)
{
	for (size_t i = 0; i < image->sources.n; i++)
		if (image->sources.v[i].chosen)
			return &image->sources.v[i];
	return NULL;
}

enum revision_state image_state(const struct image *image)
{
	return image->revision ? image->revision->state : STATE_COLD;
}

const struct source *image_binary(const struct image *image)
{
	for (size_t i = 0; i < image->sources.n; i++)
		if (image->sources.v[i].chosen_binary)
			return &image->sources.v[i];
	return NULL;
}

/* What a revision of the file depends on, mixed into @seed. */
static uint64_t source_fingerprint(const struct source *s, uint64_t seed)
{
	const uint64_t state[] = {
		s->dev,
		s->ino,
		s->size,
		(uint64_t)s->mtime_ns,
		(uint64_t)s->ctime_ns,
		(uint64_t)s->uid << 32 | s->gid,
		(uint64_t)s->mode << 32 | s->richness,
	};
	seed = XXH3_64bits_withSeed(state, sizeof(state), seed);
	return XXH3_64bits_withSeed(s->path, strlen(s->path), seed);
}

static uint64_t choice_fingerprint(const struct source *source, const struct source *binary)
{
	uint64_t print = source_fingerprint(source, 0);
	if (binary)
		print = source_fingerprint(binary, print);
	return print ? print : 1;
}

static void mark_chosen(struct image *image, const struct source *source, const struct source *binary)
{
	for (size_t i = 0; i < image->sources.n; i++) {
		struct source *s = &image->sources.v[i];
		s->chosen = s == source;
		s->chosen_binary = s == binary;
	}
}

/* Its best files; the fingerprint of the choice, 0 if there is none. */
static uint64_t choose(struct image *image)
{
	struct source *best = best_source(image);
	if (!best)
		return 0;
	struct source *binary = best_binary(image, best), *gsym = gsym_beside(image, binary ? binary : best);
	if (gsym) {
		best = gsym;
		binary = best_binary(image, best);
	}
	mark_chosen(image, best, binary);
	return choice_fingerprint(best, binary);
}

/* ---- Making revisions ---- */

static int copy_source(struct source *to, const struct source *from)
{
	*to = *from;
	to->path = strdup(from->path);
	to->go_id = NULL; /* the image knows it */
	return to->path ? 0 : -ENOMEM;
}

static int set_files(struct revision *rev)
{
	const struct source *binary = image_binary(rev->image);
	int err = copy_source(&rev->source, image_source(rev->image));
	return err || !binary ? err : copy_source(&rev->binary, binary);
}

void image_cache_key(const struct images *images, const struct image *image, struct cache_key *ret)
{
	const struct source *binary = image_binary(image);
	const struct cache_input input = {
		.id = image->id,
		.file = state_of(image_source(image)),
		.binary = binary ? state_of(binary) : (struct file_state){0},
		.kind = image_source(image)->kind,
		.binary_kind = binary ? binary->kind : IMAGE_OTHER,
		.version = IMAGE_GSYM_VERSION,
		.merged = images->merged,
		.places = images->places,
	};
	cache_key_make(&input, ret);
}

/* Versions alone would not spread; and this can be undone, so that the same hash is the same place. */
static uint64_t place_hash(uint64_t ino)
{
	uint64_t place = ino_place(ino);
	return place ^ place >> VERSION_BITS;
}

struct revision *image_revision(struct images *images, struct image *image)
{
	if (image->revision || !image_is_there(image))
		return image->revision;
	struct revision *rev = calloc(1, sizeof(*rev));
	if (!rev)
		return NULL;
	rev->image = image;
	rev->stamp = image_generation(images, image);
	rev->ino = image_ino(image);
	list_init(&rev->waiters);
	list_init(&rev->link);
	list_init(&rev->retired);
	image_cache_key(images, image, &rev->key);
	if (set_files(rev) || slots_add(&images->revisions, rev, &rev->number)) {
		revision_free(rev);
		return NULL;
	}
	if (table_add(&images->by_place, &rev->table, place_hash(rev->ino))) {
		slots_remove(&images->revisions, rev->number);
		revision_free(rev);
		return NULL;
	}
	image_version_used(image);
	image->revision = rev;
	image->pins++;
	image->kept = true;
	return rev;
}

/* By a handle the kernel may come to know what it was not told in this mount. */
struct image *images_at(const struct images *images, uint64_t ino)
{
	struct image *image = ino_is_of_image(ino) ? images_by_key(images, ino_a(ino)) : NULL;
	if (!image || !image_is_there(image) || ino_place(image_ino(image)) != ino_place(ino))
		return NULL;
	image_version_used(image);
	return image;
}

static struct revision *find_revision(struct images *images, uint64_t ino) REQUIRES(&images->lock)
{
	if (!ino_is_of_image(ino))
		return NULL;
	struct table_link *found = table_first(&images->by_place, place_hash(ino));
	if (found) {
		struct revision *rev = TABLE_ENTRY(found, struct revision);
		return rev->stale && ino >> 60 == NODE_IMAGE ? NULL : rev;
	}
	struct image *image = images_at(images, ino);
	return image ? image_revision(images, image) : NULL;
}

struct revision *images_revision(struct images *images, uint64_t ino)
{
	mutex_lock(&images->lock);
	struct revision *rev = find_revision(images, ino);
	mutex_unlock(&images->lock);
	return rev;
}

struct revision *images_current(struct images *images, uint64_t ino)
{
	struct revision *rev = images_revision(images, ino);
	return rev && !revision_is_stale(rev) ? rev : NULL;
}

struct revision *images_only_revision(struct images *images, uint64_t ino, const struct caller *caller,
				      bool listed)
{
	struct image *image;
	mutex_lock(&images->lock);
	const struct basename *name = basename_at(images, ino);
	bool is_only = name && (!listed || basename_is_visible(images, name, caller, true)) &&
		       images_find_only(images, name->name, caller, &image) == 0;
	struct revision *rev = is_only ? image_revision(images, image) : NULL;
	mutex_unlock(&images->lock);
	return rev;
}

static void set_progress(void *user, unsigned percent)
{
	struct revision *rev = user;
	atomic_store(&rev->progress, percent);
}

static void set_worker(void *user, pid_t pid)
{
	struct revision *rev = user;
	if (pid)
		atomic_store(&rev->elsewhere, false);
	atomic_store(&rev->worker, pid);
}

void revision_request(struct revision *rev, struct convert_request *ret)
{
	*ret = (struct convert_request){
		.id = rev->image->id,
		.arch = *rev->source.arch ? rev->source.arch : rev->binary.arch,
		.source = {.path = rev->source.path,
			   .state = state_of(&rev->source),
			   .fetched = rev->source.fetched,
			   .kind = rev->source.kind},
		.binary = {.path = rev->binary.path,
			   .state = state_of(&rev->binary),
			   .kind = rev->binary.kind},
		.key = &rev->key,
		.progress = set_progress,
		.worker = set_worker,
		.user = rev,
	};
}

void revision_free(struct revision *rev)
{
	if (!rev)
		return;
	handle_put(rev->handle);
	free(rev->source.path);
	free(rev->binary.path);
	free(rev->reason);
	free(rev->inputs);
	free(rev);
}

void revision_set_inputs(struct images *images, struct revision *rev, char *inputs)
{
	size_t size = inputs ? strlen(inputs) : 0;
	images->inputs_bytes -= rev->inputs_size;
	free(rev->inputs);
	if (size > INPUTS_BYTES_MAX - images->inputs_bytes) {
		free(inputs);
		inputs = NULL;
		size = 0;
	}
	rev->inputs = inputs;
	rev->inputs_size = size;
	images->inputs_bytes += size;
}

void revision_pin(struct revision *rev)
{
	if (rev)
		atomic_fetch_add(&rev->pins, (UINT64_C(1) << 32) + 1);
}

void revision_unpin(struct revision *rev)
{
	if (!rev)
		return;
	invariant(revision_is_pinned(rev));
	atomic_fetch_sub(&rev->pins, 1);
}

/* Bit sets of the states that each may change to; docs/revision-states.svg is the same as a figure. */
static const unsigned successors[STATES] = {
	[STATE_COLD] = 1U << STATE_OPENING,
	[STATE_OPENING] = 1U << STATE_COLD | 1U << STATE_QUEUED | 1U << STATE_READY | 1U << STATE_FAILED,
	[STATE_QUEUED] = 1U << STATE_CONVERTING,
	[STATE_CONVERTING] = 1U << STATE_COLD | 1U << STATE_READY | 1U << STATE_FAILED,
	[STATE_READY] = 1U << STATE_COLD,
	[STATE_FAILED] = 1U << STATE_COLD,
};

static bool has_worker(enum revision_state state)
{
	return state == STATE_QUEUED || state == STATE_CONVERTING;
}

void revision_set_state(struct images *images, struct revision *rev, enum revision_state state)
{
	invariant(successors[rev->state] >> state & 1);
	if (has_worker(state) && !has_worker(rev->state))
		atomic_fetch_add(&images->converting, 1);
	if (!has_worker(state) && has_worker(rev->state))
		atomic_fetch_sub(&images->converting, 1);
	rev->state = state;
}

/* The revision becomes stale: requests for its inode numbers soon fail with ESTALE, so that paths are looked
 * up again. */
static void retire(struct images *images, struct revision *rev) REQUIRES(&images->lock)
{
	struct list dropped;
	list_init(&dropped);
	rev->stale_since = monotonic_ms();
	rev->stale = true;
	list_append(&images->retired, &rev->retired);
	revision_set_inputs(images, rev, NULL);
	fragments_drop(images, rev, &dropped);
	fragments_free(&dropped);
	if (rev->state == STATE_READY)
		handle_put(revision_set_cold(images, rev));
}

/* What was known of the image is no longer true. */
static void end_version(struct images *images, struct image *image) REQUIRES(&images->lock)
{
	if (image->revision)
		retire(images, image->revision);
	image->revision = NULL;
}

void revision_choose(struct images *images, struct image *image)
{
	uint64_t choice = choose(image);
	if (choice == image->choice)
		return;
	if (image->choice)
		end_version(images, image);
	image->choice = choice;
	image_next_version(image);
	images_note_change(images);
}

void revision_renew(struct images *images, struct revision *rev)
{
	if (rev->stale)
		return;
	end_version(images, rev->image);
	image_next_version(rev->image);
}

/* ---- Open images ---- */

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return t.tv_sec;
}

/* Whether what failed is to be tried again. The clock may have been set back since. */
static bool is_due(const struct revision *rev)
{
	int64_t t = now();
	return rev->again && (t >= rev->again || (rev->passing && rev->again > t + RETRY_SOON_MAX));
}

static int use_locked(struct images *images, struct revision *rev, struct handle **ret, struct wait *ret_wait)
	REQUIRES(&images->lock)
{
	if (rev->stale)
		return -ESTALE;
	if (rev->state == STATE_FAILED && is_due(rev))
		revision_set_state(images, rev, STATE_COLD);
	if (rev->state == STATE_FAILED) {
		ret_wait->failed_here = rev->passing || rev->failure == -ENOSPC;
		return rev->failure;
	}
	if (!images->scanned && rev->source.richness != SOURCE_DWARF)
		return images_await(images, rev->image->id, ret_wait);
	if (rev->state != STATE_READY) {
		*ret_wait = (struct wait){
			.park = images->open,
			.object = images->opener,
			.revision = rev,
			.number = rev->number,
		};
		return -EAGAIN;
	}
	rev->used = now();
	rev->fresh = false;
	*ret = handle_get(rev->handle);
	return 0;
}

int revision_use(struct images *images, struct revision *rev, struct handle **ret, struct wait *ret_wait)
{
	mutex_lock(&images->lock);
	int err = use_locked(images, rev, ret, ret_wait);
	mutex_unlock(&images->lock);
	return err;
}

static void set_reason(struct revision *rev, const char *reason)
{
	char *copy = strdup(reason);
	if (!copy)
		return;
	free(rev->reason);
	rev->reason = copy;
}

static void remove_ready(struct images *images, struct revision *rev) REQUIRES(&images->lock)
{
	for (size_t i = 0; i < images->ready.n; i++) {
		if (images->ready.v[i] == rev) {
			images->ready.v[i] = images->ready.v[--images->ready.n];
			return;
		}
	}
	invariant(false); /* every revision in STATE_READY is in it */
}

struct handle *revision_set_cold(struct images *images, struct revision *rev)
{
	invariant(rev->state == STATE_READY && rev->handle);
	remove_ready(images, rev);
	revision_set_state(images, rev, STATE_COLD);
	return TAKE(rev->handle);
}

static struct revision *least_used(const struct images *images) REQUIRES(&images->lock)
{
	struct revision *least = images->ready.v[0];
	for (size_t i = 1; i < images->ready.n; i++)
		if (images->ready.v[i]->used < least->used)
			least = images->ready.v[i];
	return least;
}

struct handle *revision_set_ready(struct images *images, struct revision *rev, struct handle *handle)
{
	struct handle *evicted = NULL;
	rev->gsym_size = handle->gsym.size;
	if (rev->stale || vec_reserve(&images->ready, 1)) {
		revision_set_state(images, rev, STATE_COLD);
		return handle;
	}
	/* Who walks over more images has them opened again from the cache, which costs a checksum. */
	if (images->ready.n >= images->ready_max)
		evicted = revision_set_cold(images, least_used(images));
	images->ready.v[images->ready.n++] = rev;
	revision_set_state(images, rev, STATE_READY);
	rev->handle = handle;
	rev->used = now();
	rev->fresh = true;
	rev->passing = 0;
	rev->told = 0;
	return evicted;
}

void revision_set_failed(struct images *images, struct revision *rev, int errno_or_0, const char *reason)
{
	set_reason(rev, reason);
	revision_set_state(images, rev, errno_or_0 ? STATE_FAILED : STATE_COLD);
	rev->failure = errno_or_0;
}

static bool complain(struct revision *rev, const char *reason)
{
	int64_t t = now();
	bool loud = t >= rev->complained + COMPLAIN_SECONDS || t < rev->complained;
	if (loud)
		rev->complained = t;
	set_reason(rev, reason);
	return loud;
}

bool revision_complain(struct images *images, struct revision *rev, const char *reason)
{
	mutex_lock(&images->lock);
	bool loud = complain(rev, reason);
	mutex_unlock(&images->lock);
	return loud;
}

bool revision_lose(struct images *images, struct cache *cache, struct revision *rev,
		   const struct handle *handle, const char *reason)
{
	struct handle *unused = NULL;
	bool loud = false;
	mutex_lock(&images->lock);
	if (rev->handle == handle) {
		cache_forget(cache, &rev->key); /* with the lock held: before another conversion publishes */
		unused = revision_set_cold(images, rev);
		loud = complain(rev, reason);
	}
	mutex_unlock(&images->lock);
	handle_put(unused);
	return loud;
}

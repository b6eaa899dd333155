/* Every file gets a record in the index, every image its sources and names. */
#include "fs/scan/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/scan/index.h"
#include "work/cache/file_state.h"
#include "work/os/beneath.h"
#include "work/os/retry.h"
#include "gsym/base/diag.h"
#include "gsym/base/fault.h"
#include "gsym/base/path.h"
#include "fs/call/call.h"
#include "work/cache/image_id.h"
#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "fs/scan/dir_walk.h"
#include "fs/scan/titles.h"
#include "work/run/identifier.h"

enum {
	/*
	 * A first scan of a huge tree saves what it knows this often, so that an interrupted one is not lost.
	 */
	SAVE_EVERY = 20000,
	/* A walk hashes this much of a file without an id, milliseconds; larger files go to the lane. */
	WALK_HASH_MAX = 8 << 20,
};

/* ---- GSYM beside programs ---- */

/* Without memory the warning is omitted. */
static void note_gsym(struct sweep *s, const char *path, const struct image_identity *identity)
{
	const char *ending = image_traits[identity->kind].ending;
	size_t length = strlen(path), n = ending ? strlen(ending) : 0;
	struct gsym_seen seen = {0};
	if (!n || length <= n || strcmp(path + length - n, ending) != 0)
		return;
	id_format(identity, seen.id);
	seen.program = strndup(path, length - n);
	if (!seen.program || vec_push(&s->gsyms, seen))
		free(seen.program);
}

static int compare_gsym(const void *a, const void *b)
{
	return strcmp(((const struct gsym_seen *)a)->program, ((const struct gsym_seen *)b)->program);
}

/* @image has a file at @path. */
static void meet_program(struct sweep *s, const struct image *image, char *path)
{
	struct gsym_seen key = {.program = path}, *seen;
	seen = bsearch(&key, s->gsyms.v, s->gsyms.n, sizeof(key), compare_gsym);
	if (!seen)
		return;
	seen->met = true;
	seen->fits |= strcmp(seen->id, image->id) == 0;
}

static void meet_programs(struct sweep *s)
{
	struct images *images = s->scan->images;
	mutex_lock(&images->lock);
	const struct image *image;
	for (uint32_t i = 0; (image = slots_from(&images->all, &i)); i++) {
		for (size_t k = 0; k < image->sources.n; k++)
			if (s->partial || image->sources.v[k].pass == s->scan->pass)
				meet_program(s, image, image->sources.v[k].path);
	}
	mutex_unlock(&images->lock);
}

/* PROGRAM.gsym is meant to be used for PROGRAM: warn if it belongs to another build. */
static void check_gsyms(struct sweep *s)
{
	if (s->gsyms.n) {
		qsort(s->gsyms.v, s->gsyms.n, sizeof(*s->gsyms.v), compare_gsym);
		meet_programs(s);
	}
	for (size_t i = 0; i < s->gsyms.n; i++) {
		const struct gsym_seen *seen = &s->gsyms.v[i];
		if (seen->met && !seen->fits)
			log_warning(
				s->scan->log,
				"scan: %s%s.gsym: its UUID is not the id of '%s%s'; converting the latter",
				log_slash(s->scan->log), seen->program, log_slash(s->scan->log),
				seen->program);
		free(seen->program);
	}
	vec_free(&s->gsyms);
}

/* ---- Directories ---- */

/* Whether the last of the directories is above @path. */
static bool leads_to(const struct sweep *s, const char *path)
{
	size_t n = s->dirs.v[s->dirs.n - 1].path_size;
	return n == 0 || (strncmp(path, s->dir_path, n) == 0 && path[n] == '/');
}

/* The mount must not reveal names to users who cannot read them in SOURCE: if not every user can reach
 * SOURCE, its directory is readable by the owner only. */
static mode_t dir_mode(const char *path, const struct stat *st, bool open_to_all)
{
	return st->st_mode & (*path || open_to_all ? 0555 : 0500);
}

int sweep_enter(struct sweep *s, const char *path, const struct stat *st, bool open_to_all)
{
	while (s->dirs.n && !leads_to(s, path))
		s->dirs.n--;
	snprintf(s->dir_path, sizeof(s->dir_path), "%s", path);
	struct dir_seen seen = {
		.path_size = strlen(path),
		.attr = {st->st_uid, st->st_gid, dir_mode(path, st, open_to_all), st->st_mtim},
	};
	return vec_push(&s->dirs, seen);
}

/* Only directories with an image below them, or that were asked for, get a number. */
uint32_t sweep_directory(struct sweep *s)
{
	uint32_t number = PATH_NONE;
	size_t start = 0;
	for (size_t i = 0; i < s->dirs.n; i++) {
		struct dir_seen *d = &s->dirs.v[i];
		char name[NAME_MAX + 1];
		if (!d->noted) {
			snprintf(name, sizeof(name), "%.*s", (int)(d->path_size - start),
				 s->dir_path + start);
			d->number = images_add_directory(s->scan->images, number, name, &d->attr);
			d->noted = true;
		}
		number = d->number;
		start = d->path_size + (d->path_size ? 1 : 0);
	}
	return number;
}

void sweep_refresh(struct sweep *s)
{
	images_set_directory(s->scan->images, s->dir_path, &s->dirs.v[s->dirs.n - 1].attr);
}

/* ---- One file ---- */

/* Opens the file and has a worker identify it. @st becomes the state of the open file. */
static int ask_worker(struct sweep *s, const char *path, struct stat *st, struct identified *ret,
		      struct gsym_diag *diag)
{
	*ret = (struct identified){.fault = FAULT_MACHINE};
	int fd = open_beneath(s->root, path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return diag_set(diag, fd, "cannot open: %s", strerror(-fd));
	int err = fstat(fd, st) ? -errno : S_ISREG(st->st_mode) ? 0 : -ENOENT;
	if (!err)
		err = identify(&s->identifier, fd, (uint64_t)st->st_size, WALK_HASH_MAX, ret, diag);
	close(fd);
	s->n_opened++;
	return err;
}

/* Whether a file that cannot be looked at has images that would be served if it could. */
static bool hides_images(int err)
{
	return fault_of(err) != FAULT_ABSENT && fault_of(err) != FAULT_DENIED;
}

/* The machine's fault @err is not recorded: the next scan looks at the file again. */
static int note_trouble(struct sweep *s, const char *path, int err, const struct gsym_diag *diag)
{
	if (err == -ECHILD)
		log_error(s->scan->log, "scan: %s", diag->text);
	else if (err != -ECANCELED && err != -ENOENT)
		skipped_tell(s->scan->skipped, LINE_UNREADABLE, path, diag->text,
			     "skipped until the next scan");
	if (!s->trouble && hides_images(err))
		s->trouble = err;
	return err;
}

/* Records what is known of the file in state @key: its images, or why it has none we could see. */
static int record(struct sweep *s, struct file_record *r, const struct file_key *key,
		  const struct identified *found, enum record_state state, const char *reason)
{
	int err = record_set_images(r, found->images, state == RECORD_IDENTIFIED ? found->n : 0);
	if (!err)
		err = record_set_reason(r, reason);
	if (err) {
		s->trouble = s->trouble ? s->trouble : err;
		return err;
	}
	r->key = *key;
	r->readers = 0;
	r->state = (uint8_t)state;
	r->again = state == RECORD_GAVE_UP ? retry_at_limit() : 0;
	s->unsaved++;
	return 0;
}

/* Records what came of the file @path: @err and @found. Non-zero: it could not be identified now. */
static int settle(struct sweep *s, struct file_record *r, const char *path, const struct file_key *key,
		  int err, const struct identified *found, const struct gsym_diag *diag)
{
	if (err && found->fault == FAULT_MACHINE)
		return note_trouble(s, path, err, diag);
	const char *reason = err ? diag->text : found->lost.text;
	if (*reason)
		skipped_tell(s->scan->skipped, LINE_UNUSABLE, path, reason,
			     !err                          ? "used as far as it goes"
			     : found->fault == FAULT_LIMIT ? "skipped until it changes, or for an hour"
							   : "skipped until it changes");
	return record(s, r, key, found,
		      !err                          ? RECORD_IDENTIFIED
		      : found->fault == FAULT_LIMIT ? RECORD_GAVE_UP
						    : RECORD_BAD,
		      reason);
}

/* ---- Files that must be hashed ---- */

static int hash_later(struct sweep *s, struct file_record *r, const char *path, const struct file_key *key,
		      uint64_t to_hash)
{
	const struct identified none = {.n = 0};
	int err = hash_lane_add(&s->scan->hashes, path, key, to_hash);
	if (err) {
		s->trouble = s->trouble ? s->trouble : err;
		return err;
	}
	log_info(s->scan->log, "scan: %s%s: no build id or UUID; hashing %llu bytes for an id",
		 log_slash(s->scan->log), path, (unsigned long long)to_hash);
	return record(s, r, key, &none, RECORD_HASHING, "");
}

static void take_job(struct sweep *s, const struct hash_job *job)
{
	struct file_record *r = index_find(&s->scan->index, job->key.dev, job->key.ino);
	struct identified found = {.n = job->n_images, .fault = job->fault};
	struct gsym_diag diag;
	if (!r || r->state != RECORD_HASHING || !file_key_same(&r->key, &job->key))
		return; /* it has changed, or was removed */
	for (size_t i = 0; i < job->n_images; i++)
		found.images[i] = job->images[i];
	diag_set(&diag, job->err, "%s", job->reason ? job->reason : strerror(-job->err));
	if (!job->err && job->reason)
		found.lost = diag;
	if (job->err == -ESTALE || settle(s, r, job->path, &job->key, job->err, &found, &diag))
		record_forget(r);
}

void sweep_take_jobs(struct sweep *s)
{
	struct hash_job *job;
	while ((job = hash_lane_take(&s->scan->hashes))) {
		take_job(s, job);
		hash_job_free(job);
	}
}

/* ---- Any file ---- */

/* Updates the record of a new or changed file. Non-zero: it could not be identified now. */
static int learn(struct sweep *s, struct file_record *r, const char *path, struct stat *st)
{
	struct gsym_diag diag = {""};
	struct identified found;
	int err = ask_worker(s, path, st, &found, &diag);
	const struct file_key key = file_key_of(st);
	if (!err && found.to_hash)
		return hash_later(s, r, path, &key, found.to_hash);
	return settle(s, r, path, &key, err, &found, &diag);
}

/* Whether the record says all that can be known now of the file in state @key. */
static bool is_current(const struct file_record *r, const struct file_key *key)
{
	return file_key_same(&r->key, key) && (r->state != RECORD_GAVE_UP || !retry_is_due(r->again));
}

/* What is not known of a recorded file. */
static void note_gap(struct sweep *s, const struct file_record *r)
{
	struct scan *scan = s->scan;
	s->n_hashing += r->state == RECORD_HASHING;
	s->unsure |= r->state == RECORD_HASHING || r->state == RECORD_GAVE_UP;
	if (r->state != RECORD_GAVE_UP)
		return;
	if (!scan->again || r->again < scan->again)
		scan->again = r->again;
}

/*
 * Lists the file if it should have images but its record has none, or fewer than it should; otherwise it is
 * listed no more.
 */
static void note_skipped(struct sweep *s, const struct file_record *r, const char *path, bool open_to_all)
{
	struct scan *scan = s->scan;
	char reason[RECORD_REASON_MAX + 1];
	bool skipped = r->state == RECORD_BAD || r->state == RECORD_GAVE_UP;
	if (!skipped && !r->reason_size) {
		skipped_remove(scan->skipped, path);
		return;
	}
	record_reason(r, reason);
	const struct skipped_cause cause = {reason, skipped ? FILE_SKIPPED : FILE_TRUNCATED};
	skipped_add(scan->skipped, path, &cause, open_to_all, scan->pass);
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* The read permissions that the mount shows, never more than those of the file; if it cannot be opened, only
 * the owner's. */
static mode_t mirrored_mode(struct sweep *s, struct file_record *r, const char *path, const struct stat *st,
			    bool open_to_all)
{
	mode_t mode = st->st_mode & 0400;
	if (!open_to_all || !(st->st_mode & 0044) || record_readers(r, &mode))
		return mode;
	int fd = open_beneath(s->root, path, O_PATH | O_NOFOLLOW);
	if (fd < 0)
		return mode;
	mode = file_readers(fd, st, true);
	close(fd);
	s->n_permissions++;
	const struct file_key key = file_key_of(st);
	if (file_key_same(&r->key, &key))
		s->unsaved += record_set_readers(r, mode);
	return mode;
}

enum richness richness_of(const struct image_identity *identity)
{
	if (image_traits[identity->kind].richness)
		return image_traits[identity->kind].richness;
	if (identity->has_gsym && !identity->has_dwarf)
		return SOURCE_GSYM;
	if (identity->has_dwarf)
		return SOURCE_DWARF;
	if (identity->has_go)
		return SOURCE_GO;
	return identity->has_symtab ? SOURCE_SYMBOLS : SOURCE_BARE;
}

/* The names that the image @id has besides that of its file. */
static int add_own_titles(struct sweep *s, const struct image_identity *identity, const char *id,
			  const struct place *place)
{
	char inner[IMAGE_NAME_SIZE];
	int err = 0;
	/* The name of a file with symbols alone is not that of the program. */
	const enum richness richness = image_traits[identity->kind].richness;
	bool is_other = richness == SOURCE_BREAKPAD || richness == SOURCE_PDB ||
			path_is_called_by_id(place->path, id);
	if (*identity->name && !identity->id_is_hash && is_other)
		err = images_add_title(s->scan->images, id, identity->name, place->directory, s->scan->pass);
	if (!err && title_of_compressed(last_component(place->path), inner))
		err = images_add_title(s->scan->images, id, inner, place->directory, s->scan->pass);
	return err;
}

/* Adds image @number of the file. @whole: the image that the file belongs to, if its own id does not say. */
static int add_finding(struct sweep *s, const struct file_record *r, size_t number, const struct image *whole,
		       const struct place *place)
{
	struct image_identity identity;
	char id[ID_TEXT_SIZE];
	record_image(r, number, &identity);
	id_format(&identity, id);
	struct finding finding = {
		.id = whole ? whole->id : id,
		.at = {last_component(place->path), place->directory, number + 1 == r->n_images,
		       s->scan->pass},
		.source =
			{
				.path = (char *)place->path, /* borrowed */
				.dev = r->key.dev,
				.ino = r->key.ino,
				.size = r->key.size,
				.mtime_ns = r->key.mtime_ns,
				.ctime_ns = r->key.ctime_ns,
				.uid = place->uid,
				.gid = place->gid,
				.mode = place->mode,
				.richness = richness_of(&identity),
				.has_text = identity.has_text,
				.has_lost = identity.has_lost,
				.kind = identity.kind,
				.id_is_truncated = identity.id_is_truncated,
				.root = (uint8_t)scan_root_of(s->scan, place->path),
				.pass = s->scan->pass,
			},
	};
	finding.alone = s->partial && place->alone;
	memcpy(finding.source.arch, identity.arch, sizeof(finding.source.arch));
	memcpy(finding.source.htlhash, identity.htlhash, sizeof(finding.source.htlhash));
	finding.source.go_id = *identity.go_id ? identity.go_id : NULL; /* borrowed */
	struct list woken;
	list_init(&woken);
	s->n_added++;
	int err = images_add(s->scan->images, &finding, &woken);
	calls_resume(&woken);
	return err ? err : add_own_titles(s, &identity, finding.id, place);
}

/* ---- Files that name only the beginning of their build id ---- */

static int note_cut(struct sweep *s, const struct file_record *r, const struct place *place)
{
	s->unsure = true; /* and so are those of other files */
	struct cut_seen seen = {.record = r, .place = *place, .path = strdup(place->path)};
	seen.place.path = seen.path;
	if (seen.path && vec_push(&s->cuts, seen) == 0)
		return 0;
	free(seen.path);
	return -ENOMEM;
}

/*
 * The one image whose whole id begins so; NULL if there is none, or more than one. @pass: among files of this
 * walk; 0: one that was not seen may still be there.
 */
static const struct image *find_whole(struct sweep *s, const struct image_identity *identity, uint32_t pass)
	REQUIRES(&s->scan->images->lock)
{
	struct image *found[2];
	char id[ID_TEXT_SIZE];
	id_format(identity, id);
	return images_find_whole(s->scan->images, id, pass, found, ARRAY_SIZE(found)) == 1 ? found[0] : NULL;
}

/* First all are looked up, then added: an image that is added has the others sorted anew. */
static int add_cuts(struct sweep *s, uint32_t pass)
{
	struct image_identity identity;
	mutex_lock(&s->scan->images->lock);
	for (size_t i = 0; i < s->cuts.n; i++) {
		record_image(s->cuts.v[i].record, 0, &identity);
		s->cuts.v[i].whole = find_whole(s, &identity, pass);
	}
	mutex_unlock(&s->scan->images->lock);
	int err = 0;
	for (size_t i = 0; i < s->cuts.n && !err; i++) {
		const struct cut_seen *c = &s->cuts.v[i];
		err = add_finding(s, c->record, 0, c->whole, &c->place);
	}
	return err;
}

static void free_cuts(struct sweep *s)
{
	for (size_t i = 0; i < s->cuts.n; i++)
		free(s->cuts.v[i].path);
	vec_free(&s->cuts);
}

/* ---- Every file ---- */

/* A file with images was met, or was learnt of only now: @is_new. */
static int add_images(struct sweep *s, struct file_record *r, const char *path, const struct stat *st,
		      bool is_new, bool open_to_all)
{
	struct image_identity first;
	record_image(r, 0, &first);
	if (is_new)
		note_gsym(s, path, &first);
	/* Of a file with several paths a walk finds out who may reach one of them. */
	s->unsure |= st->st_nlink > 1;
	const struct place place = {path,
				    sweep_directory(s),
				    st->st_uid,
				    st->st_gid,
				    mirrored_mode(s, r, path, st, open_to_all),
				    st->st_nlink == 1};
	if (first.id_is_truncated)
		return note_cut(s, r, &place);
	int err = 0;
	for (size_t i = 0; i < r->n_images && !err; i++)
		err = add_finding(s, r, i, NULL, &place);
	return err;
}

static int visit_file(void *user, const char *path, const struct stat *found, bool open_to_all)
{
	struct sweep *s = user;
	struct scan *scan = s->scan;
	struct stat st = *found;
	struct file_key key = file_key_of(&st);
	struct file_record *r = index_get(&scan->index, key.dev, key.ino);
	if (!r)
		return -ENOMEM;
	s->n_files++;
	bool known = is_current(r, &key);
	int err = known ? 0 : learn(s, r, path, &st);
	if (err == -ECANCELED || err == -ECHILD)
		return err;
	/* A file that cannot be identified now keeps its previous record, if it has one. */
	if (err && (err == -ENOENT || !r->n_images))
		return 0;
	r->pass = scan->pass;
	r->root = (uint8_t)scan_root_of(scan, path);
	if (!s->partial)
		r->order = (uint32_t)s->n_files;
	note_gap(s, r);
	note_skipped(s, r, path, open_to_all);
	if (s->unsaved >= SAVE_EVERY) {
		scan_save_index(scan);
		s->unsaved = 0;
	}
	s->n_bad += r->state == RECORD_BAD;
	s->n_images += r->n_images != 0;
	return r->n_images ? add_images(s, r, path, &st, !known && !err, open_to_all) : 0;
}

/* ---- Symbolic links ---- */

/*
 * Distributions link the id of a program to its file, which need not be in SOURCE: only the text of the link
 * is of interest.
 */
static int visit_away(void *user, const char *path, int dir, const char *name)
{
	struct sweep *s = user;
	struct title_seen seen;
	char target[PATH_MAX];
	if (!path_build_id(path, seen.id))
		return 0;
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
	if (n <= 0)
		return 0;
	target[n] = 0;
	const char *title = title_of_link(target);
	if (!title)
		return 0;
	seen.name = strdup(title);
	seen.directory = sweep_directory(s);
	if (seen.name && vec_push(&s->titles, seen) == 0)
		return 0;
	free(seen.name);
	return -ENOMEM;
}

static int visit_link(void *user, const char *path, const struct stat *target)
{
	struct sweep *s = user;
	/* Below "/" a link leads to a file, of whichever source or of none. */
	int err = s->scan->n_roots > 1 ? visit_away(user, path, s->root, path) : 0;
	if (err)
		return err;
	char *name = strdup(last_component(path));
	if (!name || vec_push(&s->links,
			      (struct link_seen){target->st_dev, target->st_ino, name, sweep_directory(s)})) {
		free(name);
		return -ENOMEM;
	}
	return 0;
}

static void add_titles(struct sweep *s)
{
	for (size_t i = 0; i < s->titles.n; i++) {
		const struct title_seen *t = &s->titles.v[i];
		if (images_add_title(s->scan->images, t->id, t->name, t->directory, s->scan->pass))
			s->trouble = s->trouble ? s->trouble : -ENOMEM;
	}
}

static void free_titles(struct sweep *s)
{
	for (size_t i = 0; i < s->titles.n; i++)
		free(s->titles.v[i].name);
	vec_free(&s->titles);
}

/* The image that a file belongs to. */
static void whole_id(struct sweep *s, const struct image_identity *identity, uint32_t pass,
		     char ret[static ID_TEXT_SIZE])
{
	id_format(identity, ret);
	if (!identity->id_is_truncated)
		return;
	mutex_lock(&s->scan->images->lock);
	const struct image *whole = find_whole(s, identity, pass);
	mutex_unlock(&s->scan->images->lock);
	if (whole)
		strcpy(ret, whole->id);
}

/* Links are only further names of files that were met by their own path. */
static void add_links(struct sweep *s, uint32_t pass)
{
	for (size_t i = 0; i < s->links.n; i++) {
		struct link_seen *l = &s->links.v[i];
		struct file_record *r = index_find(&s->scan->index, l->dev, l->ino);
		char id[ID_TEXT_SIZE];
		for (size_t k = 0; r && (s->partial || r->pass == s->scan->pass) && k < r->n_images; k++) {
			struct image_identity identity;
			record_image(r, k, &identity);
			whole_id(s, &identity, pass, id);
			const struct found_at at = {l->basename, l->directory, k + 1 == r->n_images,
						    s->scan->pass};
			if (images_add_name(s->scan->images, id, &at)) {
				s->trouble = s->trouble ? s->trouble : -ENOMEM;
				return;
			}
		}
	}
}

static void free_links(struct sweep *s)
{
	for (size_t i = 0; i < s->links.n; i++)
		free(s->links.v[i].basename);
	vec_free(&s->links);
}

/* ---- Directories ---- */

static bool is_cache(const struct cache *cache, int dir)
{
	struct stat a, b;
	return fstat(dir, &a) == 0 && fstat(cache->dir, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static bool is_root(const struct scan *scan, const char *path)
{
	size_t number = scan_root_of(scan, path);
	return number < scan->n_roots && strcmp(scan->roots[number].below, path) == 0;
}

static int visit_dir(void *user, const char *path, int fd, bool open_to_all)
{
	struct sweep *s = user;
	struct scan *scan = s->scan;
	struct stat st;
	const bool root = is_root(scan, path);
	const char *what = root ? NULL : is_cache(scan->cache, fd) ? "the cache" : pseudo_file_system(fd);
	if (what) {
		const struct skipped_cause cause = {what, DIR_NOT_ENTERED};
		skipped_add(scan->skipped, path, &cause, open_to_all, scan->pass);
		return 1;
	}
	watch_dir(&scan->watch, fd, path, root, scan->pass);
	return fstat(fd, &st) ? -errno : sweep_enter(s, path, &st, open_to_all);
}

static void tell_unreadable(void *user, const char *path, const char *reason, const char *use)
{
	const struct sweep *s = user;
	skipped_tell(s->scan->skipped, LINE_UNREADABLE, path, reason, use);
}

/* ---- Sources ---- */

size_t scan_root_of(const struct scan *scan, const char *path)
{
	size_t i = 0;
	while (i < scan->n_roots && !path_is_within(path, scan->roots[i].below))
		i++;
	return i;
}

void scan_save_index(struct scan *scan)
{
	for (unsigned i = 0; i < scan->n_roots; i++)
		index_save(&scan->index, i, scan->cache, scan->roots[i].path);
}

/* ---- From begin to end ---- */

dev_t sweep_mounted_device(const struct scan *scan)
{
	return entry_device(AT_FDCWD, scan->mountpoint);
}

int sweep_begin(struct sweep *s)
{
	struct scan *scan = s->scan;
	s->unsaved = scan->unsaved;
	s->identifier = (struct identifier){
		.worker = scan->worker,
		.stop_fd = scan->stop_fd,
	};
	s->root = open(scan->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->root >= 0)
		return 0;
	int err = -errno;
	log_warning(scan->log, "scan: %s: cannot open: %s", scan->source, strerror(-err));
	return fault_of(err) == FAULT_NETWORK ? err : -EIO;
}

struct walk_visitor sweep_visitor(struct sweep *s)
{
	return (struct walk_visitor){
		.file = visit_file,
		.link = visit_link,
		.away = visit_away,
		.dir = visit_dir,
		.tell = tell_unreadable,
		.user = s,
		.avoid = sweep_mounted_device(s->scan),
		.stop_fd = s->scan->stop_fd,
	};
}

int sweep_settle(struct sweep *s, bool complete)
{
	uint32_t pass = complete ? s->scan->pass : 0;
	int err = add_cuts(s, pass);
	add_links(s, pass);
	add_titles(s);
	check_gsyms(s);
	skipped_summarize(s->scan->skipped);
	return err;
}

void sweep_end(struct sweep *s)
{
	s->scan->unsaved = s->unsaved;
	identifier_stop(&s->identifier);
	if (s->root >= 0)
		close(s->root);
	free_links(s);
	free_titles(s);
	free_cuts(s);
	vec_free(&s->dirs);
}

#include "fs/scan/skipped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "work/os/monotonic.h"
#include "gsym/base/path.h"

enum {
	/* Lines of the log in a minute: thousands of damaged files would fill a disk with them. */
	LINES_MAX = 20,
	LINES_MS = 60 * 1000,
};

struct skipped_file {
	struct table_link table;
	char *path;
	char *reason;
	uint32_t pass; /* that saw it last */
	bool open_to_all;
	enum skipped_kind kind;
};

void skipped_init(struct skipped *s, const struct log *log)
{
	*s = (struct skipped){.log = log};
	mutex_init(&s->lock, LOCK_SKIPPED);
}

static void file_free(struct skipped_file *file)
{
	if (!file)
		return;
	free(file->path);
	free(file->reason);
	free(file);
}

/* Those for which @forget is true; all if it is NULL. */
static void forget_all(struct skipped *s, bool (*forget)(const struct skipped_file *file, const void *user),
		       const void *user) REQUIRES(&s->lock)
{
	TABLE_EACH(struct skipped_file, file, &s->files) {
		if (forget && !forget(file, user))
			continue;
		table_remove(&s->files, &file->table);
		file_free(file);
	}
}

void skipped_deinit(struct skipped *s)
{
	mutex_lock(&s->lock);
	forget_all(s, NULL, NULL);
	table_deinit(&s->files);
	mutex_unlock(&s->lock);
	mutex_destroy(&s->lock);
}

static uint64_t hash_of(const char *path)
{
	return XXH3_64bits(path, strlen(path));
}

static struct skipped_file *find(const struct skipped *s, const char *path) REQUIRES(&s->lock)
{
	return TABLE_FIND(struct skipped_file, file, &s->files, hash_of(path), strcmp(file->path, path) == 0);
}

static struct skipped_file *add(struct skipped *s, const char *path) REQUIRES(&s->lock)
{
	struct skipped_file *file = calloc(1, sizeof(*file));
	if (file)
		file->path = strdup(path);
	if (!file || !file->path || table_add(&s->files, &file->table, hash_of(path))) {
		file_free(file);
		return NULL;
	}
	return file;
}

void skipped_add(struct skipped *s, const char *path, const struct skipped_cause *cause, bool open_to_all,
		 uint32_t pass)
{
	mutex_lock(&s->lock);
	struct skipped_file *file = find(s, path);
	if (!file)
		file = add(s, path);
	if (file && (!file->reason || strcmp(file->reason, cause->reason) != 0)) {
		free(file->reason);
		file->reason = strdup(cause->reason);
	}
	if (file) {
		file->kind = cause->kind;
		file->open_to_all = open_to_all;
		file->pass = pass;
	}
	mutex_unlock(&s->lock);
}

void skipped_tell(struct skipped *s, enum skipped_line kind, const char *path, const char *reason,
		  const char *use)
{
	int64_t now = monotonic_ms();
	if (!s->lines[kind].told || now >= s->lines[kind].since + LINES_MS) {
		s->lines[kind].since = now;
		s->lines[kind].told = 0;
	}
	if (s->lines[kind].told >= LINES_MAX) {
		s->lines[kind].untold++;
		return;
	}
	s->lines[kind].told++;
	log_warning(s->log, "scan: %s%s: %s; %s", log_slash(s->log), path, reason, use);
}

void skipped_summarize(struct skipped *s)
{
	static const char *const texts[] = {
		[LINE_UNUSABLE] = "files are skipped or truncated; see the file status in the mount",
		[LINE_UNREADABLE] = "files and directories cannot be looked at",
	};
	for (size_t i = 0; i < SKIPPED_LINES; i++) {
		if (s->lines[i].untold)
			log_warning(s->log, "scan: %zu more %s", s->lines[i].untold, texts[i]);
		s->lines[i].untold = 0;
	}
}

void skipped_remove(struct skipped *s, const char *path)
{
	mutex_lock(&s->lock);
	struct skipped_file *file = s->files.n ? find(s, path) : NULL;
	if (file)
		table_remove(&s->files, &file->table);
	mutex_unlock(&s->lock);
	file_free(file);
}

/* ---- Files that are gone ---- */

struct unseen {
	const char *dir; /* NULL: anywhere */
	uint32_t pass;
};

static bool is_unseen(const struct skipped_file *file, const void *user)
{
	const struct unseen *u = user;
	return file->pass != u->pass && (!u->dir || path_is_within(file->path, u->dir));
}

void skipped_forget(struct skipped *s, const char *path, bool below, uint32_t pass)
{
	const struct unseen unseen = {path, pass};
	mutex_lock(&s->lock);
	struct skipped_file *file = s->files.n && !below ? find(s, path) : NULL;
	if (below) {
		forget_all(s, is_unseen, &unseen);
	} else if (file && file->pass != pass) {
		table_remove(&s->files, &file->table);
		file_free(file);
	}
	mutex_unlock(&s->lock);
}

void skipped_sweep(struct skipped *s, uint32_t pass)
{
	const struct unseen unseen = {.pass = pass};
	mutex_lock(&s->lock);
	forget_all(s, is_unseen, &unseen);
	mutex_unlock(&s->lock);
}

/* ---- The list ---- */

/* Keeps @file among the first ones, which are sorted, if it is one of them. */
static void keep_first(const struct skipped_file *first[static SKIPPED_LISTED], size_t *n,
		       const struct skipped_file *file)
{
	size_t at = *n;
	while (at && strcmp(file->path, first[at - 1]->path) < 0)
		at--;
	if (at == SKIPPED_LISTED)
		return;
	*n += *n < SKIPPED_LISTED;
	memmove(first + at + 1, first + at, (*n - at - 1) * sizeof(*first));
	first[at] = file;
}

static int copy_first(struct skipped *s, enum skipped_kind kind, bool sees_all, struct skipped_list *ret)
	REQUIRES(&s->lock)
{
	const struct skipped_file *first[SKIPPED_LISTED];
	size_t n = 0;
	TABLE_EACH(struct skipped_file, file, &s->files) {
		ret->all += file->kind == kind;
		if (file->kind == kind && (sees_all || file->open_to_all))
			keep_first(first, &n, file);
	}
	for (; ret->n < n; ret->n++) {
		const struct skipped_file *file = first[ret->n];
		struct skipped_text *text = &ret->v[ret->n];
		text->path = strdup(file->path);
		text->reason = text->path ? strdup(file->reason ? file->reason : "") : NULL;
		if (!text->reason) {
			free(text->path);
			return -ENOMEM;
		}
	}
	return 0;
}

int skipped_show(struct skipped *s, enum skipped_kind kind, bool sees_all, struct skipped_list *ret)
{
	ret->n = ret->all = 0;
	mutex_lock(&s->lock);
	int err = copy_first(s, kind, sees_all, ret);
	mutex_unlock(&s->lock);
	if (err)
		skipped_list_deinit(ret);
	return err;
}

void skipped_list_deinit(struct skipped_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->v[i].path);
		free(list->v[i].reason);
	}
	list->n = 0;
}

/*
 * Images are taken by their numbers, which are never reused: those that are there all the time are met once,
 * however many come and go between slices. Few are taken at a time with images.lock; then, without it, those
 * that are closed are looked for in the cache, whose directory was read before the first. A file there is
 * opened once, to count its functions, and has its name looked up only from then on. At the end the lines are
 * sorted, in runs that are merged, and copied.
 */
#include "fs/answer/answer_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/images/image_facts.h"
#include "fs/images/revision.h"
#include "gsym/base/escape.h"
#include "work/cache/cache_names.h"

enum {
	TAKEN_MAX = 32,    /* images at a time */
	NAMES_MAX = 1024,  /* of the cache's directory at a time */
	NUMBERS_MAX = 512, /* looked at for those, of images that are gone or not the user's */
	RUN_LINES = 1024,  /* sorted at a time */
	COPIED_LINES = 1024,
};

/* An image, whose functions are yet to be looked up. */
struct taken {
	size_t head, tail; /* where in @text of the draft: the columns before the state; the path */
	uint32_t number;
	enum revision_state state;
	uint32_t functions;       /* of one that is open, */
	struct cache_key key;     /* else where they are looked up, */
	struct cache_count count; /* and what was known of that */
};

struct image_line {
	uint64_t begin; /* the first bytes, as a number that sorts as they do */
	size_t off, size;
};

typedef VEC(struct image_line) line_vec;

struct images_draft {
	struct draft draft;
	struct answers *answers;
	struct caller caller;
	struct cache_names names;
	uint32_t next; /* number of the next image */
	bool all;      /* have been taken */
	size_t n_taken;
	struct taken taken[TAKEN_MAX];
	struct text_buf text;  /* of what was taken */
	struct text_buf table; /* lines as they came */
	line_vec lines;
	line_vec merged; /* where runs of them are merged to; as many */
	size_t run;      /* lines in each sorted run; 0: runs are being sorted */
	size_t at;       /* lines sorted, merged or copied by this pass */
	struct content *content;
	size_t copied; /* bytes of it */
};

static struct draft *images_begin(struct answers *answers, fuse_req_t req)
{
	struct images_draft *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->answers = answers;
	d->caller = caller_of(req);
	return &d->draft;
}

static void images_free(struct draft *draft)
{
	struct images_draft *d = (struct images_draft *)draft;
	caller_deinit(&d->caller);
	cache_names_deinit(&d->names);
	text_deinit(&d->text);
	text_deinit(&d->table);
	vec_free(&d->lines);
	vec_free(&d->merged);
	content_put(d->content);
	free(d);
}

static size_t images_bytes(const struct draft *draft)
{
	const struct images_draft *d = (const struct images_draft *)draft;
	return sizeof(*d) + d->text.cap + d->table.cap + (d->content ? d->content->size : 0) +
	       (d->lines.cap + d->merged.cap) * sizeof(*d->lines.v) + cache_names_bytes(&d->names);
}

/* ---- Taking ---- */

static void put_column(struct text_buf *out, const char *value)
{
	escape_str(out, *value ? value : "??", ESCAPE_TSV);
	text_char(out, '\t');
}

static void take_image(struct images_draft *d, const struct images *images, const struct image *image)
	REQUIRES(&images->lock)
{
	const struct image_facts facts = image_facts(images, image, &d->caller);
	if (!facts.readable)
		return;
	struct taken *taken = &d->taken[d->n_taken++];
	taken->number = image->number;
	taken->state = facts.state;
	taken->functions = facts.functions;
	taken->count = image->count;
	if (facts.state != STATE_READY)
		image_cache_key(images, image, &taken->key);
	taken->head = d->text.n;
	put_column(&d->text, facts.id);
	put_column(&d->text, facts.kind);
	put_column(&d->text, facts.arch);
	put_column(&d->text, facts.name);
	taken->tail = d->text.n;
	escape_str(&d->text, facts.path, ESCAPE_TSV);
}

/* What was looked up in the cache need not be read again. */
static void keep_counts(const struct images_draft *d, struct images *images) REQUIRES(&images->lock)
{
	for (size_t i = 0; i < d->n_taken; i++) {
		struct image *image = slots_get(&images->all, d->taken[i].number);
		if (image)
			image->count = d->taken[i].count;
	}
}

static void take_images(struct images_draft *d)
{
	struct images *images = d->answers->images;
	const struct image *image = NULL;
	text_reset(&d->text);
	mutex_lock(&images->lock);
	keep_counts(d, images);
	d->n_taken = 0;
	for (unsigned n = 0; n < NUMBERS_MAX && d->n_taken < TAKEN_MAX; n++, d->next++) {
		image = slots_from(&images->all, &d->next);
		if (!image)
			break;
		if (image_is_there(image))
			take_image(d, images, image);
	}
	mutex_unlock(&images->lock);
	d->all = !image && !d->n_taken;
}

/* ---- Lines ---- */

static uint64_t begin_of(const char *text, size_t size)
{
	uint8_t bytes[8] = {0};
	memcpy(bytes, text, size < sizeof(bytes) ? size : sizeof(bytes));
	return load64(bytes, true);
}

/* A conversion in the cache counts, although the image is not open. */
static void put_state(struct images_draft *d, struct taken *taken)
{
	bool ready = taken->state == STATE_READY;
	bool converted = !ready && cache_names_may_have(&d->names, &taken->key) &&
			 cache_functions(d->answers->cache, &taken->key, &taken->count);
	text_str(&d->table,
		 converted && taken->state == STATE_COLD ? "converted" : state_words[taken->state]);
	text_char(&d->table, '\t');
	if (ready || converted)
		text_dec(&d->table, ready ? taken->functions : taken->count.functions);
	else
		text_lit(&d->table, "??");
	text_char(&d->table, '\t');
}

static int put_line(struct images_draft *d, size_t i)
{
	struct taken *taken = &d->taken[i];
	size_t end = i + 1 < d->n_taken ? taken[1].head : d->text.n;
	struct image_line line = {.off = d->table.n};
	text_bytes(&d->table, d->text.v + taken->head, taken->tail - taken->head);
	put_state(d, taken);
	text_bytes(&d->table, d->text.v + taken->tail, end - taken->tail);
	text_char(&d->table, '\n');
	if (d->table.failed)
		return -ENOMEM;
	line.size = d->table.n - line.off;
	line.begin = begin_of(d->table.v + line.off, line.size);
	return vec_push(&d->lines, line);
}

static int list_some(struct images_draft *d)
{
	take_images(d);
	int err = d->text.failed ? -ENOMEM : 0;
	for (size_t i = 0; i < d->n_taken && !err; i++)
		err = put_line(d, i);
	return err;
}

/* ---- Their order ---- */

/* As bytes, which is the order of the ids: a tab is less than what is in them. */
static int compare_lines(const void *a, const void *b, void *table)
{
	const struct image_line *x = a, *y = b;
	const char *text = table;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	size_t size = x->size < y->size ? x->size : y->size;
	return memcmp(text + x->off, text + y->off, size);
}

static size_t lines_until(const struct images_draft *d, size_t end)
{
	return end < d->lines.n ? end : d->lines.n;
}

/* The run at @at and the one after it, to the same place in @merged. */
static void merge_runs(struct images_draft *d)
{
	const struct image_line *lines = d->lines.v;
	const size_t middle = lines_until(d, d->at + d->run), end = lines_until(d, d->at + 2 * d->run);
	size_t a = d->at, b = middle;
	for (; d->at < end; d->at++) {
		bool first = b == end || (a < middle && compare_lines(&lines[a], &lines[b], d->table.v) <= 0);
		d->merged.v[d->at] = lines[first ? a++ : b++];
	}
}

static int begin_merging(struct images_draft *d)
{
	if (vec_reserve(&d->merged, d->lines.n))
		return -ENOMEM;
	d->merged.n = d->lines.n;
	d->run = RUN_LINES;
	d->at = 0;
	return 0;
}

static bool is_sorted(const struct images_draft *d)
{
	return d->run && d->run >= d->lines.n;
}

static int sort_some(struct images_draft *d)
{
	if (d->at == d->lines.n && !d->run)
		return begin_merging(d);
	if (d->at == d->lines.n) {
		const line_vec merged = d->merged;
		d->merged = d->lines;
		d->lines = merged;
		d->run *= 2;
		d->at = 0;
	} else if (d->run) {
		merge_runs(d);
	} else {
		size_t n = lines_until(d, d->at + RUN_LINES) - d->at;
		qsort_r(d->lines.v + d->at, n, sizeof(*d->lines.v), compare_lines, d->table.v);
		d->at += n;
	}
	return 0;
}

static int copy_some(struct images_draft *d)
{
	if (!d->content)
		d->content = content_alloc(d->table.n);
	if (!d->content)
		return -ENOMEM;
	for (size_t end = lines_until(d, d->at + COPIED_LINES); d->at < end; d->at++) {
		const struct image_line *line = &d->lines.v[d->at];
		memcpy(d->content->data + d->copied, d->table.v + line->off, line->size);
		d->copied += line->size;
	}
	return 0;
}

static int images_go_on(struct draft *draft, struct content **ret)
{
	struct images_draft *d = (struct images_draft *)draft;
	while (!d->content || d->at < d->lines.n) {
		int err = !d->names.complete ? cache_names_read(&d->names, d->answers->cache, NAMES_MAX)
			  : !d->all          ? list_some(d)
			  : !is_sorted(d)    ? sort_some(d)
					     : copy_some(d);
		if (err)
			return err;
		if (draft_is_late(draft))
			return SLICE_USED_UP;
	}
	*ret = TAKE(d->content);
	return 0;
}

const struct draft_kind images_table = {images_begin, images_go_on, images_bytes, images_free};

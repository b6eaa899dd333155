/*
 * Images are taken by their numbers, which are never reused: those that are there all the time are met once,
 * however many come and go between slices. Few are taken at a time with images.lock; then, without it, those
 * that are closed are looked for in the cache, which opens files. At the end the lines are sorted.
 */
#include "fs/answer/images_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/images/image_facts.h"
#include "fs/images/revision.h"
#include "gsym/base/escape.h"

enum {
	TAKEN_MAX = 32,    /* images at a time */
	NUMBERS_MAX = 512, /* looked at for those, of images that are gone or not the user's */
};

/* An image, whose functions are yet to be looked up. */
struct taken {
	size_t head, tail; /* where in @text of the draft: the columns before the state; the path */
	enum revision_state state;
	uint32_t functions;
	struct cache_key key; /* unless it is open */
};

struct image_line {
	uint64_t begin; /* the first bytes, as a number that sorts as they do */
	size_t off, size;
};

struct images_draft {
	struct draft draft;
	struct answers *answers;
	struct caller caller;
	uint32_t next; /* number of the next image */
	bool all;      /* have been taken */
	size_t n_taken;
	struct taken taken[TAKEN_MAX];
	struct text_buf text;  /* of what was taken */
	struct text_buf table; /* lines as they came */
	VEC(struct image_line) lines;
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
	text_deinit(&d->text);
	text_deinit(&d->table);
	vec_free(&d->lines);
	free(d);
}

static size_t images_bytes(const struct draft *draft)
{
	const struct images_draft *d = (const struct images_draft *)draft;
	return sizeof(*d) + d->text.cap + d->table.cap + d->lines.cap * sizeof(*d->lines.v);
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
	taken->state = facts.state;
	taken->functions = facts.functions;
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

static void take_some(struct images_draft *d)
{
	struct images *images = d->answers->images;
	const struct image *image = NULL;
	d->n_taken = 0;
	text_reset(&d->text);
	mutex_lock(&images->lock);
	for (unsigned n = 0; n < NUMBERS_MAX && d->n_taken < TAKEN_MAX; n++, d->next++) {
		image = slots_from(&images->all, &d->next);
		if (!image)
			break;
		if (image_is_there(image))
			take_image(d, images, image);
	}
	mutex_unlock(&images->lock);
	d->all = !image;
}

/* ---- Lines ---- */

static uint64_t begin_of(const char *text, size_t size)
{
	uint8_t bytes[8] = {0};
	memcpy(bytes, text, size < sizeof(bytes) ? size : sizeof(bytes));
	return load64(bytes, true);
}

/* A conversion in the cache counts, although the image is not open. */
static void put_state(struct images_draft *d, const struct taken *taken)
{
	uint32_t functions = taken->functions;
	bool converted =
		taken->state != STATE_READY && cache_functions(d->answers->cache, &taken->key, &functions);
	text_str(&d->table,
		 converted && taken->state == STATE_COLD ? "converted" : state_words[taken->state]);
	text_char(&d->table, '\t');
	if (converted || taken->state == STATE_READY)
		text_dec(&d->table, functions);
	else
		text_lit(&d->table, "??");
	text_char(&d->table, '\t');
}

static int put_line(struct images_draft *d, size_t i)
{
	const struct taken *taken = &d->taken[i];
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

static int put_lines(struct images_draft *d)
{
	int err = d->text.failed ? -ENOMEM : 0;
	for (size_t i = 0; i < d->n_taken && !err; i++)
		err = put_line(d, i);
	return err;
}

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

/* Not sliced: 100,000 lines take 30 ms. */
static int finish(struct images_draft *d, struct content **ret)
{
	struct content *content = content_alloc(d->table.n);
	if (!content)
		return -ENOMEM;
	if (d->lines.n)
		qsort_r(d->lines.v, d->lines.n, sizeof(*d->lines.v), compare_lines, d->table.v);
	char *at = content->data;
	for (size_t i = 0; i < d->lines.n; i++) {
		memcpy(at, d->table.v + d->lines.v[i].off, d->lines.v[i].size);
		at += d->lines.v[i].size;
	}
	*ret = content;
	return 0;
}

static int images_go_on(struct draft *draft, struct content **ret)
{
	struct images_draft *d = (struct images_draft *)draft;
	int err = 0;
	while (!err && !d->all) {
		take_some(d);
		err = put_lines(d);
		if (!err && draft_is_late(draft))
			return SLICE_USED_UP;
	}
	return err ? err : finish(d, ret);
}

const struct draft_kind images_table = {images_begin, images_go_on, images_bytes, images_free};

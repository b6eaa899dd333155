/*
 * The table has an entry for each further id of each file, also if files of one image have the same: one goes
 * with each of them.
 */
#include "fs/images/other_ids.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "gsym/base/invariant.h"

enum { KINDS = 2 };

struct other_id {
	struct table_link table;
	struct image *image;
};

bool source_htlhash(const struct source *source, char ret[static HTLHASH_TEXT_SIZE])
{
	static const uint8_t none[HTLHASH_SIZE];
	static const char digits[] = "0123456789abcdef";
	bool known = memcmp(source->htlhash, none, sizeof(none)) != 0;
	*ret = 0;
	for (size_t i = 0; known && i < HTLHASH_SIZE; i++) {
		*ret++ = digits[source->htlhash[i] >> 4];
		*ret++ = digits[source->htlhash[i] & 15];
		*ret = 0;
	}
	return known;
}

bool id_may_be_other(const char *id)
{
	return strchr(id, '/') || strspn(id, "0123456789abcdef") == HTLHASH_TEXT_SIZE - 1;
}

/* Whether the source has an id of that kind: @ret becomes its text, for which there is room. */
static bool other_id(const struct source *source, unsigned kind, char ret[static GO_ID_SIZE])
{
	static_assert((int)HTLHASH_TEXT_SIZE <= (int)GO_ID_SIZE, "room for both");
	if (kind == 0)
		return source_htlhash(source, ret);
	if (source->go_id)
		memcpy(ret, source->go_id, strlen(source->go_id) + 1);
	return source->go_id != NULL;
}

static uint64_t hash_of(const char *text)
{
	return XXH3_64bits(text, strlen(text));
}

static bool has_other(const struct image *image, const char *id)
{
	char text[GO_ID_SIZE];
	for (size_t i = 0; i < image->sources.n; i++)
		for (unsigned kind = 0; kind < KINDS; kind++)
			if (other_id(&image->sources.v[i], kind, text) && strcmp(text, id) == 0)
				return true;
	return false;
}

void images_free_other(struct images *images)
{
	TABLE_EACH(struct other_id, entry, &images->by_other_id)
		free(entry);
	table_deinit(&images->by_other_id);
	images->has_other_ids = false;
}

static int add_entry(struct images *images, struct image *image, const char *id) REQUIRES(&images->lock)
{
	struct other_id *entry = malloc(sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->image = image;
	int err = table_add(&images->by_other_id, &entry->table, hash_of(id));
	if (err)
		free(entry);
	return err;
}

/* Without memory there is no table; the next lookup makes it anew. */
void images_note_source(struct images *images, struct image *image, const struct source *source)
{
	char id[GO_ID_SIZE];
	for (unsigned kind = 0; kind < KINDS && images->has_other_ids; kind++)
		if (other_id(source, kind, id) && add_entry(images, image, id))
			images_free_other(images);
}

static struct other_id *find_entry(const struct images *images, const struct image *image, uint64_t hash)
	REQUIRES(&images->lock)
{
	return TABLE_FIND(struct other_id, entry, &images->by_other_id, hash, entry->image == image);
}

void images_drop_source(struct images *images, const struct image *image, const struct source *source)
{
	char id[GO_ID_SIZE];
	for (unsigned kind = 0; kind < KINDS && images->has_other_ids; kind++) {
		if (!other_id(source, kind, id))
			continue;
		struct other_id *entry = find_entry(images, image, hash_of(id));
		invariant(entry);
		table_remove(&images->by_other_id, &entry->table);
		free(entry);
	}
}

static void note_all(struct images *images) REQUIRES(&images->lock)
{
	struct image *image;
	images->has_other_ids = table_reserve(&images->by_other_id, images->all.n) == 0;
	for (uint32_t i = 0; images->has_other_ids && (image = slots_from(&images->all, &i)); i++)
		for (size_t k = 0; k < image->sources.n; k++)
			images_note_source(images, image, &image->sources.v[k]);
}

struct image *images_find_other(struct images *images, const char *id)
{
	struct image *found = NULL;
	uint64_t hash = hash_of(id);
	if (!id_may_be_other(id))
		return NULL;
	if (!images->has_other_ids)
		note_all(images);
	struct table_link *at = table_first(&images->by_other_id, hash);
	for (; at; at = table_next(at, hash)) {
		struct image *image = TABLE_ENTRY(at, struct other_id)->image;
		if (image == found || !has_other(image, id))
			continue;
		if (found)
			return NULL;
		found = image;
	}
	return found;
}

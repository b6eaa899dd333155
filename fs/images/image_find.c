#include "fs/images/image_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "fs/images/other_ids.h"
#include "fs/images/scan_request.h"
#include "fs/name/node.h"
#include "gsym/base/invariant.h"
#include "gsym/base/search.h"

enum {
	TRUNCATED_ID_DIGITS = 32,
	/* Of more new ids it is cheaper to sort all. */
	INSERTED_MAX = 64,
};

struct image *images_find(const struct images *images, const char *id)
{
	return TABLE_FIND(struct image, image, &images->by_id, XXH3_64bits(id, strlen(id)),
			  strcmp(image->id, id) == 0);
}

static int by_id(const void *a, const void *b)
{
	struct image *const *x = a, *const *y = b;
	return strcmp((*x)->id, (*y)->id);
}

/* Index of the first image whose id is not below @prefix. */
static size_t lower_bound(const struct images *images, const char *prefix) REQUIRES(&images->lock)
{
	return PARTITION_POINT(0, images->sorted.n, mid, strcmp(images->sorted.v[mid]->id, prefix) < 0);
}

/* There is room. */
static void insert_sorted(struct images *images, struct image *image) REQUIRES(&images->lock)
{
	size_t at = lower_bound(images, image->id);
	struct image **place = &images->sorted.v[at];
	memmove(place + 1, place, (images->sorted.n - at) * sizeof(*place));
	*place = image;
	images->sorted.n++;
}

static int sort_ids(struct images *images) REQUIRES(&images->lock)
{
	size_t more = images->all.n - images->sorted.n;
	struct image *image;
	if (vec_reserve(&images->sorted, more))
		return -ENOMEM;
	for (uint32_t i = images->sorted_to; (image = slots_from(&images->all, &i)); i++) {
		if (more <= INSERTED_MAX)
			insert_sorted(images, image);
		else
			images->sorted.v[images->sorted.n++] = image;
	}
	images->sorted_to = images->all.next;
	if (more > INSERTED_MAX)
		qsort(images->sorted.v, images->sorted.n, sizeof(*images->sorted.v), by_id);
	return 0;
}

void images_remove_sorted(struct images *images, const struct image *image)
{
	if (image->number >= images->sorted_to)
		return;
	size_t at = lower_bound(images, image->id);
	struct image **place = &images->sorted.v[at];
	invariant(at < images->sorted.n && *place == image);
	images->sorted.n--;
	memmove(place, place + 1, (images->sorted.n - at) * sizeof(*place));
}

/* The one living image whose id begins with @prefix; NULL when there is none or more than one. */
static struct image *find_prefix(struct images *images, const char *prefix) REQUIRES(&images->lock)
{
	size_t length = strlen(prefix);
	struct image *found = NULL;
	if (sort_ids(images))
		return NULL;
	for (size_t i = lower_bound(images, prefix); i < images->sorted.n; i++) {
		struct image *image = images->sorted.v[i];
		if (strncmp(image->id, prefix, length) != 0)
			break;
		if (!image_is_there(image))
			continue;
		if (found)
			return NULL;
		found = image;
	}
	return found;
}

bool images_has_prefix(struct images *images, const char *prefix)
{
	size_t length = strlen(prefix);
	if (sort_ids(images))
		return false;
	size_t i = lower_bound(images, prefix);
	while (i < images->sorted.n && strncmp(images->sorted.v[i]->id, prefix, length) == 0)
		if (image_is_there(images->sorted.v[i++]))
			return true;
	return false;
}

static bool has_whole_id(const struct image *image, uint32_t pass)
{
	for (size_t i = 0; i < image->sources.n; i++)
		if (!image->sources.v[i].id_is_truncated && (!pass || image->sources.v[i].pass == pass))
			return true;
	return false;
}

/* Build ids that are shorter than what Breakpad makes of them. */
static size_t find_padded(const struct images *images, const char *truncated, uint32_t pass,
			  struct image **ret, size_t max) REQUIRES(&images->lock)
{
	char id[TRUNCATED_ID_DIGITS + 1];
	size_t found = 0;
	for (size_t n = TRUNCATED_ID_DIGITS - 2;
	     n && found < max && truncated[n] == '0' && truncated[n + 1] == '0'; n -= 2) {
		memcpy(id, truncated, n);
		id[n] = 0;
		struct image *image = images_find(images, id);
		if (image && has_whole_id(image, pass))
			ret[found++] = image;
	}
	return found;
}

size_t images_find_whole(struct images *images, const char *truncated, uint32_t pass, struct image **ret,
			 size_t max)
{
	if (strlen(truncated) != TRUNCATED_ID_DIGITS || sort_ids(images))
		return 0;
	size_t found = find_padded(images, truncated, pass, ret, max);
	for (size_t i = lower_bound(images, truncated); i < images->sorted.n && found < max; i++) {
		struct image *image = images->sorted.v[i];
		if (strncmp(image->id, truncated, TRUNCATED_ID_DIGITS) != 0)
			break;
		if (has_whole_id(image, pass))
			ret[found++] = image;
	}
	return found;
}

/* ---- In any spelling ---- */

/* The one image whose id is or begins with @text, or is @text without zeros at its end. */
static struct image *find_beginning(struct images *images, const char *text) REQUIRES(&images->lock)
{
	struct image *image = images_find(images, text), *whole;
	if (image && image_is_there(image))
		return image;
	image = find_prefix(images, text);
	return image || images_find_whole(images, text, 0, &whole, 1) != 1 || strlen(whole->id) > strlen(text)
		       ? image
		       : whole;
}

/* The one image that Breakpad calls @id. */
static struct image *find_breakpad(struct images *images, const char *id) REQUIRES(&images->lock)
{
	char as_is[BREAKPAD_ID_SIZE], swapped[BREAKPAD_ID_SIZE];
	if (!id_from_breakpad(id, as_is, swapped))
		return NULL;
	struct image *a = find_beginning(images, as_is), *b = find_beginning(images, swapped);
	return !a || a == b ? b : b ? NULL : a;
}

/* See struct wait. @over: what the call waits for has happened. */
static int park_unless(bool over, struct images *images, struct call *call) REQUIRES(&images->lock)
{
	if (over || call->wait.findings != images->findings)
		return -EAGAIN;
	list_append(&images->scan_waiters, &call->link);
	return 0;
}

/* Until the first scan is over; what it waits for is looked for before that, see scan_request.h. */
static int park_for_scan(void *object, struct call *call)
{
	struct images *images = object;
	mutex_assert_held(&images->lock);
	int err = park_unless(images->scanned, images, call);
	if (!err && *call->wait.id)
		scan_request_add_id(images, call, call->wait.id);
	return err;
}

static int park_for_path(void *object, struct call *call)
{
	struct images *images = object;
	mutex_assert_held(&images->lock);
	int err = park_unless(images->scanned, images, call);
	const struct path_dir *dir = path_dir_by_key(&images->paths, ino_a(call->ino));
	if (!err)
		scan_request_add_path(images, call, dir ? dir->number : 0, call->name);
	return err;
}

static int park_for_hashes(void *object, struct call *call)
{
	struct images *images = object;
	mutex_assert_held(&images->lock);
	return park_unless(!images->hashing, images, call);
}

int images_await(struct images *images, const char *id, struct wait *ret_wait)
{
	*ret_wait = (struct wait){
		.park = images->scanned ? park_for_hashes : park_for_scan,
		.object = images,
		.findings = images->findings,
	};
	strcpy(ret_wait->id, id);
	return -EAGAIN;
}

int images_await_name(struct images *images, struct wait *ret_wait)
{
	return images->scanned && !images->hashing ? images->absent : images_await(images, "", ret_wait);
}

int images_await_path(struct images *images, struct wait *ret_wait)
{
	int err = images_await_name(images, ret_wait);
	if (!images->scanned)
		ret_wait->park = park_for_path;
	return err;
}

int images_lookup(struct images *images, const struct request *request, struct image **ret,
		  struct wait *ret_wait)
{
	struct image *image = images_find(images, request->id);
	bool exact = image && image_is_there(image);
	*ret = NULL;
	if (!exact && !images->scanned)
		return images_await(images, request->id, ret_wait);
	if (!exact)
		image = id_may_be_prefix(request->id) ? find_prefix(images, request->id) : NULL;
	if (!image)
		image = find_breakpad(images, request->id);
	if (!image)
		image = images_find_other(images, request->id);
	*ret = image;
	if (image)
		return 0;
	bool may_come =
		images->hashing && (strncmp(request->id, "xxh3-", 5) == 0 || id_may_be_other(request->id));
	return may_come ? images_await(images, request->id, ret_wait) : images->absent;
}

#include "fs/images/why_id.h"

#include <errno.h>
#include <string.h>

#include "fs/images/image_find.h"
#include "fs/sys/content.h"
#include "gsym/base/escape.h"
#include "gsym/base/suggestion.h"
#include "gsym/base/text_buf.h"

enum {
	SAME_MIN = 4,  /* digits at the beginning or the end that ids which are alike have in common */
	OTHERS_MAX = 4 /* ids that are named */
};

static bool have_end_in_common(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	return strncmp(a, b, SAME_MIN) == 0 ||
	       (n >= SAME_MIN && m >= SAME_MIN && strcmp(a + n - SAME_MIN, b + m - SAME_MIN) == 0);
}

/* Digits of ids differ in most places, so that the few which have an end in common are compared. */
static const char *nearest_id(const struct images *images, const char *id) REQUIRES(&images->lock)
{
	struct suggestion suggestion = suggestion_begin(id, strlen(id));
	const struct image *image;
	for (uint32_t i = 0; (image = slots_from(&images->all, &i)); i++)
		if (image_is_there(image) && have_end_in_common(image->id, id))
			suggestion_try(&suggestion, image->id);
	return suggestion.best;
}

/* Appends the ids that begin so. Returns how many there are. */
static size_t put_beginning(const struct images *images, const char *id, struct text_buf *out)
	REQUIRES(&images->lock)
{
	const struct image *image;
	size_t n = 0;
	for (uint32_t i = 0; (image = slots_from(&images->all, &i)); i++) {
		if (!image_is_there(image) || strncmp(image->id, id, strlen(id)) != 0 || n++ >= OTHERS_MAX)
			continue;
		text_str(out, n == 1 ? "several ids begin so: " : ", ");
		text_str(out, image->id);
	}
	return n;
}

/* Why images_lookup() found none. */
static void put_absent(const struct images *images, const struct request *request, bool is_id,
		       struct text_buf *out) REQUIRES(&images->lock)
{
	if (!is_id)
		text_lit(out, "no id is written so: expected hexadecimal digits; ");
	else if (!images->scanned)
		text_lit(out, "not scanned yet: the first scan is not over, see status; ");
	else if (images->hashing)
		text_lit(out, "not scanned yet: files without an id are being hashed, see status; ");
	else if (images->absent != -ENOENT)
		text_lit(out, "the last scan could not look at everything, see status; ");
	size_t n = put_beginning(images, request->id, out);
	if (n > OTHERS_MAX)
		text_lit(out, " and more");
	const char *nearest = n ? NULL : nearest_id(images, request->id);
	if (!n)
		text_lit(out, "no image has this id");
	if (nearest) {
		text_lit(out, "; the nearest is ");
		text_str(out, nearest);
	}
}

static void put_found(const struct image *image, struct text_buf *out)
{
	text_lit(out, "an image; of its addresses ask ");
	text_str(out, image->id);
	text_lit(out, "/why/ADDRESS");
}

struct content *why_id_make(struct images *images, const struct request *request, bool is_id)
{
	struct text_buf out = {0};
	struct image *image;
	struct wait wait;
	escape_bytes(&out, request->id, strlen(request->id), ESCAPE_TEXT);
	text_lit(&out, ": ");
	mutex_lock(&images->lock);
	if (is_id && images_lookup(images, request, &image, &wait) == 0)
		put_found(image, &out);
	else
		put_absent(images, request, is_id, &out);
	mutex_unlock(&images->lock);
	text_char(&out, '\n');
	struct content *content = out.failed ? NULL : content_new(out.v, out.n);
	text_deinit(&out);
	return content;
}

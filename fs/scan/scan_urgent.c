#include "fs/scan/scan_urgent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/images/urgent.h"
#include "fs/images/image_find.h"
#include "fs/scan/scan_look.h"
#include "fs/scan/sweep.h"

/* Where SOURCE may have files by build id: it may be any of the directories down to there itself. */
static const char *const places[] = {
	"", ".build-id/", "debug/.build-id/", "lib/debug/.build-id/", "usr/lib/debug/.build-id/",
};

static const char *const suffixes[] = {".debug", ""};

static bool is_build_id(const char *id)
{
	size_t n = strlen(id);
	return n > 2 && strspn(id, "0123456789abcdef") == n;
}

static bool is_found(struct sweep *s, const char *id)
{
	struct images *images = s->scan->images;
	mutex_lock(&images->lock);
	const struct image *image = images_find(images, id);
	bool found = image && image_is_there(image);
	mutex_unlock(&images->lock);
	return found;
}

static void look_at_place(struct sweep *s, const char *root, const char *place, const char *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		char path[PATH_MAX];
		int n = snprintf(path, sizeof(path), "%s%s%s%.2s/%s%s", root, *root ? "/" : "", place, id,
				 id + 2, suffixes[i]);
		if (n < (int)sizeof(path))
			scan_look_aside(s, path);
	}
}

static void look_for_id(struct sweep *s, const char *id)
{
	const struct scan *scan = s->scan;
	for (size_t i = 0; is_build_id(id) && i < ARRAY_SIZE(places); i++) {
		for (size_t k = 0; k < scan->n_roots; k++)
			look_at_place(s, scan->roots[k].below, places[i], id);
		if (is_found(s, id))
			return;
	}
}

void scan_one_urgent(struct sweep *s)
{
	struct images *images = s->scan->images;
	struct urgent urgent;
	struct list woken;
	if (!urgent_any(images) || !urgent_take(images, &urgent))
		return;
	if (urgent.path)
		scan_look_aside(s, urgent.path);
	else
		look_for_id(s, urgent.id);
	list_init(&woken);
	urgent_done(images, &urgent, &woken);
	calls_resume(&woken);
	free(urgent.path);
}

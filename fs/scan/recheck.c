#include "fs/scan/recheck.h"

#include <stdlib.h>
#include <string.h>

#include "work/run/inputs.h"
#include "fs/images/revision.h"

/* What a revision is known to be made of: in its handle, or for a failed one as a copy. */
struct suspect {
	struct revision *rev;
	struct handle *handle;
	char *text;
};

typedef VEC(struct suspect) suspect_vec;

static void add_suspect(suspect_vec *all, struct revision *rev)
{
	struct suspect s = {.rev = rev};
	if (rev->state == STATE_READY && rev->handle->inputs.size)
		s.handle = handle_get(rev->handle);
	else if (rev->state == STATE_FAILED && rev->inputs && *rev->inputs)
		s.text = strdup(rev->inputs);
	if ((s.handle || s.text) && vec_push(all, s) == 0)
		return;
	handle_put(s.handle);
	free(s.text);
}

/* What cannot be looked at now is not known to have changed. */
static bool is_outdated(const struct suspect *s, const struct search_path *search)
{
	struct span inputs =
		s->handle ? s->handle->inputs : (struct span){(uint8_t *)s->text, strlen(s->text)};
	return inputs_check(inputs, search) == -ESTALE;
}

static void renew(struct images *images, struct revision *rev)
{
	mutex_lock(&images->lock);
	if (rev->state == STATE_READY || rev->state == STATE_FAILED)
		revision_renew(images, rev);
	mutex_unlock(&images->lock);
}

void images_recheck(struct images *images, const struct search_path *search)
{
	suspect_vec all = {0};
	struct revision *rev;
	unsigned inside = readers_enter(&images->readers);
	mutex_lock(&images->lock);
	for (uint32_t i = 0; (rev = slots_from(&images->revisions, &i)); i++)
		if (!rev->stale)
			add_suspect(&all, rev);
	mutex_unlock(&images->lock);
	for (size_t i = 0; i < all.n; i++) {
		if (is_outdated(&all.v[i], search))
			renew(images, all.v[i].rev);
		handle_put(all.v[i].handle);
		free(all.v[i].text);
	}
	readers_leave(&images->readers, inside);
	vec_free(&all);
}

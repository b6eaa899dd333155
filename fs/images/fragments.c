#include "fs/images/fragments.h"

#include <stdlib.h>

#include "work/cache/handle.h"

enum {
	ALL_MAX = 1024, /* of all images; each is a mapping */
	ALL_BYTES_MAX = 256 << 20,
};

struct kept_fragment {
	struct list link; /* in images->fragments, the oldest first */
	struct revision *rev;
	struct handle *handle;
};

static void drop(struct images *images, struct kept_fragment *fragment, struct list *dropped)
	REQUIRES(&images->lock)
{
	images->n_fragments--;
	images->fragment_bytes -= fragment->handle->map_size;
	fragment->rev->n_fragments--;
	list_remove(&fragment->link);
	list_append(dropped, &fragment->link);
}

/* The oldest one of @rev, NULL: of all; or NULL. */
static struct kept_fragment *oldest(const struct images *images, const struct revision *rev)
	REQUIRES(&images->lock)
{
	LIST_EACH(struct kept_fragment, fragment, &images->fragments)
		if (!rev || fragment->rev == rev)
			return fragment;
	return NULL;
}

static bool is_full(const struct images *images) REQUIRES(&images->lock)
{
	return images->n_fragments > ALL_MAX || images->fragment_bytes > ALL_BYTES_MAX;
}

void fragments_add(struct images *images, struct revision *rev, struct handle *handle, struct list *dropped)
{
	struct kept_fragment *fragment = malloc(sizeof(*fragment));
	if (!fragment) {
		handle_put(handle);
		return;
	}
	*fragment = (struct kept_fragment){.rev = rev, .handle = handle};
	list_append(&images->fragments, &fragment->link);
	images->n_fragments++;
	images->fragment_bytes += handle->map_size;
	rev->n_fragments++;
	rev->fragments_made++;
	if (rev->n_fragments > FRAGMENTS_MAX)
		drop(images, oldest(images, rev), dropped);
	while (is_full(images))
		drop(images, oldest(images, NULL), dropped);
}

void fragments_drop(struct images *images, struct revision *rev, struct list *dropped)
{
	while (rev->n_fragments)
		drop(images, oldest(images, rev), dropped);
}

void fragments_free(struct list *dropped)
{
	for (struct list *at; (at = list_take(dropped));) {
		struct kept_fragment *fragment = LIST_ENTRY(at, struct kept_fragment);
		handle_put(fragment->handle);
		free(fragment);
	}
}

static size_t get_locked(const struct images *images, const struct revision *rev,
			 struct handle *ret[static FRAGMENTS_MAX]) REQUIRES(&images->lock)
{
	size_t n = 0, most = rev->stale ? 0 : rev->n_fragments;
	for (struct list *at = images->fragments.prev; n < most && at != &images->fragments; at = at->prev) {
		const struct kept_fragment *fragment = LIST_ENTRY(at, struct kept_fragment);
		if (fragment->rev == rev)
			ret[n++] = handle_get(fragment->handle);
	}
	return n;
}

size_t fragments_get(struct images *images, const struct revision *rev,
		     struct handle *ret[static FRAGMENTS_MAX], unsigned *ret_made)
{
	mutex_lock(&images->lock);
	size_t n = get_locked(images, rev, ret);
	*ret_made = rev->fragments_made;
	mutex_unlock(&images->lock);
	return n;
}

struct revision *fragments_oldest(const struct images *images,
				  bool (*wanted)(const void *user, const struct revision *rev),
				  const void *user)
{
	LIST_EACH(struct kept_fragment, fragment, &images->fragments)
		if (wanted(user, fragment->rev))
			return fragment->rev;
	return NULL;
}

uint64_t fragments_functions(const struct images *images, const struct revision *rev)
{
	uint64_t n = 0;
	size_t left = rev->n_fragments;
	for (struct list *at = images->fragments.next; left; at = at->next) {
		const struct kept_fragment *fragment = LIST_ENTRY(at, struct kept_fragment);
		if (fragment->rev != rev)
			continue;
		n += gsym_reader_info(fragment->handle->reader)->num_addresses;
		left--;
	}
	return n;
}

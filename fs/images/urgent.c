#include "fs/images/urgent.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
	/* Calls beyond so many wait for the scan alone. */
	URGENT_MAX = 256,
};

static bool same(const struct urgent *a, const struct urgent *b)
{
	if (!a->path || !b->path)
		return !a->path && !b->path && strcmp(a->id, b->id) == 0;
	return strcmp(a->path, b->path) == 0;
}

/* The number under which it is looked for; 0: too many are. */
static uint64_t number_of(struct images *images, const struct urgent *urgent) REQUIRES(&images->lock)
{
	for (size_t i = 0; i < images->urgent.n; i++)
		if (same(&images->urgent.v[i], urgent))
			return images->urgent.v[i].number;
	struct urgent copy = *urgent;
	copy.path = urgent->path ? strdup(urgent->path) : NULL;
	copy.number = images->urgent_numbers + 1;
	if (images->urgent.n >= URGENT_MAX || (urgent->path && !copy.path) ||
	    vec_push(&images->urgent, copy)) {
		free(copy.path);
		return 0;
	}
	atomic_store(&images->n_urgent, (unsigned)images->urgent.n);
	return ++images->urgent_numbers;
}

/* A call may ask for several things one after the other, but for each of them once. */
static void add(struct images *images, struct call *call, const struct urgent *urgent) REQUIRES(&images->lock)
{
	const char *text = urgent->path ? urgent->path : urgent->id;
	uint64_t what = XXH3_64bits_withSeed(text, strlen(text), urgent->path != NULL);
	if (call->urgent_number && call->urgent_what == what)
		return;
	call->urgent_number = number_of(images, urgent);
	call->urgent_what = what;
}

void urgent_add_id(struct images *images, struct call *call, const char *id)
{
	struct urgent urgent = {.path = NULL};
	strcpy(urgent.id, id);
	add(images, call, &urgent);
}

/* Puts @name and a slash before what begins at @at, of which @start is the first byte. NULL: no room. */
static char *put_before(char *at, const char *start, const char *name)
{
	size_t n = strlen(name);
	if (n + 1 > (size_t)(at - start))
		return NULL;
	*--at = '/';
	return memcpy(at - n, name, n);
}

void urgent_add_path(struct images *images, struct call *call, uint32_t dir, const char *name)
{
	char path[PATH_MAX], *at = path + sizeof(path) - 1 - strlen(name);
	const struct path_tree *paths = &images->paths;
	strcpy(at, name);
	for (const struct path_dir *d; at && (d = path_tree_dir(paths, dir)) && *d->name; dir = d->parent)
		at = put_before(at, path, d->name);
	const struct urgent urgent = {.path = at};
	if (at)
		add(images, call, &urgent);
}

bool urgent_any(const struct images *images)
{
	return atomic_load(&images->n_urgent) != 0;
}

bool urgent_take(struct images *images, struct urgent *ret)
{
	mutex_lock(&images->lock);
	bool any = images->urgent.n != 0;
	if (any) {
		*ret = images->urgent.v[0];
		images->urgent.n--;
		memmove(images->urgent.v, images->urgent.v + 1, images->urgent.n * sizeof(*images->urgent.v));
		atomic_store(&images->n_urgent, (unsigned)images->urgent.n);
	}
	mutex_unlock(&images->lock);
	return any;
}

void urgent_done(struct images *images, const struct urgent *urgent, struct list *woken)
{
	mutex_lock(&images->lock);
	calls_wake_urgent(&images->scan_waiters, urgent->number, woken);
	mutex_unlock(&images->lock);
}

void urgent_clear(struct images *images)
{
	for (size_t i = 0; i < images->urgent.n; i++)
		free(images->urgent.v[i].path);
	vec_free(&images->urgent);
	atomic_store(&images->n_urgent, 0);
}

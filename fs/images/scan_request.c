#include "fs/images/scan_request.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
	/* Calls beyond so many wait for the scan alone. */
	SCAN_REQUESTS_MAX = 256,
};

static bool is_same_request(const struct scan_request *a, const struct scan_request *b)
{
	if (!a->path || !b->path)
		return !a->path && !b->path && strcmp(a->id, b->id) == 0;
	return strcmp(a->path, b->path) == 0;
}

/* The number under which it is looked for; 0: too many are. */
static uint64_t request_number(struct images *images, const struct scan_request *request)
	REQUIRES(&images->lock)
{
	for (size_t i = 0; i < images->scan_requests.n; i++)
		if (is_same_request(&images->scan_requests.v[i], request))
			return images->scan_requests.v[i].number;
	struct scan_request copy = *request;
	copy.path = request->path ? strdup(request->path) : NULL;
	copy.number = images->scan_request_numbers + 1;
	if (images->scan_requests.n >= SCAN_REQUESTS_MAX || (request->path && !copy.path) ||
	    vec_push(&images->scan_requests, copy)) {
		free(copy.path);
		return 0;
	}
	atomic_store(&images->n_scan_requests, (unsigned)images->scan_requests.n);
	return ++images->scan_request_numbers;
}

/* A call may ask for several things one after the other, but for each of them once. */
static void add_request(struct images *images, struct call *call, const struct scan_request *request)
	REQUIRES(&images->lock)
{
	const char *text = request->path ? request->path : request->id;
	uint64_t what = XXH3_64bits_withSeed(text, strlen(text), request->path != NULL);
	if (call->scan_request && call->scan_request_text == what)
		return;
	call->scan_request = request_number(images, request);
	call->scan_request_text = what;
}

void scan_request_add_id(struct images *images, struct call *call, const char *id)
{
	struct scan_request request = {.path = NULL};
	strcpy(request.id, id);
	add_request(images, call, &request);
}

/* Puts @name and a slash before what begins at @at, of which @start is the first byte. NULL: no room. */
static char *put_name_before(char *at, const char *start, const char *name)
{
	size_t n = strlen(name);
	if (n + 1 > (size_t)(at - start))
		return NULL;
	*--at = '/';
	return memcpy(at - n, name, n);
}

void scan_request_add_path(struct images *images, struct call *call, uint32_t dir, const char *name)
{
	char path[PATH_MAX], *at = path + sizeof(path) - 1 - strlen(name);
	const struct path_tree *paths = &images->paths;
	strcpy(at, name);
	for (const struct path_dir *d; at && (d = path_tree_dir(paths, dir)) && *d->name; dir = d->parent)
		at = put_name_before(at, path, d->name);
	const struct scan_request request = {.path = at};
	if (at)
		add_request(images, call, &request);
}

bool scan_request_any(const struct images *images)
{
	return atomic_load(&images->n_scan_requests) != 0;
}

bool scan_request_take(struct images *images, struct scan_request *ret)
{
	mutex_lock(&images->lock);
	bool any = images->scan_requests.n != 0;
	if (any) {
		*ret = images->scan_requests.v[0];
		images->scan_requests.n--;
		memmove(images->scan_requests.v, images->scan_requests.v + 1,
			images->scan_requests.n * sizeof(*images->scan_requests.v));
		atomic_store(&images->n_scan_requests, (unsigned)images->scan_requests.n);
	}
	mutex_unlock(&images->lock);
	return any;
}

void scan_request_done(struct images *images, const struct scan_request *request, struct list *woken)
{
	mutex_lock(&images->lock);
	calls_wake_requested(&images->scan_waiters, request->number, woken);
	mutex_unlock(&images->lock);
}

void scan_request_clear(struct images *images)
{
	for (size_t i = 0; i < images->scan_requests.n; i++)
		free(images->scan_requests.v[i].path);
	vec_free(&images->scan_requests);
	atomic_store(&images->n_scan_requests, 0);
}

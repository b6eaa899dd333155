#include "fs/scan/changes.h"

#include <stdio.h>
#include <string.h>

enum {
	/* Of more paths a walk is cheaper. */
	CHANGES_MAX = 10000,
	MOVED_MAX = 64, /* each costs a look at all directories that are watched */
};

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void changes_sort(struct changes *changes)
{
	size_t kept = 0;
	if (changes->paths.n)
		qsort(changes->paths.v, changes->paths.n, sizeof(*changes->paths.v), compare);
	for (size_t i = 0; i < changes->paths.n; i++) {
		if (kept && strcmp(changes->paths.v[kept - 1], changes->paths.v[i]) == 0)
			free(changes->paths.v[i]);
		else
			changes->paths.v[kept++] = changes->paths.v[i];
	}
	changes->paths.n = kept;
}

void changes_clear(struct changes *changes)
{
	for (size_t i = 0; i < changes->paths.n; i++)
		free(changes->paths.v[i]);
	for (size_t i = 0; i < changes->moved.n; i++)
		free(changes->moved.v[i]);
	vec_free(&changes->paths);
	vec_free(&changes->moved);
	*changes = (struct changes){0};
}

/* Makes room, if the same paths change again and again. */
static bool is_full(struct changes *changes)
{
	if (changes->paths.n < CHANGES_MAX)
		return false;
	changes_sort(changes);
	return changes->paths.n > CHANGES_MAX / 2;
}

static char *join(const char *dir, const char *name)
{
	char *path = NULL;
	return asprintf(&path, "%s%s%s", dir, *dir ? "/" : "", name) < 0 ? NULL : path;
}

/* Too many, or no memory. */
static void give_up(struct changes *changes)
{
	changes_clear(changes);
	changes->all = true;
}

void changes_add(struct changes *changes, const char *dir, const char *name)
{
	if (changes->all)
		return;
	char *path = is_full(changes) ? NULL : join(dir, name);
	if (!path || vec_push(&changes->paths, path)) {
		free(path);
		give_up(changes);
	}
}

void changes_add_moved(struct changes *changes, const char *dir, const char *name)
{
	changes_add(changes, dir, name);
	if (changes->all)
		return;
	char *path = changes->moved.n < MOVED_MAX ? join(dir, name) : NULL;
	if (!path || vec_push(&changes->moved, path)) {
		free(path);
		give_up(changes);
	}
}

bool changes_any(const struct changes *changes)
{
	return changes->all || changes->neighbours || changes->evicted || changes->paths.n;
}

#include "fs/scan/changes.h"

#include <stdio.h>
#include <string.h>

enum {
	/* Of more paths a walk is cheaper. */
	CHANGES_MAX = 10000,
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
	vec_free(&changes->paths);
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

void changes_add(struct changes *changes, const char *dir, const char *name)
{
	char *path = NULL;
	if (changes->all)
		return;
	if (is_full(changes) || asprintf(&path, "%s%s%s", dir, *dir ? "/" : "", name) < 0 ||
	    vec_push(&changes->paths, path)) {
		free(path);
		changes_clear(changes);
		changes->all = true;
	}
}

bool changes_any(const struct changes *changes)
{
	return changes->all || changes->neighbours || changes->evicted || changes->paths.n;
}

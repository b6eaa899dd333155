#include "seeds.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int read_all(const char *path, size_t size, uint8_t **ret)
{
	FILE *file = fopen(path, "rb");
	if (!file)
		return -errno;
	uint8_t *data = malloc(size ? size : 1);
	int err = !data ? -ENOMEM : fread(data, 1, size, file) != size ? -EIO : 0;
	fclose(file);
	if (err)
		free(data);
	else
		*ret = data;
	return err;
}

static int seeds_push(struct seeds *seeds, const char *path, size_t size)
{
	struct seed *list = realloc(seeds->list, (seeds->count + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	seeds->list = list;
	struct seed *seed = &list[seeds->count];
	int err = read_all(path, size, &seed->data);
	if (err)
		return err;
	seed->size = size;
	seed->path = strdup(path);
	seeds->count++;
	if (size > seeds->max_size)
		seeds->max_size = size;
	return seed->path ? 0 : -ENOMEM;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

int seeds_add(struct seeds *seeds, const char *path)
{
	char *roots[] = {(char *)path, NULL};
	FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
	if (!tree)
		return -errno;
	int err = 0;
	for (FTSENT *entry; !err && (entry = fts_read(tree));) {
		if (entry->fts_info == FTS_F)
			err = seeds_push(seeds, entry->fts_accpath, (size_t)entry->fts_statp->st_size);
		else if (entry->fts_info == FTS_NS || entry->fts_info == FTS_ERR ||
			 entry->fts_info == FTS_DNR)
			err = -entry->fts_errno;
	}
	fts_close(tree);
	return err;
}

void seeds_deinit(struct seeds *seeds)
{
	for (size_t i = 0; i < seeds->count; i++) {
		free(seeds->list[i].path);
		free(seeds->list[i].data);
	}
	free(seeds->list);
}

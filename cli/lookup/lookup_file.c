#include "cli/lookup/lookup_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/message.h"

enum { FILES_MAX = 64 }; /* open at the same time */

static void file_free(struct lookup_file *file)
{
	batch_free(file->batch);
	demangle_cache_free(file->names);
	lookup_image_close(&file->image);
	for (size_t i = 0; i < SOURCE_ROOTS; i++)
		free(file->roots[i]);
	free(file->path);
	free(file->name);
	free(file);
}

static void open_gsym(struct lookup_file *file, const struct object_options *options)
{
	int err = image_find(file->name, options, &file->operand, &file->image, &file->diag);
	if (file->operand.arch)
		file->path[file->operand.arch - 1 - file->name] = 0;
	file->is_pending = err == -EBADMSG;
	if (err && !file->is_pending)
		fail(err == -ENOENT ? file->name : file->path, err, &file->diag);
}

/* NULL without memory. */
static struct lookup_file *file_new(const char *path, size_t size, const struct object_options *options)
{
	struct lookup_file *file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->name = strndup(path, size);
	file->path = strndup(path, size);
	file->names = demangle_cache_new(); /* NULL is allowed */
	if (!file->name || !file->path) {
		file_free(file);
		return NULL;
	}
	open_gsym(file, options);
	return file;
}

bool lookup_file_convert(struct lookup_file *file, const struct object_options *options)
{
	int err = image_convert(&file->operand, options, &file->image, &file->diag);
	file->is_pending = false;
	if (err && file->diag.text[0]) /* else a signal ended it */
		fail(file->path, err, &file->diag);
	return !err;
}

struct batch *lookup_file_batch(struct lookup_file *file)
{
	if (!file->batch)
		file->batch = batch_new(file->image.reader);
	return file->batch;
}

/* ---- Those of a command ---- */

/* The index of the file, or the number of files if it is not open. */
static size_t index_of(const struct lookup_files *files, const char *path, size_t size)
{
	size_t i = 0;
	for (; i < files->list.n; i++) {
		const char *name = files->list.v[i]->name;
		if (strncmp(name, path, size) == 0 && !name[size])
			break;
	}
	return i;
}

static int add_file(struct lookup_files *files, const char *path, size_t size,
		    const struct object_options *options)
{
	struct lookup_file *file = vec_reserve(&files->list, 1) ? NULL : file_new(path, size, options);
	if (!file)
		return -ENOMEM;
	files->list.v[files->list.n++] = file;
	return 0;
}

int lookup_files_find(struct lookup_files *files, const char *path, size_t size,
		      const struct object_options *options, struct lookup_file **ret)
{
	size_t i = index_of(files, path, size);
	int err = i == files->list.n ? add_file(files, path, size, options) : 0;
	if (err)
		return err;
	*ret = files->list.v[i];
	memmove(files->list.v + 1, files->list.v, i * sizeof(struct lookup_file *));
	files->list.v[0] = *ret;
	if (files->list.n > FILES_MAX)
		file_free(files->list.v[--files->list.n]);
	return 0;
}

void lookup_files_deinit(struct lookup_files *files)
{
	for (size_t i = 0; i < files->list.n; i++)
		file_free(files->list.v[i]);
	vec_free(&files->list);
}

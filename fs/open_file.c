#include "open_file.h"

#include <stdlib.h>

#include "tsv_file.h"

void open_files_init(struct open_files *files)
{
	pthread_mutex_init(&files->lock, NULL);
	list_init(&files->all);
	atomic_init(&files->tape_bytes, 0);
	atomic_init(&files->batch_bytes, 0);
}

static void put_held(const struct open_file *file)
{
	handle_put(file->handle);
	content_put(file->content);
	stream_free(file->stream);
	tsv_file_free(file->table);
}

static void file_free(struct open_file *file)
{
	put_held(file);
	free(file);
}

void open_files_deinit(struct open_files *files)
{
	for (struct list *at; (at = list_take(&files->all));)
		file_free(LIST_ENTRY(at, struct open_file));
	pthread_mutex_destroy(&files->lock);
}

size_t open_files_count(struct open_files *files)
{
	pthread_mutex_lock(&files->lock);
	size_t n = list_count(&files->all);
	pthread_mutex_unlock(&files->lock);
	return n;
}

struct open_file *open_file_new(struct open_files *files, const struct open_file *holds)
{
	struct open_file *file = malloc(sizeof(*file));
	if (!file) {
		put_held(holds);
		return NULL;
	}
	*file = *holds;
	atomic_init(&file->refs, 1);
	file->files = files;
	pthread_mutex_lock(&files->lock);
	list_append(&files->all, &file->link);
	pthread_mutex_unlock(&files->lock);
	return file;
}

struct open_file *open_file_get(struct open_file *file)
{
	atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
	return file;
}

void open_file_put(struct open_file *file)
{
	if (atomic_fetch_sub_explicit(&file->refs, 1, memory_order_acq_rel) != 1)
		return;
	pthread_mutex_lock(&file->files->lock);
	list_remove(&file->link);
	pthread_mutex_unlock(&file->files->lock);
	file_free(file);
}

#include "fs/tree/open_file.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/answer/tsv_file.h"

enum { STREAM_BYTES = 4096 };

typedef VEC(struct open_file *) file_vec;

void open_files_init(struct open_files *files, struct accounts *accounts)
{
	files->accounts = accounts;
	mutex_init(&files->lock, LOCK_OPEN_FILES);
	list_init(&files->all);
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
	account_charge(file->account, ACCOUNT_FILES, 0, &file->counted);
	account_put(file->account);
	free(file);
}

void open_files_deinit(struct open_files *files)
{
	for (struct list *at; (at = list_take(&files->all));)
		file_free(LIST_ENTRY(at, struct open_file));
	mutex_destroy(&files->lock);
}

size_t open_files_count(struct open_files *files)
{
	mutex_lock(&files->lock);
	size_t n = list_count(&files->all);
	mutex_unlock(&files->lock);
	return n;
}

/* Memory of an open file, roughly, with what libfuse and the kinds of files take; more than this they count
 * themselves. */
static size_t file_bytes(const struct open_file *holds)
{
	size_t more = holds->content                  ? holds->content->size
		      : holds->stream || holds->table ? STREAM_BYTES
						      : 0;
	return sizeof(*holds) + more;
}

static int charge(struct open_file *file)
{
	size_t bytes = file_bytes(file);
	if (account_is_over(file->account,
			    ACCOUNT_FILES)) /* a user over the limit can still read what is open */
		return -ENFILE;
	account_charge(file->account, ACCOUNT_FILES, bytes, &file->counted);
	return 0;
}

static int file_make(struct open_files *files, const struct open_file *holds, uid_t uid,
		     struct open_file **ret)
{
	struct open_file *file = malloc(sizeof(*file));
	struct account *account = account_get(files->accounts, uid);
	int err = -ENOMEM;
	if (file && account) {
		*file = *holds;
		file->account = account;
		err = charge(file);
	}
	if (err) {
		account_put(account);
		free(file);
		return err;
	}
	*ret = file;
	return 0;
}

int open_file_new(struct open_files *files, const struct open_file *holds, uid_t uid, struct open_file **ret)
{
	struct open_file *file;
	int err = file_make(files, holds, uid, &file);
	if (err) {
		put_held(holds);
		return err;
	}
	atomic_init(&file->refs, 1);
	file->files = files;
	mutex_lock(&files->lock);
	list_append(&files->all, &file->link);
	mutex_unlock(&files->lock);
	*ret = file;
	return 0;
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
	mutex_lock(&file->files->lock);
	list_remove(&file->link);
	mutex_unlock(&file->files->lock);
	file_free(file);
}

/* A reference, unless the last one has just gone. */
static bool get_living(struct open_file *file)
{
	unsigned refs = atomic_load(&file->refs);
	while (refs && !atomic_compare_exchange_weak(&file->refs, &refs, refs + 1))
		;
	return refs;
}

/* The files with a stream, with a reference to each. */
static void list_streams(struct open_files *files, file_vec *ret)
{
	mutex_lock(&files->lock);
	LIST_EACH(struct open_file, file, &files->all)
		if (file->stream && vec_reserve(ret, 1) == 0 && get_living(file))
			ret->v[ret->n++] = file;
	mutex_unlock(&files->lock);
}

void open_files_rest(struct open_files *files)
{
	file_vec streams = {0};
	list_streams(files, &streams);
	for (size_t i = 0; i < streams.n; i++) {
		stream_trim(streams.v[i]->stream);
		open_file_put(streams.v[i]);
	}
	vec_free(&streams);
}

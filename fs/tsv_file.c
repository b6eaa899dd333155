#include "tsv_file.h"

#include <errno.h>

#include "answer.h"
#include "guard.h"
#include "revision.h"

/* ---- Measuring ---- */

int tsv_file_measured(struct call *call, struct revision *rev, struct handle *handle, enum listing_kind kind,
		      const struct tsv_index **ret)
{
	*ret = atomic_load_explicit(&handle->tables[kind], memory_order_acquire);
	if (*ret)
		return 0;
	call->wait = (struct wait){.revision = rev, .work = WORK_TABLE, .part = (uint8_t)kind};
	return -EAGAIN;
}

struct measuring {
	struct handle *handle;
	enum listing_kind kind;
	struct render_options options;
	struct gsym_decoder *decoder;
	struct text_buf scratch;
	struct tsv_index *index;
};

static int measure(void *arg)
{
	struct measuring *m = arg;
	return tsv_index_make(m->handle->reader, m->kind, &m->options, m->decoder, &m->scratch, m->index);
}

/* Puts the index in place, unless somebody was faster. */
static void publish(struct measuring *m)
{
	struct tsv_index *none = NULL;
	if (atomic_compare_exchange_strong(&m->handle->tables[m->kind], &none, m->index))
		m->index = NULL;
}

static int measure_open(struct gsymfs *fs, struct revision *rev, struct handle *handle, enum listing_kind kind)
{
	struct measuring m = {
		.handle = handle,
		.kind = kind,
		.options.demangle = answer_demangle(fs, handle, false),
		.decoder = gsym_decoder_new(),
		.index = calloc(1, sizeof(*m.index)),
	};
	int err = m.decoder && m.index ? guard_run(measure, &m) : -ENOMEM;
	if (err == -EFAULT)
		answer_complain(fs, rev, err, NULL);
	if (!err)
		publish(&m);
	tsv_index_free(m.index);
	text_deinit(&m.scratch);
	gsym_decoder_free(m.decoder);
	return err == -EFAULT ? -EIO : err;
}

int tsv_file_measure(struct gsymfs *fs, struct revision *rev, enum listing_kind kind)
{
	struct handle *handle;
	struct wait wait;
	if (revision_use(&fs->images, rev, &handle, &wait))
		return 0; /* the call will find out itself, and wait if it must */
	int err = atomic_load(&handle->tables[kind]) ? 0 : measure_open(fs, rev, handle, kind);
	handle_put(handle);
	return err;
}

/* ---- Reading ---- */

/* The piece that was read last is kept: reads are larger or smaller than pieces, and follow each other. */
struct tsv_file {
	struct gsymfs *fs;
	struct revision *rev;
	struct handle *handle;
	const struct tsv_index *index; /* of the handle */
	enum listing_kind kind;
	struct render_options options;
	struct gsym_decoder *decoder;
	pthread_mutex_t lock; /* innermost; guards what follows */
	size_t number;        /* of the piece; that past the last: none */
	struct text_buf piece;
	struct text_buf reply;
};

struct tsv_file *tsv_file_new(struct gsymfs *fs, struct revision *rev, struct handle *handle, enum listing_kind kind)
{
	struct tsv_file *file = calloc(1, sizeof(*file));
	struct gsym_decoder *decoder = gsym_decoder_new();
	if (!file || !decoder) {
		gsym_decoder_free(decoder);
		free(file);
		handle_put(handle);
		return NULL;
	}
	*file = (struct tsv_file){
		.fs = fs,
		.rev = rev,
		.handle = handle,
		.index = atomic_load(&handle->tables[kind]),
		.kind = kind,
		.options.demangle = answer_demangle(fs, handle, false),
		.decoder = decoder,
	};
	file->number = file->index->pieces.n;
	pthread_mutex_init(&file->lock, NULL);
	return file;
}

void tsv_file_free(struct tsv_file *file)
{
	if (!file)
		return;
	handle_put(file->handle);
	gsym_decoder_free(file->decoder);
	text_deinit(&file->piece);
	text_deinit(&file->reply);
	pthread_mutex_destroy(&file->lock);
	free(file);
}

static int make_piece(struct tsv_file *file, size_t number)
{
	const struct tsv_index *index = file->index;
	uint32_t next, n = listing_entries(file->handle->reader, file->kind);
	uint32_t end = number + 1 < index->pieces.n ? index->pieces.v[number + 1].entry : n;
	text_reset(&file->piece);
	file->number = index->pieces.n;
	int err = listing_append(file->handle->reader, file->kind, index->pieces.v[number].entry, end, SIZE_MAX,
				 &file->options, file->decoder, &file->piece, &next);
	if (!err)
		file->number = number;
	return err;
}

struct reading {
	struct tsv_file *file;
	uint64_t off;
	size_t size;
};

/* Appends what is wanted of the piece that has the byte at @off. */
static int append_piece(struct reading *r)
{
	struct tsv_file *file = r->file;
	size_t number = tsv_index_find(file->index, r->off);
	int err = number == file->number ? 0 : make_piece(file, number);
	if (err)
		return err;
	size_t skip = (size_t)(r->off - file->index->pieces.v[number].off);
	if (skip >= file->piece.n)
		return -EIO; /* the mapped file is not what was measured */
	size_t n = file->piece.n - skip < r->size ? file->piece.n - skip : r->size;
	text_bytes(&file->reply, file->piece.v + skip, n);
	r->off += n;
	r->size -= n;
	return file->reply.failed ? -ENOMEM : 0;
}

static int append_pieces(void *arg)
{
	struct reading *r = arg;
	int err = 0;
	while (!err && r->size && r->off < r->file->index->size)
		err = append_piece(r);
	return err;
}

static int read_locked(struct tsv_file *file, struct call *call)
{
	struct reading r = {.file = file, .off = call->off < 0 ? 0 : (uint64_t)call->off, .size = call->size};
	text_reset(&file->reply);
	int err = guard_run(append_pieces, &r);
	if (err == -EFAULT) {
		file->number = file->index->pieces.n;
		answer_complain(file->fs, file->rev, err, NULL);
		return -EIO;
	}
	if (!err)
		fuse_reply_buf(call->req, file->reply.v, file->reply.n);
	return err;
}

int tsv_file_read(struct tsv_file *file, struct call *call)
{
	pthread_mutex_lock(&file->lock);
	int err = read_locked(file, call);
	pthread_mutex_unlock(&file->lock);
	return err;
}

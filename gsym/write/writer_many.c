/*
 * writer_many.c - adding many functions at once: threads encode chunks into private buffers, which are then
 * concatenated in order, record by record, so that the result is byte for byte that of adding the functions
 * one by one.
 */
#include "gsym/write/writer.h"

#include "gsym/base/diag.h"
#include "gsym/base/parallel.h"
#include "gsym/codec/record.h"

#include <inttypes.h>
#include <stdatomic.h>

enum { CHUNK = 256 }; /* functions: a few dozen KiB */

struct encoded_record {
	uint64_t start;
	uint64_t at, size; /* its bytes in the chunk */
};

struct encoded_chunk {
	struct buf bytes;
	struct encoded_record *records;
	int err;
};

struct encode_job {
	const struct gsym_writer *writer;
	struct gsym_tables tables;
	size_t n;
	int (*get)(void *user, size_t index, struct gsym_func *ret);
	void *user;
	struct encoded_chunk *chunks;
	_Atomic uint64_t encoded; /* bytes in all chunks */
};

static size_t chunk_size(const struct encode_job *job, size_t chunk)
{
	size_t left = job->n - chunk * CHUNK;
	return left < CHUNK ? left : CHUNK;
}

static int encode_one(const struct encode_job *job, struct encoded_chunk *chunk, size_t index,
		      struct encoded_record *ret, struct gsym_diag *diag)
{
	struct gsym_func func = {0};
	int err = job->get(job->user, index, &func);
	if (err)
		return diag_set(diag, err, "function %zu: the producer failed", index);
	uint64_t at = buf_size(&chunk->bytes);
	err = record_encode(&chunk->bytes, &func, &job->tables, diag);
	*ret = (struct encoded_record){func.start, at, buf_size(&chunk->bytes) - at};
	return err ? diag_prefix(diag, err, "function at 0x%" PRIx64, func.start) : 0;
}

/* Beyond the writer's limit the outcome is an error, whichever chunk met it: the rest need not be encoded. */
static int encode_chunk(struct encode_job *job, size_t index, struct gsym_diag *diag)
{
	struct encoded_chunk *chunk = &job->chunks[index];
	uint64_t encoded = atomic_load_explicit(&job->encoded, memory_order_relaxed);
	size_t n = chunk_size(job, index);
	int err = writer_check_size(job->writer, encoded, diag);
	if (err)
		return err;
	chunk->bytes.big = job->writer->records.big;
	chunk->records = calloc(n, sizeof(*chunk->records));
	if (!chunk->records)
		return diag_set(diag, -ENOMEM, "no memory");
	for (size_t i = 0; i < n && !err; i++)
		err = encode_one(job, chunk, index * CHUNK + i, &chunk->records[i], diag);
	atomic_fetch_add_explicit(&job->encoded, buf_size(&chunk->bytes), memory_order_relaxed);
	return err;
}

static void encode_chunk_thread(void *user, size_t index, unsigned thread)
{
	(void)thread;
	struct encode_job *job = user;
	job->chunks[index].err = encode_chunk(job, index, NULL);
}

static int append_record(struct gsym_writer *w, const struct encoded_chunk *chunk,
			 const struct encoded_record *record, struct gsym_diag *diag)
{
	int err = writer_check_start(w, record->start, diag);
	if (err)
		return diag_prefix(diag, err, "function at 0x%" PRIx64, record->start);
	buf_align(&w->records, RECORD_ALIGN);
	uint64_t at = buf_size(&w->records);
	buf_bytes(&w->records, chunk->bytes.bytes.v + record->at, record->size);
	if (!buf_ok(&w->records))
		return diag_set(diag, -ENOMEM, "no memory");
	return writer_add_slot(w, record->start, at, diag);
}

static int append_chunk(struct gsym_writer *w, const struct encode_job *job, size_t index,
			struct gsym_diag *diag)
{
	struct encoded_chunk *chunk = &job->chunks[index];
	int err = 0;
	for (size_t i = 0, n = chunk_size(job, index); i < n && !err; i++)
		err = append_record(w, chunk, &chunk->records[i], diag);
	if (!err)
		err = writer_check_size(w, 0, diag);
	buf_free(&chunk->bytes);
	return err;
}

static int append_chunks(struct gsym_writer *w, struct encode_job *job, size_t n_chunks,
			 struct gsym_diag *diag)
{
	struct gsym_writer before = *w;
	int err = 0;
	for (size_t i = 0; i < n_chunks && !err; i++) {
		err = job->chunks[i].err;
		if (err) { /* threads record no diagnosis: encode again to get it */
			buf_free(&job->chunks[i].bytes);
			free(job->chunks[i].records);
			job->chunks[i] = (struct encoded_chunk){0};
			int again = encode_chunk(job, i, diag);
			err = again ? again : err;
		} else {
			err = append_chunk(w, job, i, diag);
		}
	}
	if (!err)
		return 0;
	buf_truncate(&w->records, buf_size(&before.records));
	w->slots.n = before.slots.n;
	w->last_record = before.last_record;
	w->shares = false; /* the records that are gone are still known */
	w->has_base = before.has_base;
	w->base_address = before.base_address;
	return err;
}

int gsym_writer_add_many(struct gsym_writer *writer, size_t n, unsigned threads,
			 int (*get)(void *user, size_t index, struct gsym_func *ret), void *user,
			 struct gsym_diag *diag)
{
	size_t n_chunks = n / CHUNK + (n % CHUNK != 0);
	struct encode_job job = {
		.writer = writer, .tables = writer_tables(writer), .n = n, .get = get, .user = user};
	job.chunks = calloc(n_chunks + 1, sizeof(*job.chunks));
	if (!job.chunks)
		return diag_set(diag, -ENOMEM, "no memory");
	parallel_for(threads, n_chunks, encode_chunk_thread, &job);
	int err = append_chunks(writer, &job, n_chunks, diag);
	for (size_t i = 0; i < n_chunks; i++) {
		buf_free(&job.chunks[i].bytes);
		free(job.chunks[i].records);
	}
	free(job.chunks);
	return err;
}

/*
 * writer_many.c - adding many functions at once: threads encode chunks into private buffers, which are then
 * concatenated in order, record by record, so that the result is byte for byte that of adding the functions
 * one by one. That is done in rounds, as records that are shared may be many times those that remain.
 */
#include "gsym/write/writer.h"

#include "gsym/base/diag.h"
#include "gsym/base/huge_pages.h"
#include "gsym/base/parallel.h"
#include "gsym/codec/record.h"

#include <inttypes.h>
#include <stdatomic.h>

enum {
	CHUNK = 256, /* functions: a few dozen KiB */
	ROUND = 128, /* chunks encoded before they are concatenated */
};

struct encoded_record {
	uint64_t start;
	uint64_t at, size; /* its bytes in the chunk */
	uint32_t hash;
};

struct encoded_chunk {
	struct buf bytes;
	struct encoded_record *records;
	int err;
};

struct encode_job {
	const struct gsym_writer *writer;
	struct gsym_tables tables;
	size_t n, first; /* functions, and the first one of this round */
	int (*get)(void *user, size_t index, struct gsym_func *ret);
	void (*leave_out)(void *user, size_t index,
			  enum info_type part); /* NULL: such functions are refused */
	void *user;
	struct encoded_chunk *chunks;
	_Atomic uint64_t encoded; /* bytes in all chunks */
};

static size_t chunk_size(const struct encode_job *job, size_t chunk)
{
	size_t left = job->n - job->first - chunk * CHUNK;
	return left < CHUNK ? left : CHUNK;
}

/* Encodes function @index; @ret_part: the block that failed. */
static int encode_function(const struct encode_job *job, struct encoded_chunk *chunk, size_t index,
			   uint64_t *ret_start, enum info_type *ret_part, struct gsym_diag *diag)
{
	struct gsym_func func = {0};
	int err = job->get(job->user, index, &func);
	*ret_part = InfoType_EndOfList;
	*ret_start = func.start;
	if (err)
		return diag_set(diag, err, "function %zu: the producer failed", index);
	err = record_encode(&chunk->bytes, &func, &job->tables, ret_part, diag);
	return err ? diag_prefix(diag, err, "function at 0x%" PRIx64, func.start) : 0;
}

static int encode_one(const struct encode_job *job, struct encoded_chunk *chunk, size_t index,
		      struct encoded_record *ret, struct gsym_diag *diag)
{
	uint64_t at = buf_size(&chunk->bytes), start;
	unsigned left_out = 0;
	enum info_type part;
	int err;
	while ((err = encode_function(job, chunk, index, &start, &part, diag)) && job->leave_out &&
	       (err == -EINVAL || err == -EOVERFLOW) && part != InfoType_EndOfList &&
	       !(left_out & 1u << part)) {
		job->leave_out(job->user, index, part);
		left_out |= 1u << part;
		buf_truncate(&chunk->bytes, at);
	}
	if (err)
		return err;
	uint64_t size = buf_size(&chunk->bytes) - at;
	uint32_t hash = writer_record_hash(job->writer, chunk->bytes.bytes.v + at, size);
	*ret = (struct encoded_record){start, at, size, hash};
	return 0;
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
		err = encode_one(job, chunk, job->first + index * CHUNK + i, &chunk->records[i], diag);
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
	return writer_add_slot(w, record->start, at, record->hash, diag);
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

/* Makes room for the records of this round, so that the buffer is not moved as it grows. */
static int reserve(struct gsym_writer *w, const struct encode_job *job, struct gsym_diag *diag)
{
	uint64_t size = atomic_load_explicit(&job->encoded, memory_order_relaxed);
	size_t left = job->n - job->first;
	if (!buf_reserve(&w->records, size + left * RECORD_ALIGN) || vec_reserve(&w->slots, left))
		return diag_set(diag, -ENOMEM, "no memory");
	huge_pages_advise(w->records.bytes.v + buf_size(&w->records), size);
	return 0;
}

static int add_round(struct gsym_writer *w, struct encode_job *job, unsigned threads, struct gsym_diag *diag)
{
	size_t left = job->n - job->first, n_chunks = left / CHUNK + (left % CHUNK != 0);
	if (n_chunks > ROUND)
		n_chunks = ROUND;
	job->encoded = 0;
	parallel_for(threads, n_chunks, encode_chunk_thread, job);
	int err = reserve(w, job, diag);
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

	for (size_t i = 0; i < ROUND; i++) {
		buf_free(&job->chunks[i].bytes);
		free(job->chunks[i].records);
		job->chunks[i] = (struct encoded_chunk){0};
	}
	return err;
}

int writer_add_fitting(struct gsym_writer *writer, size_t n, unsigned threads,
		       int (*get)(void *user, size_t index, struct gsym_func *ret),
		       void (*leave_out)(void *user, size_t index, enum info_type part), void *user,
		       struct gsym_diag *diag)
{
	const struct gsym_writer before = *writer;
	struct encode_job job = {.writer = writer,
				 .tables = writer_tables(writer),
				 .n = n,
				 .get = get,
				 .leave_out = leave_out,
				 .user = user};
	job.chunks = calloc(ROUND, sizeof(*job.chunks));
	if (!job.chunks)
		return diag_set(diag, -ENOMEM, "no memory");
	int err = 0;
	for (; job.first < n && !err;
	     job.first += ROUND * CHUNK < n - job.first ? ROUND * CHUNK : n - job.first)
		err = add_round(writer, &job, threads, diag);
	if (err) {
		/* The functions added since are dropped. */
		buf_truncate(&writer->records, buf_size(&before.records));
		writer->slots.n = before.slots.n;
		writer->last_record = before.last_record;
		writer->shares = false; /* the records that are gone are still known */
		writer->has_base = before.has_base;
		writer->base_address = before.base_address;
	}
	free(job.chunks);
	return err;
}

int gsym_writer_add_many(struct gsym_writer *writer, size_t n, unsigned threads,
			 int (*get)(void *user, size_t index, struct gsym_func *ret), void *user,
			 struct gsym_diag *diag)
{
	return writer_add_fitting(writer, n, threads, get, NULL, user, diag);
}

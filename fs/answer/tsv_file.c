#include "fs/answer/tsv_file.h"

#include <errno.h>

#include "fs/answer/background.h"
#include "fs/call/call.h"
#include "fs/images/revision.h"
#include "fs/sys/slice.h"
#include "gsym/base/invariant.h"
#include "gsym/base/search.h"
#include "gsym/render/listing.h"

#define TSV_BYTES_MAX (4ULL << 30) /* of a table */

/* ---- Measuring ---- */

int tsv_file_measured(struct answers *answers, struct revision *rev, struct handle *handle,
		      enum listing_kind kind, struct wait *ret_wait, const struct tsv_index **ret)
{
	*ret = handle_attached(handle, SLOT_TABLES + kind);
	return *ret ? 0 : background_await(&answers->tables, rev, kind, ret_wait);
}

struct measurement {
	const struct answers *answers;
	struct revision *rev;
	struct handle *handle;
	enum listing_kind kind;
	struct render_options options;
	struct gsym_decoder *decoder;
	struct text_buf scratch;
	struct tsv_index *index;
	uint32_t entry; /* the next one */
	int64_t until;
};

static void *measurement_new(void *user, struct revision *rev, unsigned part)
{
	const struct answers *answers = user;
	struct wait wait;
	struct measurement *m = calloc(1, sizeof(*m));
	if (!m || revision_use(answers->images, rev, &m->handle, &wait)) {
		free(m);
		return NULL;
	}
	m->answers = answers;
	m->rev = rev;
	m->kind = (enum listing_kind)part;
	m->options.demangle = answers_demangle(answers, m->handle, false);
	m->decoder = gsym_decoder_new();
	m->index = calloc(1, sizeof(*m->index));
	return m;
}

void tsv_index_free(void *index)
{
	struct tsv_index *i = index;
	if (!i)
		return;
	vec_free(&i->pieces);
	free(i);
}

static void measurement_free(void *job)
{
	struct measurement *m = job;
	handle_put(m->handle);
	tsv_index_free(m->index);
	text_deinit(&m->scratch);
	gsym_decoder_free(m->decoder);
	free(m);
}

/* The next piece. 1 at the end of the table. */
static int measure_piece(struct measurement *m)
{
	struct tsv_index *index = m->index;
	const struct tsv_piece piece = {index->size, m->entry};
	uint32_t n = listing_entries(m->handle->reader, m->kind);
	if (m->entry >= n)
		return 1;
	text_reset(&m->scratch);
	if (vec_push(&index->pieces, piece) ||
	    listing_append(m->handle->reader, m->kind, m->entry, n, TSV_PIECE, &m->options, m->decoder,
			   &m->scratch, &m->entry))
		return -ENOMEM;
	invariant(m->entry > piece.entry);
	index->size += m->scratch.n;
	return index->size > TSV_BYTES_MAX ? -EFBIG : 0;
}

static int measure_pieces(void *arg)
{
	struct measurement *m = arg;
	int err = 0;
	while (!err && time_now() < m->until)
		err = measure_piece(m);
	return err;
}

static int measurement_go_on(void *job, int64_t until)
{
	struct measurement *m = job;
	m->until = until;
	int err = m->decoder && m->index ? handle_run(m->handle, measure_pieces, m) : -ENOMEM;
	if (err == -EFAULT)
		answers_report_corrupt(m->answers, m->rev, m->handle, err, NULL);
	if (err == 1 && handle_attach(m->handle, SLOT_TABLES + m->kind, m->index, tsv_index_free))
		m->index = NULL; /* another job was not first */
	return err == 1 ? 0 : !err ? -EAGAIN : err == -EFAULT ? -EIO : err;
}

const struct job_kind tsv_file_kind = {"measure", measurement_new, measurement_go_on, measurement_free};

/* ---- Reading ---- */

/* The piece that was rendered last is kept, since reads are sequential and not aligned with pieces. */
struct tsv_file {
	const struct answers *answers;
	struct revision *rev;
	struct handle *handle;
	const struct tsv_index *index; /* of the handle */
	enum listing_kind kind;
	struct render_options options;
	struct gsym_decoder *decoder;
	struct account *account; /* of the user who opened it */

	struct mutex lock;               /* guards the piece, which reads of any thread share */
	size_t number GUARDED_BY(&lock); /* of the piece; the number of pieces: none */
	struct text_buf piece GUARDED_BY(&lock);
	struct text_buf reply GUARDED_BY(&lock);
	size_t charged GUARDED_BY(&lock);
};

static void charge_memory(struct tsv_file *file) REQUIRES(&file->lock)
{
	account_charge(file->account, ACCOUNT_FILES, file->piece.cap + file->reply.cap, &file->charged);
}

struct tsv_file *tsv_file_new(struct answers *answers, uid_t uid, struct revision *rev, struct handle *handle,
			      enum listing_kind kind)
{
	struct tsv_file *file = calloc(1, sizeof(*file));
	struct gsym_decoder *decoder = gsym_decoder_new();
	struct account *account = account_get(&answers->accounts, uid);
	const struct tsv_index *index = handle_attached(handle, SLOT_TABLES + kind);
	if (!file || !decoder || !account) {
		account_put(account);
		gsym_decoder_free(decoder);
		free(file);
		handle_put(handle);
		return NULL;
	}
	*file = (struct tsv_file){
		.answers = answers,
		.rev = rev,
		.handle = handle,
		.index = index,
		.number = index->pieces.n,
		.kind = kind,
		.options.demangle = answers_demangle(answers, handle, false),
		.decoder = decoder,
		.account = account,
	};
	revision_pin(rev);
	mutex_init(&file->lock, LOCK_TABLE);
	return file;
}

void tsv_file_free(struct tsv_file *file)
{
	if (!file)
		return;
	handle_put(file->handle);
	gsym_decoder_free(file->decoder);
	mutex_lock(&file->lock);
	text_deinit(&file->piece);
	text_deinit(&file->reply);
	charge_memory(file);
	mutex_unlock(&file->lock);
	account_put(file->account);
	revision_unpin(file->rev);
	mutex_destroy(&file->lock);
	free(file);
}

static int render_piece(struct tsv_file *file, size_t number) REQUIRES(&file->lock)
{
	const struct tsv_index *index = file->index;
	uint32_t next, n = listing_entries(file->handle->reader, file->kind);
	uint32_t end = number + 1 < index->pieces.n ? index->pieces.v[number + 1].entry : n;
	text_reset(&file->piece);
	file->number = index->pieces.n;
	int err = listing_append(file->handle->reader, file->kind, index->pieces.v[number].entry, end,
				 SIZE_MAX, &file->options, file->decoder, &file->piece, &next);
	if (!err)
		file->number = number;
	return err;
}

struct reading {
	struct tsv_file *file;
	uint64_t off;
	size_t size;
};

/* Appends the bytes of one piece, from the offset of @r on, which is in the table, to the reply. */
static int append_piece(struct tsv_file *file, struct reading *r) REQUIRES(&file->lock)
{
	const struct tsv_index *index = file->index;
	size_t number = PARTITION_POINT(1, index->pieces.n, mid, index->pieces.v[mid].off <= r->off) - 1;
	int err = number == file->number ? 0 : render_piece(file, number);
	if (err)
		return err;
	size_t skip = (size_t)(r->off - index->pieces.v[number].off);
	if (skip >= file->piece.n)
		return -EIO; /* the cache file was modified since the table was measured */
	size_t n = file->piece.n - skip < r->size ? file->piece.n - skip : r->size;
	text_bytes(&file->reply, file->piece.v + skip, n);
	r->off += n;
	r->size -= n;
	return file->reply.failed ? -ENOMEM : 0;
}

static int append_pieces(void *arg)
{
	struct reading *r = arg;
	struct tsv_file *file = r->file;
	int err = 0;
	mutex_assert_held(&file->lock);
	while (!err && r->size && r->off < file->index->size)
		err = append_piece(file, r);
	return err;
}

static int read_locked(struct tsv_file *file, struct call *call) REQUIRES(&file->lock)
{
	struct reading r = {.file = file, .off = call->off < 0 ? 0 : (uint64_t)call->off, .size = call->size};
	text_reset(&file->reply);
	int err = handle_run(file->handle, append_pieces, &r);
	if (err == -EFAULT) {
		file->number = file->index->pieces.n;
		answers_report_corrupt(file->answers, file->rev, file->handle, err, NULL);
		return -EIO;
	}
	if (!err)
		fuse_reply_buf(call->req, file->reply.v, file->reply.n);
	return err;
}

/* Frees the buffers under memory pressure. */
static void trim_memory(struct tsv_file *file) REQUIRES(&file->lock)
{
	charge_memory(file);
	if (!account_is_short(file->account, ACCOUNT_FILES))
		return;
	text_deinit(&file->piece);
	text_deinit(&file->reply);
	file->number = file->index->pieces.n;
	charge_memory(file);
}

int tsv_file_read(struct tsv_file *file, struct call *call)
{
	mutex_lock(&file->lock);
	int err = read_locked(file, call);
	trim_memory(file);
	mutex_unlock(&file->lock);
	return err;
}

/*
 * writer.c - functions are encoded when they are added: kept until the end are their encoded records, the
 * tables of strings and files, and a pair of numbers for each function.
 */
#include "gsym/write/writer.h"

#include "gsym/base/invariant.h"
#include "gsym/base/diag.h"
#include "gsym/codec/record.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

enum { KNOWN_SLOTS_MIN = 1024 };

/* Options of a caller that was compiled against another version of the struct. */
static int read_options(const struct gsym_writer_options *from, struct gsym_writer_options *ret,
			struct gsym_diag *diag)
{
	const uint8_t *bytes = (const uint8_t *)from;
	size_t known = sizeof(*ret) < from->struct_size ? sizeof(*ret) : from->struct_size;
	if (from->struct_size < sizeof(from->struct_size))
		return diag_set(diag, -EINVAL, "writer options: struct_size is not set");
	for (size_t i = known; i < from->struct_size; i++) {
		if (bytes[i])
			return diag_set(diag, -EINVAL,
					"writer options: byte %zu is set, this library knows %zu", i,
					sizeof(*ret));
	}
	*ret = (struct gsym_writer_options){0};
	memcpy(ret, from, known);
	if (!ret->version)
		ret->version = 1;
	if (ret->version > 2)
		return diag_set(diag, -ENOTSUP, "writer options: version %u, expected 1 or 2", ret->version);
	if (ret->version == 1 && ret->uuid_size > V1_UUID_MAX)
		return diag_set(diag, -EOVERFLOW,
				"header at offset 0x%x: UUID of %zu bytes, version 1 holds %d", V1_UUID_OFF,
				ret->uuid_size, V1_UUID_MAX);
	return 0;
}

static int writer_init(struct gsym_writer *w, const struct gsym_writer_options *options)
{
	w->version = options->version;
	w->size_limit = UINT64_MAX;
	w->v1_most = UINT32_MAX;
	w->has_base = options->has_base_address;
	w->base_address = options->base_address;
	w->records.big = options->big_endian;
	buf_bytes(&w->uuid, options->uuid, options->uuid_size);
	if (!buf_ok(&w->uuid))
		return -ENOMEM;
	int err = strtab_init(&w->strings, options->version == 1 ? UINT32_MAX : UINT64_MAX);
	return err ? err : filetab_init(&w->files);
}

int gsym_writer_new(const struct gsym_writer_options *options, struct gsym_writer **ret,
		    struct gsym_diag *diag)
{
	struct gsym_writer_options known;
	int err = read_options(options, &known, diag);
	if (err)
		return err;
	struct gsym_writer *writer = calloc(1, sizeof(*writer));
	if (!writer || writer_init(writer, &known)) {
		gsym_writer_free(writer);
		return diag_set(diag, -ENOMEM, "writer: no memory");
	}
	*ret = writer;
	return 0;
}

void gsym_writer_free(struct gsym_writer *writer)
{
	if (!writer)
		return;
	buf_free(&writer->uuid);
	buf_free(&writer->records);
	strtab_deinit(&writer->strings);
	filetab_deinit(&writer->files);
	vec_free(&writer->slots);
	vec_free(&writer->known);
	index_table_deinit(&writer->known_table);
	free(writer);
}

void writer_limit(struct gsym_writer *w, uint64_t bytes)
{
	w->size_limit = bytes;
}

void writer_choose_version(struct gsym_writer *w, uint64_t v1_most)
{
	invariant(w->version == 1 && !w->slots.n && v1_most <= UINT32_MAX);
	w->chooses = true;
	w->v1_most = v1_most;
	w->strings.limit = UINT64_MAX;
}

int writer_widen(struct gsym_writer *w)
{
	if (!w->chooses || w->version != 1)
		return -EOVERFLOW;
	w->version = 2;
	buf_free(&w->records); /* gigabytes */
	w->slots.n = w->known.n = 0;
	w->last_record = 0;
	memset(w->known_table.slots, 0,
	       w->shares ? (w->known_table.mask + 1) * sizeof(*w->known_table.slots) : 0);
	return 0;
}

int writer_check_size(const struct gsym_writer *w, uint64_t more, struct gsym_diag *diag)
{
	uint64_t size = w->strings.n + buf_size(&w->records);
	if (size <= w->size_limit && more <= w->size_limit - size)
		return 0;
	return diag_set(diag, -EOVERFLOW, "the output would exceed 0x%" PRIx64 " bytes", w->size_limit);
}

int gsym_writer_string(struct gsym_writer *writer, const char *text, size_t size, uint64_t *ret)
{
	if (writer->finished)
		return -EINVAL;
	if (writer_check_size(writer, 0, NULL))
		return -EOVERFLOW;
	return strtab_add(&writer->strings, text, size, ret);
}

int gsym_writer_file(struct gsym_writer *writer, uint64_t dir, uint64_t base, uint32_t *ret)
{
	if (writer->finished || dir >= writer->strings.n || base >= writer->strings.n)
		return -EINVAL;
	return filetab_add(&writer->files, dir, base, ret);
}

struct gsym_tables writer_tables(const struct gsym_writer *w)
{
	return (struct gsym_tables){
		.strp_size = w->version == 1 ? V1_STRP_SIZE : V2_STRP_SIZE,
		.strtab_size = w->strings.n,
		.num_files = (uint32_t)w->files.entries.n,
		.compact = w->compact,
	};
}

int writer_check_start(const struct gsym_writer *w, uint64_t start, struct gsym_diag *diag)
{
	if (w->finished)
		return diag_set(diag, -EINVAL, "the writer has finished");
	if (w->slots.n == UINT32_MAX)
		return diag_set(diag, -EOVERFLOW, "header at offset 0: more functions than 32 bits count");
	if (w->has_base && start < w->base_address)
		return diag_set(diag, -EINVAL, "starts below the base address 0x%" PRIx64, w->base_address);
	if (w->slots.n && start < w->slots.v[w->slots.n - 1].start)
		return diag_set(diag, -EINVAL, "starts below the function before, at 0x%" PRIx64,
				w->slots.v[w->slots.n - 1].start);
	return 0;
}

/* ---- Records ---- */

int writer_save_space(struct gsym_writer *w)
{
	int err = w->shares ? 0 : index_table_init(&w->known_table, KNOWN_SLOTS_MIN);
	w->shares |= !err;
	w->compact = true;
	return err;
}

static bool is_record(const struct gsym_writer *w, size_t index, const struct known_record *record)
{
	const struct known_record *known = &w->known.v[index];
	return known->hash == record->hash && known->size == record->size &&
	       !memcmp(w->records.bytes.v + known->at, w->records.bytes.v + record->at, record->size);
}

static int widen_known(struct gsym_writer *w)
{
	if (index_table_widen(&w->known_table))
		return -ENOMEM;
	for (size_t i = 0; i < w->known.n; i++)
		index_table_add(&w->known_table, w->known.v[i].hash, i);
	return 0;
}

uint32_t writer_record_hash(const struct gsym_writer *w, const void *record, size_t size)
{
	return w->shares ? (uint32_t)XXH3_64bits(record, size) : 0;
}

/* Replaces the last record, at *at, by an equal one if there is any. 0 or -ENOMEM. */
static int share_record(struct gsym_writer *w, uint64_t *at, uint32_t hash)
{
	size_t size = buf_size(&w->records) - *at;
	if (!w->shares || size > UINT32_MAX)
		return 0;
	const struct known_record record = {*at, (uint32_t)size, hash};
	const struct index_table *t = &w->known_table;
	uint32_t known = t->slots[PROBE(i, record.hash, t->mask,
					!t->slots[i] || is_record(w, t->slots[i] - 1, &record))];
	if (known) {
		buf_truncate(&w->records, *at);
		*at = w->known.v[known - 1].at;
		return 0;
	}
	if (index_table_is_full(t, w->known.n) && widen_known(w))
		return -ENOMEM;
	if (w->known.n >= UINT32_MAX - 1)
		return 0;
	if (vec_push(&w->known, record))
		return -ENOMEM;
	index_table_add(&w->known_table, record.hash, w->known.n - 1);
	return 0;
}

int writer_add_slot(struct gsym_writer *w, uint64_t start, uint64_t record, uint32_t hash,
		    struct gsym_diag *diag)
{
	invariant(record % RECORD_ALIGN == 0);
	invariant(!w->slots.n || (w->slots.v[w->slots.n - 1].start <= start && w->last_record < record));
	if (vec_reserve(&w->slots, 1) || share_record(w, &record, hash))
		return diag_set(diag, -ENOMEM, "no memory");
	w->slots.v[w->slots.n++] = (struct writer_slot){start, record};
	w->last_record = record > w->last_record ? record : w->last_record;
	if (!w->has_base)
		w->base_address = start;
	w->has_base = true;
	return 0;
}

static int add_function(struct gsym_writer *w, const struct gsym_func *func, struct gsym_diag *diag)
{
	struct gsym_tables tables = writer_tables(w);
	int err = writer_check_start(w, func->start, diag);
	if (err)
		return err;
	buf_align(&w->records, RECORD_ALIGN);
	uint64_t record = buf_size(&w->records);
	enum info_type part;
	err = record_encode(&w->records, func, &tables, &part, diag);
	if (!err)
		err = writer_check_size(w, 0, diag);
	if (err)
		return err;
	uint32_t hash = writer_record_hash(w, w->records.bytes.v + record, buf_size(&w->records) - record);
	return writer_add_slot(w, func->start, record, hash, diag);
}

int gsym_writer_add(struct gsym_writer *writer, const struct gsym_func *func, struct gsym_diag *diag)
{
	size_t before = buf_size(&writer->records);
	int err = add_function(writer, func, diag);
	if (!err)
		return 0;
	/* roll back: the writer stays usable after a rejected function */
	buf_truncate(&writer->records, before);
	return diag_prefix(diag, err, "function at 0x%" PRIx64, func->start);
}

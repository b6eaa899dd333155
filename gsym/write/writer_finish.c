/*
 * writer_finish.c - lays the file out and emits it as a few runs of bytes, of which only the first (the
 * header and the tables of numbers) is encoded here.
 */
#include "gsym/write/writer.h"

#include "gsym/base/invariant.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"
#include "gsym/codec/header.h"
#include "gsym/write/layout.h"

#include <inttypes.h>
#include <string.h>

/* The file in order: head, strings, padding, records. */
struct file_parts {
	struct span at[4];
	size_t n;
	uint64_t size;
};

int writer_layout(const struct gsym_writer *w, struct layout *ret, struct gsym_diag *diag)
{
	if (!w->slots.n)
		return diag_set(diag, -EINVAL, "header at offset 0: no functions to write");
	const struct writer_slot *last = &w->slots.v[w->slots.n - 1];
	struct layout_input in = {
		.version = w->version,
		.num_addresses = w->slots.n,
		.last_offset = last->start - w->base_address,
		.num_files = w->files.entries.n,
		.strtab_size = w->strings.n,
		.records_size = buf_size(&w->records),
		.last_record = w->last_record,
		.uuid_size = buf_size(&w->uuid),
	};
	int err = layout_make(&in, ret, diag);
	if (!err && w->version == 1 && ret->off[GlobalInfo_FunctionInfo] + w->last_record > w->v1_most)
		return diag_set(diag, -EOVERFLOW, "version 1 would have offsets above 0x%" PRIx64,
				w->v1_most);
	return err;
}

static struct gsym_header header_of(const struct gsym_writer *w, const struct layout *l)
{
	struct gsym_header h = {
		.version = w->version,
		.big_endian = w->records.big,
		.addr_off_size = l->addr_off_size,
		.base_address = w->base_address,
		.num_addresses = (uint32_t)w->slots.n,
		.uuid = {(const uint8_t *)w->uuid.bytes.v, buf_size(&w->uuid)},
	};
	for (int type = 0; type < GLOBAL_INFO_KNOWN; type++)
		h.tables[type] = (struct table_range){l->off[type], l->size[type], l->size[type] > 0};
	return h;
}

/* Version 1 stores where a record is in the file, version 2 where it is among the records. */
static void put_tables(struct buf *b, const struct gsym_writer *w, const struct layout *l)
{
	uint64_t records = w->version == 1 ? l->off[GlobalInfo_FunctionInfo] : 0;
	unsigned info_size = w->version == 1 ? 4 : 8,
		 strp_size = w->version == 1 ? V1_STRP_SIZE : V2_STRP_SIZE;
	buf_align(b, l->addr_off_size);
	for (size_t i = 0; i < w->slots.n; i++)
		buf_uint(b, w->slots.v[i].start - w->base_address, l->addr_off_size);
	buf_align(b, info_size);
	for (size_t i = 0; i < w->slots.n; i++)
		buf_uint(b, records + w->slots.v[i].record, info_size);
	buf_align(b, 4);
	buf_u32(b, (uint32_t)w->files.entries.n);
	for (size_t i = 0; i < w->files.entries.n; i++) {
		buf_uint(b, w->files.entries.v[i].dir, strp_size);
		buf_uint(b, w->files.entries.v[i].base, strp_size);
	}
}

static void add_part(struct file_parts *s, const void *data, size_t size)
{
	s->at[s->n++] = (struct span){data, size};
	s->size += size;
}

/* Makes the head in @head, which must outlive @ret. */
static int make_file(struct gsym_writer *w, struct buf *head, struct file_parts *ret, struct gsym_diag *diag)
{
	static const uint8_t zeros[RECORD_ALIGN];
	struct layout l;
	if (w->finished)
		return diag_set(diag, -EINVAL, "the writer has finished");
	w->finished = true;
	int err = writer_layout(w, &l, diag);
	if (err)
		return err;
	*head = (struct buf){.big = w->records.big};
	struct gsym_header header = header_of(w, &l);
	header_encode(head, &header);
	put_tables(head, w, &l);
	if (!buf_ok(head))
		return diag_set(diag, -ENOMEM, "no memory for the tables");
	*ret = (struct file_parts){.n = 0};
	add_part(ret, head->bytes.v, buf_size(head));
	invariant(ret->size == l.off[GlobalInfo_StringTable]);
	add_part(ret, w->strings.bytes, w->strings.n);
	add_part(ret, zeros, l.off[GlobalInfo_FunctionInfo] - ret->size);
	add_part(ret, w->records.bytes.v, buf_size(&w->records));
	invariant(ret->size == l.file_size && ret->n == ARRAY_SIZE(ret->at));
	return 0;
}

int gsym_writer_finish(struct gsym_writer *writer, int fd, struct gsym_diag *diag)
{
	CLEANUP(buf_free) struct buf head = {0};
	struct file_parts file;
	int err = make_file(writer, &head, &file, diag);
	uint64_t off = 0;
	for (size_t i = 0; !err && i < file.n; off += file.at[i++].size) {
		err = write_all(fd, file.at[i].data, file.at[i].size, (off_t)off);
		if (err)
			return diag_set(diag, err, "writing the GSYM file at offset 0x%" PRIx64 ": %s", off,
					strerror(-err));
	}
	return err;
}

int gsym_writer_finish_memory(struct gsym_writer *writer, void **ret_data, size_t *ret_size,
			      struct gsym_diag *diag)
{
	CLEANUP(buf_free) struct buf head = {0};
	struct file_parts file;
	int err = make_file(writer, &head, &file, diag);
	if (err)
		return err;
	uint8_t *data = malloc(file.size), *at = data;
	if (!data)
		return diag_set(diag, -ENOMEM, "no memory for a file of 0x%" PRIx64 " bytes", file.size);
	for (size_t i = 0; i < file.n; at += file.at[i++].size)
		memcpy(at, file.at[i].data, file.at[i].size);
	*ret_data = data;
	*ret_size = file.size;
	return 0;
}

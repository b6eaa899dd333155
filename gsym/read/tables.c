/*
 * The tables of a file, checked here, once, to lie within the file. Their content is checked where it is
 * used.
 */
#include "gsym/read/reader.h"

#include "gsym/base/diag.h"
#include "gsym/codec/header.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/*
 * The table ends with its last NUL, so an offset below its size is always that of a terminated string. Bytes
 * after it are ignored; a table may be shared with a file around this one (gsym(5), "String table").
 */
static int set_strings(struct gsym_reader *r, const struct gsym_header *h, struct gsym_diag *diag)
{
	const struct table_range *t = &h->tables[GlobalInfo_StringTable];
	int err = header_check_table(h, GlobalInfo_StringTable, r->bytes.size, diag);
	if (err)
		return err;
	const char *strings = (const char *)r->bytes.data + t->off;
	const char *last = memrchr(strings, 0, t->size);
	if (!last)
		return diag_set(diag, -EBADMSG,
				"string table at offset 0x%" PRIx64 " of 0x%" PRIx64
				" bytes: expected a NUL at the end of a string",
				t->off, t->size);
	r->strings = strings;
	r->info.strtab_size = (uint64_t)(last - strings) + 1;
	return 0;
}

/* A count, then as many pairs of string offsets. */
static int set_files(struct gsym_reader *r, const struct gsym_header *h, struct gsym_diag *diag)
{
	const struct table_range *t = &h->tables[GlobalInfo_FileTable];
	int err = header_check_table(h, GlobalInfo_FileTable, r->bytes.size, diag);
	if (err)
		return err;
	struct cursor c = cursor_new(r->bytes.data + t->off, t->size, r->info.big_endian);
	r->info.num_files = cursor_u32(&c);
	if (!cursor_ok(&c) || !cursor_can_hold(&c, r->info.num_files, 2 * r->info.strp_size))
		return diag_set(diag, -EBADMSG,
				"file table at offset 0x%" PRIx64 ": %" PRIu32
				" files, the table ends at 0x%" PRIx64,
				t->off, r->info.num_files, t->off + t->size);
	r->files = c.pos;
	return 0;
}

/* In version 1 the size is computed from the number of addresses and always fits. */
static int check_entries(const struct gsym_header *h, enum global_info type, unsigned size,
			 struct gsym_diag *diag)
{
	const struct table_range *t = &h->tables[type];
	if (t->size == (uint64_t)h->num_addresses * size)
		return 0;
	return diag_set(diag, -EBADMSG,
			"%s at offset 0x%" PRIx64 " of 0x%" PRIx64 " bytes: expected %" PRIu32
			" entries of %u bytes",
			header_table_name(type), t->off, t->size, h->num_addresses, size);
}

int reader_parse(struct gsym_reader *reader, struct gsym_diag *diag)
{
	struct gsym_header h;
	int err = header_decode(reader->bytes, &h, diag);
	if (!err)
		err = check_entries(&h, GlobalInfo_AddrOffsets, h.addr_off_size, diag);
	if (!err)
		err = check_entries(&h, GlobalInfo_AddrInfoOffsets, h.version == 1 ? 4 : 8, diag);
	if (err)
		return err;
	const struct table_range *records = &h.tables[GlobalInfo_FunctionInfo];
	reader->info.version = h.version;
	reader->info.big_endian = h.big_endian;
	reader->info.addr_off_size = h.addr_off_size;
	reader->info.strp_size = h.version == 1 ? V1_STRP_SIZE : V2_STRP_SIZE;
	reader->info.base_address = h.base_address;
	reader->info.num_addresses = h.num_addresses;
	reader->info.uuid = h.uuid.data;
	reader->info.uuid_size = h.uuid.size;
	reader->info.file_size = reader->bytes.size;
	reader->addr_offs = reader->bytes.data + h.tables[GlobalInfo_AddrOffsets].off;
	reader->info_offs = reader->bytes.data + h.tables[GlobalInfo_AddrInfoOffsets].off;
	reader->records_base = records->off;
	reader->records_end = records->off + records->size;
	err = set_files(reader, &h, diag);
	if (!err)
		err = set_strings(reader, &h, diag);
	reader->tables = (struct gsym_tables){
		.strp_size = reader->info.strp_size,
		.strtab_size = reader->info.strtab_size,
		.num_files = reader->info.num_files,
	};
	return err;
}

/*
 * Finding the tables of a file, both versions. Each table is checked here, once, to lie within the file;
 * what is in it is checked where it is used.
 */
#include "gsym/read/reader.h"

#include "gsym/base/diag.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* A table as the file claims it. */
struct section {
	const char *name;
	uint64_t off, size;
	bool present;
};

static int check_bounds(const struct gsym_reader *r, const struct section *s, struct gsym_diag *diag)
{
	if (s->off > r->bytes.size || s->size > r->bytes.size - s->off)
		return diag_set(diag, -EBADMSG,
				"%s at offset 0x%" PRIx64 " of 0x%" PRIx64 " bytes: the file ends at 0x%zx",
				s->name, s->off, s->size, r->bytes.size);
	return 0;
}

/* Eight bytes: magic, version, address offset size, and a byte that the version gives its meaning. */
static int read_ident(struct gsym_reader *r, struct cursor *c, struct gsym_diag *diag)
{
	r->info.version = cursor_u16(c);
	r->info.addr_off_size = cursor_u8(c);
	if (!cursor_ok(c))
		return diag_set(diag, -EBADMSG, "header at offset 0: the file ends at 0x%zx", r->bytes.size);
	if (r->info.version != 1 && r->info.version != 2)
		return diag_set(diag, -ENOTSUP, "header at offset 0x%x: version %u, expected 1 or 2",
				HEADER_VERSION_OFF, r->info.version);
	if (!addr_off_size_valid(r->info.addr_off_size))
		return diag_set(diag, -EBADMSG,
				"header at offset 0x6: address offsets of %u bytes, expected 1, 2, 4 or 8",
				r->info.addr_off_size);
	r->info.strp_size = r->info.version == 1 ? V1_STRP_SIZE : V2_STRP_SIZE;
	return 0;
}

/*
 * The table ends with its last NUL: then an offset below its size proves a string that ends within it. What
 * is behind belongs to nobody here; a table may be shared with a file around this one (gsym(5), "String
 * table").
 */
static int take_strings(struct gsym_reader *r, const struct section *s, struct gsym_diag *diag)
{
	int err = check_bounds(r, s, diag);
	if (err)
		return err;
	const char *strings = (const char *)r->bytes.data + s->off;
	const char *last = memrchr(strings, 0, s->size);
	if (!last)
		return diag_set(diag, -EBADMSG,
				"string table at offset 0x%" PRIx64 " of 0x%" PRIx64
				" bytes: expected a NUL at the end of a string",
				s->off, s->size);
	r->strings = strings;
	r->info.strtab_size = (uint64_t)(last - strings) + 1;
	return 0;
}

/* The count and the pairs of strings behind it must lie within the section. */
static int take_files(struct gsym_reader *r, const struct section *s, struct gsym_diag *diag)
{
	int err = check_bounds(r, s, diag);
	if (err)
		return err;
	struct cursor c = cursor_new(r->bytes.data + s->off, s->size, r->info.big_endian);
	r->info.num_files = cursor_u32(&c);
	if (!cursor_ok(&c) || !cursor_can_hold(&c, r->info.num_files, 2 * r->info.strp_size))
		return diag_set(diag, -EBADMSG,
				"file table at offset 0x%" PRIx64 ": %" PRIu32
				" files, the table ends at 0x%" PRIx64,
				s->off, r->info.num_files, s->off + s->size);
	r->files = c.pos;
	return 0;
}

/* Version 1: tables one after the other behind the header, but for the string table, whose place it names. */
static int parse_v1(struct gsym_reader *r, struct cursor *c, struct gsym_diag *diag)
{
	struct section addrs = {.name = "address offsets", .off = V1_HEADER_SIZE};
	struct section infos = {.name = "address info offsets"};
	struct section strings = {.name = "string table"};
	r->info.uuid_size = cursor_u8(c);
	r->info.base_address = cursor_u64(c);
	r->info.num_addresses = cursor_u32(c);
	strings.off = cursor_u32(c);
	strings.size = cursor_u32(c);
	r->info.uuid = cursor_take(c, V1_UUID_MAX);
	if (!cursor_ok(c))
		return diag_set(diag, -EBADMSG, "header at offset 0: the file ends at 0x%zx", r->bytes.size);
	if (r->info.uuid_size > V1_UUID_MAX)
		return diag_set(diag, -EBADMSG,
				"header at offset 0x7: UUID of %zu bytes, expected at most %d",
				r->info.uuid_size, V1_UUID_MAX);
	addrs.size = (uint64_t)r->info.num_addresses * r->info.addr_off_size;
	infos.off = (addrs.off + addrs.size + 3) & ~(uint64_t)3;
	infos.size = (uint64_t)r->info.num_addresses * 4;
	int err = check_bounds(r, &addrs, diag);
	if (!err)
		err = check_bounds(r, &infos, diag);
	if (err)
		return err;
	r->addr_offs = r->bytes.data + addrs.off;
	r->info_offs = r->bytes.data + infos.off;
	r->records_end = r->bytes.size;
	struct section files = {.name = "file table", .off = infos.off + infos.size};
	files.size = r->bytes.size - files.off;
	err = take_files(r, &files, diag);
	return err ? err : take_strings(r, &strings, diag);
}

/* The directory of version 2. Entries of unknown type are passed over; of two of one type the last counts. */
static int read_directory(const struct gsym_reader *r, struct cursor *c, struct section *sections,
			  struct gsym_diag *diag)
{
	for (;;) {
		uint64_t at = cursor_off(c);
		uint32_t type = cursor_u32(c);
		uint64_t off = cursor_u64(c), size = cursor_u64(c);
		if (!cursor_ok(c))
			return diag_set(diag, -EBADMSG,
					"directory at offset 0x%x: no end of list, the file ends at 0x%zx",
					V2_HEADER_SIZE, r->bytes.size);
		if (type == GlobalInfo_EndOfList)
			return 0;
		if (type >= GLOBAL_INFO_KNOWN)
			continue;
		struct section *s = &sections[type];
		s->off = off;
		s->size = size;
		s->present = true;
		int err = check_bounds(r, s, diag);
		if (!err && !size)
			err = diag_set(diag, -EBADMSG, "%s: empty", s->name);
		if (err)
			return diag_prefix(diag, err, "directory entry at offset 0x%" PRIx64, at);
	}
}

static int check_table(const struct section *s, uint64_t count, unsigned size, struct gsym_diag *diag)
{
	if (s->size == count * size)
		return 0;
	return diag_set(diag, -EBADMSG,
			"%s at offset 0x%" PRIx64 " of 0x%" PRIx64 " bytes: expected %" PRIu64
			" entries of %u bytes",
			s->name, s->off, s->size, count, size);
}

/* Takes over the sections of version 2, all of which are within the file. */
static int take_sections(struct gsym_reader *r, const struct section *sections, struct gsym_diag *diag)
{
	const struct section *addrs = &sections[GlobalInfo_AddrOffsets];
	const struct section *infos = &sections[GlobalInfo_AddrInfoOffsets];
	const struct section *records = &sections[GlobalInfo_FunctionInfo];
	const struct section *uuid = &sections[GlobalInfo_UUID];
	int err = check_table(addrs, r->info.num_addresses, r->info.addr_off_size, diag);
	if (!err)
		err = check_table(infos, r->info.num_addresses, 8, diag);
	if (err)
		return err;
	r->addr_offs = r->bytes.data + addrs->off;
	r->info_offs = r->bytes.data + infos->off;
	r->records_base = records->off;
	r->records_end = records->off + records->size;
	r->info.uuid = uuid->present ? r->bytes.data + uuid->off : NULL;
	r->info.uuid_size = uuid->size;
	err = take_files(r, &sections[GlobalInfo_FileTable], diag);
	return err ? err : take_strings(r, &sections[GlobalInfo_StringTable], diag);
}

static int parse_v2(struct gsym_reader *r, struct cursor *c, struct gsym_diag *diag)
{
	struct section sections[GLOBAL_INFO_KNOWN] = {
		[GlobalInfo_AddrOffsets].name = "address offsets",
		[GlobalInfo_AddrInfoOffsets].name = "address info offsets",
		[GlobalInfo_StringTable].name = "string table",
		[GlobalInfo_FileTable].name = "file table",
		[GlobalInfo_FunctionInfo].name = "function records",
		[GlobalInfo_UUID].name = "UUID",
	};
	uint8_t encoding = cursor_u8(c);
	r->info.base_address = cursor_u64(c);
	r->info.num_addresses = cursor_u32(c);
	if (!cursor_ok(c))
		return diag_set(diag, -EBADMSG, "header at offset 0: the file ends at 0x%zx", r->bytes.size);
	if (encoding != V2_STRING_ENCODING_LIST)
		return diag_set(diag, -ENOTSUP, "header at offset 0x7: string table encoding %u, expected %d",
				encoding, V2_STRING_ENCODING_LIST);
	int err = read_directory(r, c, sections, diag);
	for (int type = GlobalInfo_AddrOffsets; !err && type <= GlobalInfo_FunctionInfo; type++) {
		if (!sections[type].present)
			err = diag_set(diag, -EBADMSG, "directory at offset 0x%x: no entry for %s",
				       V2_HEADER_SIZE, sections[type].name);
	}
	return err ? err : take_sections(r, sections, diag);
}

int reader_parse(struct gsym_reader *reader, struct gsym_diag *diag)
{
	struct cursor c = cursor_new(reader->bytes.data, reader->bytes.size, false);
	uint32_t magic = cursor_u32(&c);
	if (!cursor_ok(&c))
		return diag_set(diag, -EBADMSG, "header at offset 0: the file ends at 0x%zx",
				reader->bytes.size);
	if (magic != GSYM_MAGIC && __builtin_bswap32(magic) != GSYM_MAGIC)
		return diag_set(diag, -EBADMSG,
				"header at offset 0: magic 0x%08" PRIx32 ", expected 0x%x: not GSYM", magic,
				GSYM_MAGIC);
	c.big = reader->info.big_endian = magic != GSYM_MAGIC;
	reader->info.file_size = reader->bytes.size;
	int err = read_ident(reader, &c, diag);
	if (!err)
		err = reader->info.version == 1 ? parse_v1(reader, &c, diag) : parse_v2(reader, &c, diag);
	reader->tables = (struct gsym_tables){
		.strp_size = reader->info.strp_size,
		.strtab_size = reader->info.strtab_size,
		.num_files = reader->info.num_files,
	};
	return err;
}

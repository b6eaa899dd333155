#include "gsym/codec/header.h"

#include "gsym/base/cursor.h"
#include "gsym/base/diag.h"

#include <errno.h>
#include <inttypes.h>

const char *header_table_name(enum global_info type)
{
	static const char *const names[GLOBAL_INFO_KNOWN] = {
		[GlobalInfo_AddrOffsets] = "address offsets",
		[GlobalInfo_AddrInfoOffsets] = "address info offsets",
		[GlobalInfo_StringTable] = "string table",
		[GlobalInfo_FileTable] = "file table",
		[GlobalInfo_FunctionInfo] = "function records",
		[GlobalInfo_UUID] = "UUID",
	};
	return names[type];
}

int header_check_table(const struct gsym_header *header, enum global_info type, uint64_t file_size,
		       struct gsym_diag *diag)
{
	const struct table_range *t = &header->tables[type];
	if (t->off > file_size || t->size > file_size - t->off)
		return diag_set(diag, -EBADMSG,
				"%s at offset 0x%" PRIx64 " of 0x%" PRIx64
				" bytes: the file ends at 0x%" PRIx64,
				header_table_name(type), t->off, t->size, file_size);
	return 0;
}

/* ---- Decoding ---- */

static int truncated(size_t file_size, struct gsym_diag *diag)
{
	return diag_set(diag, -EBADMSG, "header at offset 0: the file ends at 0x%zx", file_size);
}

/* The fields both versions begin with: magic, version, size of an address offset. */
static int decode_ident(struct cursor *c, size_t file_size, struct gsym_header *h, struct gsym_diag *diag)
{
	uint32_t magic = cursor_u32(c);
	if (!cursor_ok(c))
		return truncated(file_size, diag);
	if (magic != GSYM_MAGIC && __builtin_bswap32(magic) != GSYM_MAGIC)
		return diag_set(diag, -EBADMSG,
				"header at offset 0: magic 0x%08" PRIx32 ", expected 0x%x: not GSYM", magic,
				GSYM_MAGIC);
	c->big = h->big_endian = magic != GSYM_MAGIC;
	h->version = cursor_u16(c);
	h->addr_off_size = cursor_u8(c);
	if (!cursor_ok(c))
		return truncated(file_size, diag);
	if (h->version != 1 && h->version != 2)
		return diag_set(diag, -ENOTSUP, "header at offset 0x%x: version %u, expected 1 or 2",
				HEADER_VERSION_OFF, h->version);
	if (!addr_off_size_valid(h->addr_off_size))
		return diag_set(diag, -EBADMSG,
				"header at offset 0x6: address offsets of %u bytes, expected 1, 2, 4 or 8",
				h->addr_off_size);
	return 0;
}

static struct table_range range(uint64_t off, uint64_t size)
{
	return (struct table_range){off, size, true};
}

/* The tables follow the header in a fixed order; only the string table's position is stated. */
static int decode_v1(struct cursor *c, size_t file_size, struct gsym_header *h, struct gsym_diag *diag)
{
	h->uuid.size = cursor_u8(c);
	h->base_address = cursor_u64(c);
	h->num_addresses = cursor_u32(c);
	uint64_t strings = cursor_u32(c);
	h->tables[GlobalInfo_StringTable] = range(strings, cursor_u32(c));
	h->uuid.data = cursor_take(c, V1_UUID_MAX);
	if (!cursor_ok(c))
		return truncated(file_size, diag);
	if (h->uuid.size > V1_UUID_MAX)
		return diag_set(diag, -EBADMSG,
				"header at offset 0x7: UUID of %zu bytes, expected at most %d", h->uuid.size,
				V1_UUID_MAX);
	uint64_t addrs_size = (uint64_t)h->num_addresses * h->addr_off_size;
	uint64_t infos = (V1_HEADER_SIZE + addrs_size + 3) & ~(uint64_t)3;
	uint64_t files = infos + (uint64_t)h->num_addresses * 4;
	h->tables[GlobalInfo_AddrOffsets] = range(V1_HEADER_SIZE, addrs_size);
	h->tables[GlobalInfo_AddrInfoOffsets] = range(infos, files - infos);
	int err = header_check_table(h, GlobalInfo_AddrOffsets, file_size, diag);
	if (!err)
		err = header_check_table(h, GlobalInfo_AddrInfoOffsets, file_size, diag);
	if (err)
		return err;
	h->tables[GlobalInfo_FileTable] = range(files, file_size - files);
	h->tables[GlobalInfo_FunctionInfo] = range(0, file_size);
	return 0;
}

/* Entries of unknown type are skipped; of several entries of one type the last counts. */
static int decode_directory(struct cursor *c, size_t file_size, struct gsym_header *h, struct gsym_diag *diag)
{
	for (;;) {
		uint64_t at = cursor_off(c);
		uint32_t type = cursor_u32(c);
		uint64_t off = cursor_u64(c), size = cursor_u64(c);
		if (!cursor_ok(c))
			return diag_set(diag, -EBADMSG,
					"directory at offset 0x%x: no end of list, the file ends at 0x%zx",
					V2_HEADER_SIZE, file_size);
		if (type == GlobalInfo_EndOfList)
			return 0;
		if (type >= GLOBAL_INFO_KNOWN)
			continue;
		h->tables[type] = range(off, size);
		int err = header_check_table(h, type, file_size, diag);
		if (!err && !size)
			err = diag_set(diag, -EBADMSG, "%s: empty", header_table_name(type));
		if (err)
			return diag_prefix(diag, err, "directory entry at offset 0x%" PRIx64, at);
	}
}

static int decode_v2(struct cursor *c, struct span file, struct gsym_header *h, struct gsym_diag *diag)
{
	uint8_t encoding = cursor_u8(c);
	h->base_address = cursor_u64(c);
	h->num_addresses = cursor_u32(c);
	if (!cursor_ok(c))
		return truncated(file.size, diag);
	if (encoding != V2_STRING_ENCODING_LIST)
		return diag_set(diag, -ENOTSUP, "header at offset 0x7: string table encoding %u, expected %d",
				encoding, V2_STRING_ENCODING_LIST);
	int err = decode_directory(c, file.size, h, diag);
	if (err)
		return err;
	for (int type = GlobalInfo_AddrOffsets; type <= GlobalInfo_FunctionInfo; type++)
		if (!h->tables[type].present)
			return diag_set(diag, -EBADMSG, "directory at offset 0x%x: no entry for %s",
					V2_HEADER_SIZE, header_table_name(type));
	if (h->tables[GlobalInfo_UUID].present)
		h->uuid = (struct span){file.data + h->tables[GlobalInfo_UUID].off,
					h->tables[GlobalInfo_UUID].size};
	return 0;
}

int header_decode(struct span file, struct gsym_header *ret, struct gsym_diag *diag)
{
	struct cursor c = cursor_new(file.data, file.size, false);
	*ret = (struct gsym_header){0};
	int err = decode_ident(&c, file.size, ret, diag);
	if (err)
		return err;
	return ret->version == 1 ? decode_v1(&c, file.size, ret, diag) : decode_v2(&c, file, ret, diag);
}

/* ---- Encoding ---- */

static void encode_v1(struct buf *b, const struct gsym_header *h)
{
	buf_u8(b, (uint8_t)h->uuid.size);
	buf_u64(b, h->base_address);
	buf_u32(b, h->num_addresses);
	buf_u32(b, (uint32_t)h->tables[GlobalInfo_StringTable].off);
	buf_u32(b, (uint32_t)h->tables[GlobalInfo_StringTable].size);
	buf_bytes(b, h->uuid.data, h->uuid.size);
	buf_zeros(b, V1_UUID_MAX - h->uuid.size);
}

static void encode_v2(struct buf *b, const struct gsym_header *h)
{
	static const enum global_info order[] = {
		GlobalInfo_UUID,      GlobalInfo_AddrOffsets, GlobalInfo_AddrInfoOffsets,
		GlobalInfo_FileTable, GlobalInfo_StringTable, GlobalInfo_FunctionInfo,
	};
	buf_u8(b, V2_STRING_ENCODING_LIST);
	buf_u64(b, h->base_address);
	buf_u32(b, h->num_addresses);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		const struct table_range *t = &h->tables[order[i]];
		if (!t->size)
			continue;
		buf_u32(b, order[i]);
		buf_u64(b, t->off);
		buf_u64(b, t->size);
	}
	buf_zeros(b, GLOBAL_ENTRY_SIZE);
	buf_bytes(b, h->uuid.data, h->uuid.size);
}

void header_encode(struct buf *out, const struct gsym_header *header)
{
	buf_u32(out, GSYM_MAGIC);
	buf_u16(out, header->version);
	buf_u8(out, header->addr_off_size);
	if (header->version == 1)
		encode_v1(out, header);
	else
		encode_v2(out, header);
}

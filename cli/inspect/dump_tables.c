#include "cli/inspect/dump.h"

#include "gsym/base/escape.h"

void dump_hex(struct text_buf *out, uint64_t value, unsigned digits)
{
	text_lit(out, "0x");
	text_hex(out, value, digits);
}

static void field(struct text_buf *out, const char *name, uint64_t value, unsigned digits)
{
	text_lit(out, "  ");
	text_str(out, name);
	text_fill(out, ' ', 13 - strlen(name));
	text_lit(out, "= ");
	dump_hex(out, value, digits);
	text_char(out, '\n');
}

void dump_header(struct text_buf *out, const struct gsym_reader *reader)
{
	const struct gsym_info *info = &reader->info;
	unsigned digits = dump_off_digits(reader);
	text_lit(out, "Header:\n");
	field(out, "Magic", GSYM_MAGIC, 8);
	field(out, "Version", info->version, 4);
	field(out, "AddrOffSize", info->addr_off_size, 2);
	field(out, "UUIDSize", info->uuid_size, 2);
	field(out, "BaseAddress", info->base_address, 16);
	field(out, "NumAddresses", info->num_addresses, 8);
	field(out, "StrtabOffset", (uint64_t)((const uint8_t *)reader->strings - reader->bytes.data), digits);
	field(out, "StrtabSize", info->strtab_size, digits);
	text_lit(out, "  UUID         = ");
	for (size_t i = 0; i < info->uuid_size; i++)
		text_hex(out, info->uuid[i], 2);
	text_char(out, '\n');
}

void dump_titles(struct text_buf *out, const struct gsym_reader *reader, enum dump_table table)
{
	switch (table) {
	case DUMP_ADDRESSES:
		text_lit(out, "\nAddress Table:\nINDEX  OFFSET");
		text_dec(out, 8 * reader->info.addr_off_size);
		if (reader->info.addr_off_size == 1) /* one digit, yet columns stay where they are */
			text_char(out, ' ');
		text_lit(out, " (ADDRESS)\n====== =============================== \n");
		break;
	case DUMP_INFO_OFFSETS:
		text_lit(out, "\nAddress Info Offsets:\nINDEX  Offset\n====== ==========\n");
		break;
	case DUMP_FILES:
		text_lit(out, "\nFiles:\nINDEX  DIRECTORY  BASENAME   PATH\n"
			      "====== ========== ========== ==============================\n");
		break;
	case DUMP_STRINGS: text_lit(out, "\nString table:\n"); break;
	}
}

/* "[   7] ": a row's number, at least four columns wide. */
static void row_index(struct text_buf *out, uint32_t index)
{
	text_char(out, '[');
	text_fill(out, ' ', index < 10 ? 3 : index < 100 ? 2 : index < 1000 ? 1 : 0);
	text_dec(out, index);
	text_lit(out, "] ");
}

void dump_address(struct text_buf *out, const struct gsym_reader *reader, uint32_t index)
{
	row_index(out, index);
	dump_hex(out, reader_addr_off(reader, index), 2 * reader->info.addr_off_size);
	text_lit(out, " (");
	dump_hex(out, gsym_reader_address(reader, index), 16);
	text_lit(out, ")\n");
}

void dump_info_offset(struct text_buf *out, const struct gsym_reader *reader, uint32_t index)
{
	bool big = reader->info.big_endian;
	uint64_t off = reader->info.version == 1 ? load32(reader->info_offs + 4 * (size_t)index, big)
						 : load64(reader->info_offs + 8 * (size_t)index, big);
	row_index(out, index);
	dump_hex(out, off, dump_off_digits(reader));
	text_char(out, '\n');
}

void dump_path(struct text_buf *out, const struct gsym_reader *reader, uint32_t index)
{
	const char *dir, *base;
	if (gsym_reader_file(reader, index, &dir, &base)) {
		text_lit(out, "<invalid-file>");
		return;
	}
	if (dir[0]) {
		escape_str(out, dir, ESCAPE_TEXT);
		text_char(out, strchr(dir, '\\') && !strchr(dir, '/') ? '\\' : '/');
	}
	escape_str(out, base, ESCAPE_TEXT);
}

void dump_file(struct text_buf *out, const struct gsym_reader *reader, uint32_t index)
{
	uint64_t dir = 0, base = 0;
	unsigned digits = dump_off_digits(reader);
	gsym_reader_file_strings(reader, index, &dir, &base);
	row_index(out, index);
	dump_hex(out, dir, digits);
	text_char(out, ' ');
	dump_hex(out, base, digits);
	text_char(out, ' ');
	dump_path(out, reader, index);
	text_char(out, '\n');
}

uint64_t dump_string(struct text_buf *out, const struct gsym_reader *reader, uint64_t strp)
{
	const char *text = reader->strings + strp;
	size_t size = strnlen(text, reader->info.strtab_size - strp);
	dump_hex(out, strp, dump_off_digits(reader));
	text_lit(out, ": \"");
	escape_bytes(out, text, size, ESCAPE_TEXT);
	text_lit(out, "\"\n");
	return strp + size + 1;
}

/*
 * dump.h - prints a GSYM file in llvm-gsymutil's layout, piece by piece into a text buffer.
 *
 * Apart from strings, which are escaped for terminals, the text of version 1 files is that of llvm-gsymutil.
 * llvm-gsymutil does not print version 2: it has the same blocks, with as many digits as its fields have.
 */
#ifndef CLI_INSPECT_DUMP_H
#define CLI_INSPECT_DUMP_H

#include "gsym/read/reader.h"
#include "gsym/base/text_buf.h"

/* "Header:" and its fields. */
void dump_header(struct text_buf *out, const struct gsym_reader *reader);

/* One entry of each table; the titles come from dump_titles(). */
void dump_address(struct text_buf *out, const struct gsym_reader *reader, uint32_t index);
void dump_info_offset(struct text_buf *out, const struct gsym_reader *reader, uint32_t index);
void dump_file(struct text_buf *out, const struct gsym_reader *reader, uint32_t index);

enum dump_table {
	DUMP_ADDRESSES,
	DUMP_INFO_OFFSETS,
	DUMP_FILES,
	DUMP_STRINGS,
};

void dump_titles(struct text_buf *out, const struct gsym_reader *reader, enum dump_table table);

/* The string at @strp, which is below the table's size. Returns the offset of the next. */
uint64_t dump_string(struct text_buf *out, const struct gsym_reader *reader, uint64_t strp);

/* A decoded function and those merged with it. @off is where its record begins in the file. */
void dump_function(struct text_buf *out, const struct gsym_reader *reader, const struct gsym_func *func,
		   uint64_t off);

/* The directory, a separator and the name of a file; nothing for file 0. */
void dump_path(struct text_buf *out, const struct gsym_reader *reader, uint32_t index);

/* "0x" and @digits digits. */
void dump_hex(struct text_buf *out, uint64_t value, unsigned digits);

/* Hex digits of a string offset, of a file offset: 8 in version 1, 16 in version 2. */
static inline unsigned dump_off_digits(const struct gsym_reader *reader)
{
	return reader->info.version == 1 ? 8 : 16;
}

#endif

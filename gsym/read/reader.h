/*
 * reader.h - an open GSYM file: where its tables are, checked to lie within it. Internal.
 */
#ifndef GSYM_READ_READER_H
#define GSYM_READ_READER_H

#include "gsym/base/cursor.h"
#include "gsym/codec/format.h"
#include "gsym/gsym.h"
#include "gsym/codec/record.h"

struct built_index;

/* See built_index.h. */
typedef _Atomic(struct built_index *) built_list;

struct gsym_reader {
	struct gsym_info info;
	struct gsym_tables tables;
	struct span bytes; /* the file; mapped by us or borrowed */
	bool mapped;
	char *name;               /* for messages */
	const uint8_t *addr_offs; /* num_addresses of info.addr_off_size bytes, ascending */
	const uint8_t *info_offs; /* num_addresses of 4 or 8 bytes: where the records are */
	const uint8_t *files;     /* num_files pairs of strings */
	const char *strings;      /* ends with a NUL */
	uint64_t records_base;    /* info offsets count from here */
	uint64_t records_end;     /* and no record passes this */
	built_list enclosing;     /* see enclosing.h */
	built_list names;         /* see name_index.h */
};

/* Finds the tables of @reader->bytes and checks their bounds: tables.c. */
int reader_parse(struct gsym_reader *reader, struct gsym_diag *diag);

/* Address of function @index, counted from the base address. */
static inline uint64_t reader_addr_off(const struct gsym_reader *reader, size_t index)
{
	bool big = reader->info.big_endian;
	switch (reader->info.addr_off_size) {
	case 1: return reader->addr_offs[index];
	case 2: return load16(reader->addr_offs + 2 * index, big);
	case 4: return load32(reader->addr_offs + 4 * index, big);
	default: return load64(reader->addr_offs + 8 * index, big);
	}
}

/* Where the table says where the record of function @index is. */
static inline const uint8_t *reader_record_offset(const struct gsym_reader *reader, size_t index)
{
	return reader->info_offs + index * (reader->info.version == 1 ? 4 : 8);
}

/*
 * A cursor from the record of function @index to the end of the records; failed when the record is outside
 * the file.
 */
static inline struct cursor reader_record(const struct gsym_reader *reader, size_t index)
{
	bool big = reader->info.big_endian;
	const uint8_t *at = reader_record_offset(reader, index);
	uint64_t off = reader->info.version == 1 ? load32(at, big) : load64(at, big);
	struct cursor c = cursor_new(reader->bytes.data, reader->records_end, big);
	if (__builtin_add_overflow(off, reader->records_base, &off))
		cursor_fail(&c);
	cursor_seek(&c, off);
	return c;
}

/* Bytes of code of function @index, 0 when not known or when its record lies outside the file. */
static inline uint32_t reader_func_size(const struct gsym_reader *reader, size_t index)
{
	struct cursor c = reader_record(reader, index);
	return cursor_u32(&c);
}

/* The end of the code of the last function; 0 without functions. */
static inline uint64_t reader_code_end(const struct gsym_reader *reader)
{
	uint32_t n = reader->info.num_addresses;
	return n ? reader->info.base_address + reader_addr_off(reader, n - 1) +
			       reader_func_size(reader, n - 1)
		 : 0;
}

/* Splits the record of function @index; messages begin with "function record". */
int reader_parse_record(const struct gsym_reader *reader, uint32_t index, struct function_info *ret,
			struct gsym_diag *diag);

#endif

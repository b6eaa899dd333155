/* verify_line.h - the line table of a unit as libdwarf reads it, ready to be searched by address. */
#ifndef CONVERT_VERIFY_VERIFY_LINE_H
#define CONVERT_VERIFY_VERIFY_LINE_H

#include "gsym/base/vec.h"
#include "convert/verify/verify_libdwarf.h"

struct verify_row {
	uint64_t addr;
	uint64_t line;
	uint32_t file;  /* index into the line header's files, as the DWARF version counts them */
	uint32_t file2; /* the same, or another one it may be: see DW_FILE_ZERO_IS_SURE */
};

/* Rows [first, first + count) hold from low to high. */
struct verify_sequence {
	uint64_t low, high;
	size_t first, count;
};

struct verify_lines {
	VEC(struct verify_row) rows;
	VEC(struct verify_sequence) sequences; /* ascending by low */
	VEC(char *) files;                     /* joined paths; NULL where there is none */
	int64_t first_file;                    /* what the first entry of files is called: 0 or 1 */
};

/* Reads the table @cu_die refers to. A unit without one gives an empty table. 0 or -ENOMEM. */
int verify_lines_read(struct verify_lines *lines, struct dw *dw, Dwarf_Die cu_die);

void verify_lines_deinit(struct verify_lines *lines);

/* The joined path of file @index, NULL when there is no such file. */
const char *verify_lines_file(const struct verify_lines *lines, uint64_t index);

/*
 * The row that holds at @addr in the @nth sequence that covers it, counted from 0; NULL when there is none.
 * Folded functions are covered by several. The last of rows that share an address counts.
 */
const struct verify_row *verify_lines_find(const struct verify_lines *lines, uint64_t addr, size_t nth);

#endif

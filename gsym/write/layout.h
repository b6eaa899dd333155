/*
 * layout.h - offsets of the sections of a file being written. Pure arithmetic. Internal.
 */
#ifndef GSYM_WRITE_LAYOUT_H
#define GSYM_WRITE_LAYOUT_H

#include "gsym/codec/format.h"
#include "gsym/gsym.h"

/* Sizes and counts, known once all functions have been added. */
struct layout_input {
	uint16_t version;
	uint64_t num_addresses;
	uint64_t last_offset; /* start of the last function - base address */
	uint64_t num_files;
	uint64_t strtab_size;
	uint64_t records_size;
	uint64_t last_record; /* offset of the last record from the first */
	uint64_t uuid_size;
};

/* File offsets and sizes by enum global_info; version 1 has the same sections but for the UUID. */
struct layout {
	uint8_t addr_off_size;
	uint64_t off[GLOBAL_INFO_KNOWN];
	uint64_t size[GLOBAL_INFO_KNOWN];
	uint64_t file_size;
};

/* 0, or -EOVERFLOW when @in->version cannot address the file; @diag names the limit. */
int layout_make(const struct layout_input *in, struct layout *ret, struct gsym_diag *diag);

#endif

/* frame_detail.h - columns, and where functions are declared: DWARF has them, GSYM does not. */
#ifndef GSYM_BASE_FRAME_DETAIL_H
#define GSYM_BASE_FRAME_DETAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A frame's properties that GSYM does not hold. */
struct frame_detail {
	uint32_t line; /* belongs to the frame only if that has the same */
	uint32_t column, discriminator;
	uint32_t start_line;                /* where its function is declared; 0: not known */
	const char *start_dir, *start_base; /* the file of that; "": not known */
	uint64_t start;                     /* where its code begins, if that is one piece */
	bool has_start;
	/* How much of the path of the frame, and of @start_dir, is the directory of the compilation. */
	uint32_t comp_size, start_comp_size; /* with the separator; 0: the path has none of it */
	const char *source;                  /* the lines that were asked for, embedded in the debug data */
	size_t source_size;                  /* 0: there are none */
};

#endif

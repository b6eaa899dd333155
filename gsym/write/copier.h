/*
 * copier.h - functions of one GSYM file re-encoded for another, in which strings and files have other
 * numbers.
 *
 * A copier reads one file and may fill several files in turn. It copies lines, inlined calls, merged
 * functions and call sites, and visits strings and files in the order of llvm-gsymutil, so that the tables
 * come out as it writes them.
 */
#ifndef GSYM_WRITE_COPIER_H
#define GSYM_WRITE_COPIER_H

#include "gsym/base/vec.h"
#include "gsym/gsym.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- From string table offsets of one file to those of another (string_map.c) ---- */

/*
 * Clearing it does not touch its memory (a generation number invalidates all slots), as it is cleared for
 * each of many files that are written in turn.
 */

struct copied_string {
	uint64_t from, to;
	uint32_t run; /* in use when it is that of the map */
};

/* Zero-initialised, then string_map_clear(): empty. */
struct string_map {
	struct copied_string *slots; /* see probe.h */
	size_t n_slots, used;
	uint32_t run;
};

void string_map_deinit(struct string_map *map);

/* 0, or -ENOMEM. */
int string_map_clear(struct string_map *map);

/* The new offset of @from. False if it has none yet. */
bool string_map_find(const struct string_map *map, uint64_t from, uint64_t *ret);

/* Adds a string that is not in the map: 0 or -ENOMEM. */
int string_map_add(struct string_map *map, uint64_t from, uint64_t to);

/* ---- The copier ---- */

/* The new index of an entry of the old file table; valid if @run is that of the copier. */
struct copied_file {
	uint32_t run;
	uint32_t index;
};

struct copier {
	const struct gsym_reader *from;
	struct gsym_writer *to;
	struct gsym_decoder *decoder;
	struct string_map strings;
	struct copied_file *files; /* by index in @from */
	uint32_t run;              /* counts the files filled */
	uint64_t string_bytes;     /* added to @to, duplicates counted each time */
	bool salvages;             /* a damaged part is left out, instead of failing its function */
	uint64_t n_lost;           /* parts left out so far */
	/* the function being copied, translated */
	VEC(struct gsym_row) rows;
	VEC(struct gsym_inline) inlines;
	VEC(uint64_t) patterns;
	VEC(struct gsym_func) merged;
};

/* The file read is borrowed. 0 or -ENOMEM; a copier that failed may be deinitialised. */
int copier_init(struct copier *c, const struct gsym_reader *from);
void copier_deinit(struct copier *c);

/* Options of a writer for a file of the same version, byte order, base address and UUID. The UUID is
 * borrowed. */
struct gsym_writer_options copier_options(const struct gsym_reader *from);

/* Begins to fill @to, which is borrowed and empty. 0 or -ENOMEM. */
int copier_begin(struct copier *c, struct gsym_writer *to);

/*
 * Copies all strings and files in their order, unreferenced ones included. Those of a file that gsym wrote
 * keep their offsets and indexes. -EBADMSG when files are damaged, which are left out.
 */
int copy_tables(struct copier *c, struct gsym_diag *diag);

/*
 * Copies function @index; functions come in the order of the file. @ret is the function as it is in the old
 * file, valid until the next call. -EBADMSG for a damaged record, or when records that share
 * their bytes exceed the limit on decoding; -EDQUOT when strings overlap and exceed theirs; else an error of
 * the writer.
 */
int copy_function(struct copier *c, uint32_t index, struct gsym_func *ret, struct gsym_diag *diag);

#endif

/*
 * go_reader.h - what reading one Go function after the other shares; private to this folder.
 */
#ifndef CONVERT_GOLANG_GO_READER_H
#define CONVERT_GOLANG_GO_READER_H

#include "convert/golang/pclntab.h"
#include "convert/record/func_record.h"
#include "convert/record/warning.h"

#define NO_CALL UINT32_MAX

/* A node of the inline tree that the function uses. */
struct go_call {
	uint32_t parent, child, last_child, sibling; /* nodes, NO_CALL */
	uint32_t depth;                              /* 1 = inlined into the function itself */
	uint32_t first_part, last_part;              /* of parts; NO_CALL */
	uint32_t n_parts;
	uint32_t name, file; /* of the pool */
	uint32_t line;
	enum {
		CALL_UNKNOWN,
		CALL_ON_PATH, /* read; its callers are not known yet */
		CALL_GOOD,
		CALL_DEEP, /* its parent is the last caller that is not nested too deep */
		CALL_BAD,  /* it, or a caller of it, is damaged */
	} state;
};

/* A part of the code of a call. */
struct go_part {
	uint32_t lo, hi;
	uint32_t next; /* of the same call, NO_CALL */
};

struct go_reader {
	struct pclntab table;
	struct pool *pool;
	struct arena *arena; /* for arrays of records */
	struct warnings *warnings;
	struct budget budget; /* for the whole table */
	struct name_budget names, paths;
	uint32_t *files; /* the pool's number + 1 of each file of the table, 0 = not asked yet */
	size_t n_files;

	/* Of the function that is read */
	pc_step_vec file_steps, line_steps, call_steps;
	VEC(struct gsym_row) rows;
	VEC(struct go_call) calls;
	VEC(struct go_part) parts;
	VEC(uint32_t) path; /* nodes whose callers are not known yet */
	VEC(struct gsym_inline) inlines;
	VEC(struct gsym_range) ranges;
};

/* The pool's number of a name; 0 if the budget for names does not reach. 0 or -ENOMEM. */
int go_name_number(struct go_reader *r, const char *name, uint32_t *ret);

/* The pool's number of the file with @value in the unit of @f, 0 if it is not known. 0 or -ENOMEM. */
int go_file_number(struct go_reader *r, const struct go_function *f, int32_t value, uint32_t *ret);

/* A line as GSYM has it: 0 = not known. */
static inline uint32_t go_line(int32_t value)
{
	return value > 0 ? (uint32_t)value : 0;
}

/* From the steps of @f, which ends at @end, to r->inlines and r->ranges. 0 or -ENOMEM. */
int go_inlines_make(struct go_reader *r, const struct go_function *f, uint64_t end);

#endif

/*
 * lookup.h - every function folded onto one address, in one pass over them. Internal.
 */
#ifndef GSYM_READ_LOOKUP_H
#define GSYM_READ_LOOKUP_H

#include "gsym/gsym.h"
#include "gsym/codec/record.h"

/* Called with the answer made from @record. A failure, diagnosed in @diag, ends the iteration. */
typedef int lookup_each(void *user, const struct function_info *record, struct gsym_diag *diag);

/*
 * Looks up @addr as gsym_lookup_flags() does, once for each function that shares the code there, and calls
 * @each after each has filled @answer: the record's own function first, then those merged with it. A
 * damaged record ends the iteration after those before it.
 *
 * @reader: the GSYM file
 * @addr: link-time address
 * @flags: enum gsym_lookup_flags
 * @answer: overwritten for each function
 * @each: called with @user
 *
 * Returns what gsym_lookup_flags() or @each returns.
 */
int lookup_each_merged(const struct gsym_reader *reader, uint64_t addr, unsigned flags,
		       struct gsym_answer *answer, lookup_each *each, void *user, struct gsym_diag *diag);

/*
 * How many functions share the code of @record, itself included; @ret_merged is left at the first of the
 * others. 0, or -EBADMSG for bytes that are no merged functions.
 */
int lookup_count_merged(const struct function_info *record, struct cursor *ret_merged, uint32_t *ret,
			struct gsym_diag *diag);

/* A return address is looked up by the byte before it: makes the offsets of @answer those of the address
 * itself. */
static inline void answer_count_from_return(struct gsym_answer *answer)
{
	for (size_t i = 0; i < answer->n_frames; i++)
		answer->frames[i].offset++;
}

/*
 * Whether a line of the function @name can only be approximate: LLVM's machine outliner made it from code
 * of several functions, and gives all of it line 0.
 */
bool lookup_is_made_of_many(const char *name);

#endif

/*
 * lookup.h - every function folded onto one address, in one pass over them. Internal.
 */
#ifndef GSYM_LOOKUP_H
#define GSYM_LOOKUP_H

#include "gsym.h"
#include "record.h"

/* Takes the answer made from @record. A failure, with words in @diag, ends the pass. */
typedef int lookup_each(void *user, const struct record *record, struct gsym_diag *diag);

/*
 * Looks @addr up as gsym_lookup() does, once for each function that shares the code there, and calls @each
 * whenever @answer has been filled: the holder of the record comes first. A damaged record ends the pass
 * after those before it. Returns what gsym_lookup() or @each does.
 */
int lookup_each_merged(const struct gsym_reader *reader, uint64_t addr, struct gsym_answer *answer,
		       lookup_each *each, void *user, struct gsym_diag *diag);

#endif

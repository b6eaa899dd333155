/*
 * text_set.h - texts that are kept once, however many units have them.
 */
#ifndef CONVERT_RECORD_TEXT_SET_H
#define CONVERT_RECORD_TEXT_SET_H

#include "convert/record/pool.h"
#include "gsym/base/arena.h"

/* Zero-initialised is empty. The texts are in an arena of the caller, and remain when the set is gone. */
struct text_set {
	VEC(struct pool_string) texts;
	struct index_table table;
};

void text_set_deinit(struct text_set *set);

/*
 * Replaces string->text by an equal text in @arena, which is terminated, and always the same one. 0 or
 * -ENOMEM.
 */
int text_set_keep(struct text_set *set, struct arena *arena, struct pool_string *string);

#endif

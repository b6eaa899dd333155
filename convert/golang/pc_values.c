/*
 * pc_values.c - values that depend on the program counter.
 *
 * A sequence of pairs of variable-length numbers: the change of the value, zigzag-encoded, then the bytes of
 * code, in units of the smallest instruction, for which the new value holds. It begins with the value -1 at
 * the function's start, and ends with a change of 0 that is not the first.
 */
#include "convert/golang/pclntab.h"

#include "gsym/base/cursor.h"
#include "gsym/base/search.h"

/* Reads one pair. False at the end, and on damage, which fails the cursor. */
static bool next_step(struct cursor *c, const struct pclntab *table, bool first, struct pc_step *at)
{
	uint64_t change = cursor_uleb(c);
	if (!cursor_ok(c) || (!change && !first))
		return false;
	uint64_t bytes = cursor_uleb(c);
	if (change > UINT32_MAX || bytes > (UINT32_MAX - at->end) / table->quantum) {
		cursor_fail(c);
		return false;
	}
	uint32_t delta = (uint32_t)(change & 1 ? ~(change >> 1) : change >> 1);
	at->value = (int32_t)((uint32_t)at->value + delta);
	at->end += (uint32_t)bytes * table->quantum;
	return cursor_ok(c);
}

bool pc_values_read(const struct pclntab *table, uint32_t off, struct budget *budget, pc_step_vec *ret,
		    int *err)
{
	struct cursor c = cursor_new(table->values.data, table->values.size, table->object->big_endian);
	struct pc_step at = {.value = -1};
	ret->n = 0;
	if (!off)
		return true;
	cursor_seek(&c, off);
	for (bool first = true; next_step(&c, table, first, &at); first = false) {
		if (!budget_work(budget, ACCOUNT_ROWS, 1))
			return false;
		if (vec_push(ret, at)) {
			*err = -ENOMEM;
			return false;
		}
	}
	return cursor_ok(&c);
}

int32_t pc_value_at(const pc_step_vec *steps, uint32_t off)
{
	size_t i = PARTITION_POINT(0, steps->n, mid, steps->v[mid].end <= off);
	return i < steps->n ? steps->v[i].value : -1;
}

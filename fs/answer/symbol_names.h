/*
 * symbol_names.h - the indexes by which functions are found by name: of names as they are stored, and as
 * answers show them.
 *
 * Each is made when the first call needs it, by a thread of its own (answers.names), since demangling all
 * names of a large program takes seconds; the calls wait without a thread. They go with the open image.
 */
#ifndef FS_ANSWER_SYMBOL_NAMES_H
#define FS_ANSWER_SYMBOL_NAMES_H

#include <stdatomic.h>
#include <time.h>

#include "fs/answer/answers.h"

struct wait;

enum symbol_names { NAMES_STORED, NAMES_SHOWN };

/* 0 when the index is there; -EAGAIN with @ret_wait filled: it is to be made. */
int symbol_names_ready(struct answers *answers, struct revision *rev, const struct handle *handle,
		       enum symbol_names kind, struct wait *ret_wait);

/* How much processor time this thread may still spend on demangling names. */
struct cpu_budget {
	struct timespec end;
	unsigned asked;
	const atomic_bool *stopping; /* the mount ends: there is none left. NULL: not asked */
};

void cpu_budget_begin(struct cpu_budget *cpu_budget, unsigned seconds, const atomic_bool *stopping);
/* For struct shown_limit, of a struct cpu_budget. */
bool cpu_budget_is_spent(void *user);

/* Of answers.names: makes one, unless it is there; its part is enum symbol_names. -EIO, -ENOMEM, -ENOTCONN.
 */
extern const struct job_kind symbol_names_kind;

#endif

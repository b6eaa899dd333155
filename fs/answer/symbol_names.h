/*
 * symbol_names.h - indexes of an image's functions by name: by stored and by demangled names.
 *
 * An index is built when the first call needs it, by the background thread answers.names, since demangling
 * all names of a large program takes seconds; the calls are parked meanwhile. Indexes live as long as the
 * open image.
 */
#ifndef FS_ANSWER_SYMBOL_NAMES_H
#define FS_ANSWER_SYMBOL_NAMES_H

#include <stdatomic.h>
#include <time.h>

#include "fs/answer/answers.h"

struct wait;

enum symbol_names { NAMES_STORED, NAMES_SHOWN };

/*
 * Whether an index of names exists.
 * @rev, @handle: the image, and its open cache file
 * @kind: which names
 * @ret_wait: with -EAGAIN, what the call is to be parked on until the index is made
 * 0; -EAGAIN.
 */
int symbol_names_ready(struct answers *answers, struct revision *rev, const struct handle *handle,
		       enum symbol_names kind, struct wait *ret_wait);

/* A limit of the CPU time that the calling thread spends on demangling. */
struct cpu_budget {
	struct timespec end; /* CLOCK_THREAD_CPUTIME_ID; tv_sec is 0 once it is spent */
	unsigned checks;
	const atomic_bool *stopping; /* when true, the budget is spent; may be NULL */
};

void cpu_budget_begin(struct cpu_budget *budget, unsigned seconds, const atomic_bool *stopping);
/* A callback of struct shown_limit; @user is a struct cpu_budget. */
bool cpu_budget_is_spent(void *user);

/* Jobs of answers.names: build an index; the part is enum symbol_names. -EIO, -ENOMEM, -ENOTCONN. */
extern const struct job_kind symbol_names_kind;

#endif

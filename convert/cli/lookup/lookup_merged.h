/*
 * lookup_merged.h - answers that show every function folded onto an address, and whom it calls.
 */
#ifndef CONVERT_CLI_LOOKUP_LOOKUP_MERGED_H
#define CONVERT_CLI_LOOKUP_LOOKUP_MERGED_H

#include "gsym/base/vec.h"
#include "gsym/render/render.h"

#include <regex.h>

struct merged_lookup {
	VEC(regex_t *) filters;
	struct gsym_decoder *decoder; /* for call sites */
	struct gsym_answer answer;
	struct text_buf shown; /* functions rendered so far: their number goes in front of them */
};

/* 0 or -ENOMEM. What was there before it was called, filters, stays. */
int merged_lookup_init(struct merged_lookup *m);

/* A zeroed one, or one without memory, is fine. */
void merged_lookup_deinit(struct merged_lookup *m);

/*
 * From now on shows only functions whose name, as it is stored, matches a filter: @pattern, a POSIX extended
 * regular expression, is one more of them. 0, -ENOMEM, or -EINVAL with the reason in @diag.
 */
int merged_lookup_filter(struct merged_lookup *m, const char *pattern, struct gsym_diag *diag);

/*
 * Appends the functions at @addr, each as render_answer() has it; in the format of llvm-gsymutil with their
 * number in front, and with the names of callees where a call returns to @addr.
 *
 * -ENOENT when there is nothing to show: no function there, or in other formats none that matches. When a
 * record is damaged (-EBADMSG) the functions before it have been appended.
 */
int merged_lookup(struct merged_lookup *m, const struct gsym_reader *reader, uint64_t addr,
		  const struct render_options *options, struct text_buf *out, struct gsym_diag *diag);

#endif

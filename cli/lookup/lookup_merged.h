/*
 * lookup_merged.h - answers with every function merged at an address, and its callees.
 */
#ifndef CLI_LOOKUP_LOOKUP_MERGED_H
#define CLI_LOOKUP_LOOKUP_MERGED_H

#include "gsym/base/vec.h"
#include "gsym/render/render.h"

#include <regex.h>

struct merged_lookup {
	VEC(regex_t *) filters;
	struct gsym_decoder *decoder; /* for call sites */
	struct gsym_answer answer;
	struct text_buf shown; /* functions rendered so far; their number is printed before them */
};

/* 0 or -ENOMEM. Filters that were added before are kept. */
int merged_lookup_init(struct merged_lookup *m);

/* A zeroed one, or one whose initialisation failed, is allowed. */
void merged_lookup_deinit(struct merged_lookup *m);

/*
 * Adds a filter, a POSIX extended regular expression: only functions whose stored name matches a filter are
 * shown. 0, -ENOMEM, or -EINVAL with the reason in @diag.
 */
int merged_lookup_filter(struct merged_lookup *m, const char *pattern, struct gsym_diag *diag);

/*
 * Appends the functions at @addr, each as by render_answer(); in the format of llvm-gsymutil with their
 * number before them, and with the names of callees if a call returns to @addr.
 *
 * @m:       with its filters; memory reused between calls
 * @reader:  the GSYM file
 * @addr:    link-time address
 * @options: of rendering
 * @out:     appended to
 *
 * -ENOENT if there is no function at @addr, or in other formats none that matches. If a record is damaged
 * (-EBADMSG), the functions before it have been appended. -ENOMEM.
 */
int merged_lookup(struct merged_lookup *m, const struct gsym_reader *reader, uint64_t addr,
		  const struct render_options *options, struct text_buf *out, struct gsym_diag *diag);

#endif

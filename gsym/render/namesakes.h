/*
 * namesakes.h - the functions that a name stands for, as users write it.
 */
#ifndef GSYM_RENDER_NAMESAKES_H
#define GSYM_RENDER_NAMESAKES_H

#include "gsym/render/shown_names.h"

enum { NAMESAKES_MAX = 1000 }; /* functions of one name that are visited */

/* Visits a function of the name. 0, -ENOENT, or an error that ends the search. */
typedef int namesake_fn(void *user, const struct name_hit *hit);

/*
 * Visits, in address order, the functions whose stored name is the @size bytes of @name; if there are none,
 * those that answers show so; and if there are none, those of C++ and D that are shown so without result and
 * parameters; and if there are none, those that are it without template arguments, too.
 *
 * @shown_names: made of @reader by shown_builder_run(); NULL: not made yet
 * @state:       its limit and mode are the caller's; deinitialise it with shown_search_deinit()
 *
 * The number of functions visited; -EAGAIN if no stored name is right and @shown_names is NULL; the error of
 * @visit; -ENOMEM.
 */
int namesakes_visit(const struct gsym_reader *reader, const struct name_table *shown_names,
		    struct shown_search *state, const char *name, size_t size, namesake_fn *visit,
		    void *user);

/* ---- Names like one that nothing has ---- */

enum { NEAREST_MAX = 3 };

/* Zero-initialise; its limit and mode are the caller's. */
struct nearest_names {
	struct shown_names shown;
	size_t n;
	unsigned distance[NEAREST_MAX];
	struct text_buf name[NEAREST_MAX]; /* the most similar first */
};

/*
 * Finds the names of functions, without result, parameters and template arguments, that are most like the
 * @size bytes of @name, or end with "::" and it. As long as namesakes_visit() takes the first time. 0 or
 * -ENOMEM.
 */
int nearest_names_find(struct nearest_names *ret, const struct gsym_reader *reader, const char *name,
		       size_t size);

/* Appends "; the nearest is 'f'", or "; the nearest are 'f', 'g'"; nothing if there are none. */
void nearest_names_append(struct text_buf *out, const struct nearest_names *nearest);
void nearest_names_deinit(struct nearest_names *nearest);

#endif

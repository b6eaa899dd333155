#include "gsym/render/namesakes.h"

#include <errno.h>

static int visit_all(struct name_search *search, namesake_fn *visit, void *user)
{
	struct name_hit hit;
	int n = 0;
	while (n < NAMESAKES_MAX && name_search_next(search, &hit)) {
		int err = visit(user, &hit);
		if (err && err != -ENOENT)
			return err;
		n++;
	}
	return n;
}

int namesakes_visit(const struct gsym_reader *reader, const struct name_table *shown_names,
		    struct shown_search *state, const char *name, size_t size, namesake_fn *visit, void *user)
{
	struct name_search search;
	int n = name_search_begin(&search, reader, name, size);
	if (!n)
		n = visit_all(&search, visit, user);
	if (!n && !shown_names)
		return -EAGAIN;
	for (unsigned form = 0; !n && form < SHOWN_FORMS; form++) {
		shown_search_begin(&search, state, reader, shown_names, (enum shown_form)form, name, size);
		n = visit_all(&search, visit, user);
	}
	return n >= 0 && state->shown.failed ? -ENOMEM : n;
}

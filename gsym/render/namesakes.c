#include "gsym/render/namesakes.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "gsym/base/escape.h"
#include "gsym/base/suggestion.h"
#include "gsym/read/reader.h"

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

/* ---- Names like one that nothing has ---- */

static bool has_last_part(const char *word, const char *name, size_t size)
{
	size_t n = strlen(word);
	return n >= size + 2 && memcmp(word + n - size, name, size) == 0 &&
	       memcmp(word + n - size - 2, "::", 2) == 0;
}

/* UINT_MAX: they are not alike. */
static unsigned distance_of(const char *word, const char *name, size_t size)
{
	struct suggestion suggestion = suggestion_begin(name, size);
	if (size && has_last_part(word, name, size))
		return 0;
	suggestion_try(&suggestion, word);
	return suggestion.best ? suggestion.distance : UINT_MAX;
}

/* Keeps a word among the most similar ones, each once. */
static void keep_nearest(struct nearest_names *r, const char *word, unsigned distance)
{
	size_t at = r->n;
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->name[i].v, word) == 0)
			return;
	while (at && r->distance[at - 1] > distance)
		at--;
	if (at == NEAREST_MAX)
		return;
	size_t last = r->n < NEAREST_MAX ? r->n++ : NEAREST_MAX - 1;
	struct text_buf spare = r->name[last];
	memmove(&r->name[at + 1], &r->name[at], (last - at) * sizeof(*r->name));
	memmove(&r->distance[at + 1], &r->distance[at], (last - at) * sizeof(*r->distance));
	text_reset(&spare);
	text_bytes(&spare, word, strlen(word) + 1);
	r->name[at] = spare;
	r->distance[at] = distance;
}

static void try_name(struct nearest_names *r, const char *stored, const char *name, size_t size)
{
	shown_names_make(&r->shown, stored);
	const char *word = stored;
	for (size_t i = SHOWN_FORMS; i-- > SHOWN_BARE;) {
		struct text_buf *form = &r->shown.forms[i];
		if (!form->n)
			continue;
		text_char(form, 0);
		word = form->failed ? stored : form->v;
		break;
	}
	unsigned distance = distance_of(word, name, size);
	if (distance != UINT_MAX)
		keep_nearest(r, word, distance);
}

int nearest_names_find(struct nearest_names *r, const struct gsym_reader *reader, const char *name,
		       size_t size)
{
	struct function_info record;
	bool failed = false;
	for (uint32_t i = 0; i < reader->info.num_addresses && !failed; i++) {
		const char *stored = reader_parse_record(reader, i, &record, NULL)
					     ? NULL
					     : gsym_reader_string(reader, record.name);
		if (stored)
			try_name(r, stored, name, size);
		for (size_t k = 0; k < r->n; k++)
			failed |= r->name[k].failed;
	}
	return failed || r->shown.failed ? -ENOMEM : 0;
}

void nearest_names_append(struct text_buf *out, const struct nearest_names *nearest)
{
	for (size_t i = 0; i < nearest->n; i++) {
		text_str(out, i ? ", '" : nearest->n == 1 ? "; the nearest is '" : "; the nearest are '");
		escape_bytes(out, nearest->name[i].v, strlen(nearest->name[i].v), ESCAPE_TEXT);
		text_char(out, '\'');
	}
}

void nearest_names_deinit(struct nearest_names *nearest)
{
	shown_names_deinit(&nearest->shown);
	for (size_t i = 0; i < NEAREST_MAX; i++)
		text_deinit(&nearest->name[i]);
}

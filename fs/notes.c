#include "notes.h"

#include "../gsym/render/escape.h"
#include "handle.h"

enum { USES_MAX = 16 };

void note_oddity(struct text_buf *notes, const struct worker_oddity *m)
{
	if (notes->n > NOTES_MAX / 2)
		return; /* a worker that invents kinds without end */
	text_lit(notes, "skipped\t");
	text_dec(notes, m->count);
	text_char(notes, ' ');
	escape_str(notes, m->kind, ESCAPE_TSV);
	if (m->first[0]) {
		text_lit(notes, " (first: ");
		escape_str(notes, m->first, ESCAPE_TSV);
		text_char(notes, ')');
	}
	text_char(notes, '\n');
}

void note_missing(struct text_buf *notes, const struct worker_missing *m)
{
	if (notes->n > NOTES_MAX / 2)
		return;
	text_lit(notes, "missing\t");
	escape_str(notes, m->name, ESCAPE_TSV);
	text_char(notes, '\n');
}

/* Sections come last: they have the room that oddities and missing files leave. */
void note_section(struct text_buf *notes, const struct worker_section *m)
{
	if (notes->n > NOTES_MAX * 3 / 4)
		return;
	text_lit(notes, "section\t");
	escape_str(notes, m->name, ESCAPE_TSV);
	text_char(notes, ' ');
	text_addr(notes, m->addr);
	text_char(notes, ' ');
	text_dec(notes, m->size);
	text_char(notes, '\n');
}

/* For status, where not every one of a thousand .dwo files is of interest. */
void note_use(struct text_buf *notes, unsigned before, const char *path)
{
	if (before >= USES_MAX || notes->n > NOTES_MAX / 2)
		return;
	text_lit(notes, "uses\t");
	escape_str(notes, path, ESCAPE_TSV);
	text_char(notes, '\n');
}

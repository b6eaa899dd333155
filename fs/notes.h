/*
 * notes.h - what is written down about a conversion for the file status: "key<TAB>value" lines, escaped.
 *
 * Kept behind the converted image, see handle.h. Workers may send as much as they like; what does not fit is left
 * out.
 */
#ifndef FS_NOTES_H
#define FS_NOTES_H

#include "../convert/worker.h"
#include "../gsym/render/text_buf.h"

void note_oddity(struct text_buf *notes, const struct worker_oddity *m);
void note_missing(struct text_buf *notes, const struct worker_missing *m);
void note_section(struct text_buf *notes, const struct worker_section *m);

/* A neighbour was opened, as @before others were. */
void note_use(struct text_buf *notes, unsigned before, const char *path);

#endif

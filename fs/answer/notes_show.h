/*
 * notes_show.h - what notes.h has written down, shown as lines or as JSON.
 *
 * A cache file can say anything: keys nobody knows and values of another shape are left out of the JSON.
 */
#ifndef FS_ANSWER_NOTES_SHOW_H
#define FS_ANSWER_NOTES_SHOW_H

#include <stddef.h>

#include "fs/sys/sheet.h"

/* The lines as they are, without what could harm a terminal. */
void notes_to_lines(struct sheet *sheet, const char *notes, size_t size);

/* Counts as numbers, oddities and missing files as arrays of text, sections as an array of objects. */
void notes_to_json(struct sheet *sheet, const char *notes, size_t size);

#endif

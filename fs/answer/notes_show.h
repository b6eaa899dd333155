/*
 * notes_show.h - the notes of a conversion (notes.h) as lines or as JSON.
 *
 * Cache files are not trusted: unknown keys and malformed values are left out of the JSON.
 */
#ifndef FS_ANSWER_NOTES_SHOW_H
#define FS_ANSWER_NOTES_SHOW_H

#include <stddef.h>

#include "fs/sys/key_value.h"

/* The lines as they are, with '?' for control characters and bytes outside ASCII. */
void notes_to_lines(struct kv_writer *kv, const char *notes, size_t size);

/* Counts as numbers, warnings and missing files as arrays of text, sections as an array of objects. */
void notes_to_json(struct kv_writer *kv, const char *notes, size_t size);

#endif

/*
 * sheet.h - keys and values, as lines of "key<TAB>value" or as a JSON object on one line.
 *
 * A key may have several values: one line for each, or an array. Memory that runs short shows in out.failed.
 */
#ifndef FS_SYS_SHEET_H
#define FS_SYS_SHEET_H

#include <stdbool.h>
#include <stdint.h>

#include "gsym/base/text_buf.h"

struct sheet {
	struct text_buf out;
	bool json;
	bool begun;       /* something stands in the object */
	const char *list; /* the array that is open, or NULL */
};

void sheet_begin(struct sheet *sheet);
void sheet_end(struct sheet *sheet);

void sheet_text(struct sheet *sheet, const char *key, const char *value);
void sheet_number(struct sheet *sheet, const char *key, uint64_t value);

/* With two decimals. */
void sheet_seconds(struct sheet *sheet, const char *key, double value);

/* One of several values, those of a key one after the other. @key must live until sheet_end(). */
void sheet_item(struct sheet *sheet, const char *key, const char *value, size_t size);

/* The same in JSON for a value that the caller writes to sheet->out itself. */
void sheet_item_begin(struct sheet *sheet, const char *key);

#endif

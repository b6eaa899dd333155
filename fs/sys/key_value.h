/*
 * key_value.h - writes keys and values, as lines of "key<TAB>value" or as a JSON object on one line.
 *
 * A key may have several values: one line for each, or an array. Failed allocations set out.failed.
 */
#ifndef FS_SYS_KEY_VALUE_H
#define FS_SYS_KEY_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "gsym/base/text_buf.h"

struct kv_writer {
	struct text_buf out;
	bool json;
	bool begun;       /* the object has a member */
	const char *list; /* the array that is open, or NULL */
};

void kv_begin(struct kv_writer *kv);
void kv_end(struct kv_writer *kv);

void kv_text(struct kv_writer *kv, const char *key, const char *value);
void kv_number(struct kv_writer *kv, const char *key, uint64_t value);

/* With two decimals. */
void kv_seconds(struct kv_writer *kv, const char *key, double value);

/* One of several values of @key, which must be written consecutively. @key must live until kv_end(). */
void kv_item(struct kv_writer *kv, const char *key, const char *value, size_t size);

/* Likewise, in JSON only, before a value that the caller writes to kv->out itself. */
void kv_item_begin(struct kv_writer *kv, const char *key);

#endif

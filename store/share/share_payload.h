/*
 * share_payload.h - what objects of a store hold (store_object.h): conversions and failures.
 *
 * A conversion is a file of the cache (handle.h) under the name "<id>-<40 hex>", the beginning of the key of
 * the object, whose inputs are in the form of share_inputs.h, and whose notes name no neighbours, since these
 * have other paths elsewhere. A failure is text: a line "gsymfs-failure 1", a line with the message, and
 * inputs in the same form.
 */
#ifndef STORE_SHARE_SHARE_PAYLOAD_H
#define STORE_SHARE_SHARE_PAYLOAD_H

#include "work/cache/handle.h"
#include "store/client/store_key.h"
#include "gsym/base/text_buf.h"

enum { SHARED_FAILURE_MAX = 17 << 20 /* bytes; see INPUTS_MAX */ };

/* The name of a conversion as an entry. Pure. */
void share_entry_name(const struct store_key *key, const char *id, char ret[static CACHE_KEY_SIZE]);

/*
 * Writes the payload of a conversion to @fd, which is empty.
 *
 * @key, @id: of the object, and of the image
 * @inputs:   in the form of share_inputs.h
 *
 * 0, with its size; -EFAULT if the file of @handle was truncated; or the errno of writing.
 */
int share_payload_write(int fd, const struct store_key *key, const char *id, const struct handle *handle,
			struct span inputs, uint64_t *ret_size);

/* Appends the payload of a failure. */
void share_failure_write(struct text_buf *out, const char *message, struct span inputs);

/* Finds the parts of @payload: the message, NUL-terminated and printable, and inputs. 0 or -EBADMSG. */
int share_failure_read(struct span payload, char *ret_message, size_t size, struct span *ret_inputs);

#endif

/*
 * share_object.h - what objects of a store hold (store_object.h): conversions and failures, written by the
 * host that made them, and checked by one that takes them.
 *
 * A conversion is a file of the cache (handle.h) under the name "<id>-<40 hex>", the beginning of the key of
 * the object, whose inputs are in the form of share_inputs.h, and whose notes name no neighbours, since these
 * have other paths elsewhere. A failure is text: a line "gsymfs-failure 1", a line with the message, and
 * inputs in the same form.
 */
#ifndef STORE_SHARE_SHARE_OBJECT_H
#define STORE_SHARE_SHARE_OBJECT_H

#include "work/cache/failure_record.h"
#include "work/run/convert_job.h"
#include "store/share/share_facts.h"
#include "store/share/share_parts.h"

/*
 * Writes the object of @key to @fd, which is empty.
 *
 * @id:       of the image
 * @handle:   the conversion; NULL: a failure, whose message is @message
 * @inputs:   in the form of share_inputs.h
 * @ret_size: of the object
 *
 * 0; -EFAULT if the file of @handle was truncated; or as of object_write().
 */
int share_object_write(struct share *share, int fd, const struct store_key *key, const char *id,
		       const struct handle *handle, const char *message, struct span inputs,
		       uint64_t *ret_size, struct gsym_diag *diag);

enum { SHARED_FAILURE_MAX = 17 << 20 /* bytes of its payload; see INPUTS_MAX */ };

/* An object that the store has sent. Zero-initialise but for copy.fd, which is -1. */
struct share_found {
	struct cache_temp copy;          /* the process that received it can write to what it received */
	struct handle *handle;           /* the conversion; NULL: a failure */
	char message[FAILURE_TEXT_SIZE]; /* of that */
	struct text_buf inputs, notes;   /* as in the cache */
	bool alone;                      /* it depends on no neighbours */
};

void share_found_deinit(struct share_found *found, struct cache *cache);

/* The most bytes that an object of the files may have here. */
uint64_t share_found_size_max(const struct share_facts *facts, const struct cache *cache);

/*
 * Checks the object of @key in @fd.
 *
 * @reply: with which it came
 *
 * 0; -EBADMSG, -EPROTO, -EPERM as of object_check(); -ESTALE if neighbours are others here; -EXDEV if this
 * host searches elsewhere; -ETIME if it is a failure that is too old; or the errno of this machine.
 */
int share_found_check(struct share_found *found, struct share *share, const struct share_facts *facts,
		      const struct store_key *key, int fd, const struct store_reply *reply,
		      struct gsym_diag *diag);

/*
 * Makes it the outcome of @job, whose worker has ended. 0; -ESTALE if the object file has changed; -ENOMEM;
 * or the errno of the cache.
 */
int share_found_adopt(struct share_found *found, struct convert_job *job);

#endif

/*
 * failure_record.h - conversions that failed for good, so that they are not tried again after a restart.
 */
#ifndef WORK_CACHE_FAILURE_RECORD_H
#define WORK_CACHE_FAILURE_RECORD_H

#include "work/cache/cache.h"

enum { FAILURE_TEXT_SIZE = 512 };

/*
 * Records a permanent failure. An error is logged only: the conversion is then retried.
 *
 * @cache: open
 * @key: of the conversion
 * @err: with which it failed, a negative errno
 * @text: the message, of which FAILURE_TEXT_SIZE bytes are kept
 * @inputs: that it used or missed, as inputs.h has them
 */
void failure_record_store(struct cache *cache, const struct cache_key *key, int err, const char *text,
			  struct span inputs);
/*
 * The recorded failure of @key: a negative errno, with its message in @text and its inputs, NUL-terminated
 * and the caller's to free, in @ret_inputs; 0 if there is none.
 */
int failure_record_load(struct cache *cache, const struct cache_key *key, char text[FAILURE_TEXT_SIZE],
			char **ret_inputs);

#endif

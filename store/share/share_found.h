/* share_found.h - an object that the store has sent: checked, and adopted as the result of a conversion. */
#ifndef STORE_SHARE_SHARE_FOUND_H
#define STORE_SHARE_SHARE_FOUND_H

#include "work/cache/failure_record.h"
#include "work/run/convert_job.h"
#include "store/share/share_parts.h"
#include "store/share/share_facts.h"

/* Zero-initialise but for copy.fd, which is -1. */
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

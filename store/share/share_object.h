/*
 * share_object.h - the conversion of one object file in a store, for programs that end when they have it.
 *
 * @fd of each function is the object file of the request, which has no second file.
 */
#ifndef STORE_SHARE_SHARE_OBJECT_H
#define STORE_SHARE_SHARE_OBJECT_H

#include "work/run/converter.h"
#include "store/share/share_parts.h"
#include "store/client/store_key.h"

/* What it is named after. 0; or as of share_facts_key(). */
int share_object_key(const struct converter *converter, const struct convert_request *request, int fd,
		     struct store_key *ret);

/*
 * Takes it, and nothing else is done: nothing is converted, and nothing is put into the cache but temporary
 * files.
 *
 * @reply: how the store answered
 * @ret:   one reference; its inputs are in the portable form
 *
 * 0; -EIO with the message in @diag if the store has a failure; or as of struct store_reply and
 * share_found_check().
 */
int share_object_take(const struct converter *converter, const struct convert_request *request, int fd,
		      struct store_reply *reply, struct handle **ret, struct gsym_diag *diag);

/*
 * @handle, an entry of the cache, to be given, instead of what the store has if that is of no use to a host.
 *
 * 0; -EEXIST if the store has it, checked as by a host that takes it; or as of share_object_take().
 */
int share_object_offer(const struct converter *converter, const struct convert_request *request, int fd,
		       struct handle *handle, struct share_offer **ret, struct gsym_diag *diag);

#endif

/*
 * remote_conversions.h - revisions that another host converts, and when to look whether it has.
 *
 * They stay in STATE_CONVERTING, so that calls for addresses are answered by fragments meanwhile, but take no
 * thread.
 */
#ifndef FS_CONVERT_REMOTE_CONVERSIONS_H
#define FS_CONVERT_REMOTE_CONVERSIONS_H

#include "fs/images/images.h"
#include "gsym/base/vec.h"

struct converter;
struct share_turn;

struct remote_conversion {
	struct revision *rev;
	struct share_turn *turn; /* owned */
	int64_t due;             /* monotonic_ms() */
};

/* Guarded by images.lock. Zero-initialise. What is in it has a converter with a store. */
struct remote_conversions {
	VEC(struct remote_conversion) all;
};

void remote_conversions_deinit(struct remote_conversions *remote, const struct converter *c);

/* 0 or -ENOMEM. */
int remote_conversions_add(struct remote_conversions *remote, struct revision *rev, struct share_turn *turn,
			   int64_t due);

/* Has @rev, if it is there, looked for or converted as hurry() of the store says. */
void remote_conversions_hurry(struct remote_conversions *remote, const struct converter *c,
			      const struct revision *rev);

/* Takes the one that is due first. False, with the time when there is one, or INT64_MAX, if none is. */
bool remote_conversions_take(struct remote_conversions *remote, int64_t now, struct remote_conversion *ret,
			     int64_t *ret_until);

#endif

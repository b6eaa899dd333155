/*
 * elsewhere.h - revisions that another host converts, and when to look whether it has.
 *
 * They stay in STATE_CONVERTING, so that calls for addresses are answered by fragments meanwhile, but take no
 * thread.
 */
#ifndef FS_CONVERT_ELSEWHERE_H
#define FS_CONVERT_ELSEWHERE_H

#include "fs/images/images.h"
#include "gsym/base/vec.h"

struct share;
struct share_turn;

struct elsewhere_entry {
	struct revision *rev;
	struct share_turn *turn; /* owned */
	int64_t due;             /* monotonic_ms() */
};

/* Guarded by images.lock. Zero-initialise. */
struct elsewhere {
	VEC(struct elsewhere_entry) all;
};

void elsewhere_deinit(struct elsewhere *elsewhere, struct share *share);

/* 0 or -ENOMEM. */
int elsewhere_add(struct elsewhere *elsewhere, struct revision *rev, struct share_turn *turn, int64_t due);

/* Has @rev, if it is there, looked for or converted as share_turn_hurry() says. */
void elsewhere_hurry(struct elsewhere *elsewhere, const struct share *share, const struct revision *rev);

/* Takes the one that is due first. False, with the time when there is one, or INT64_MAX, if none is. */
bool elsewhere_take(struct elsewhere *elsewhere, int64_t now, struct elsewhere_entry *ret,
		    int64_t *ret_until);

#endif

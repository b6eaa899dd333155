/*
 * draft.h - content that takes longer to make than a thread that serves requests may be occupied.
 *
 * The call that needs it makes it in slices (slices.h), and owns the draft meanwhile: what an interrupted
 * call has made is freed with it. Memory of a draft counts as that of its user's open files.
 */
#ifndef FS_ANSWER_DRAFT_H
#define FS_ANSWER_DRAFT_H

#include "fs/answer/answers.h"
#include "fs/call/call.h"
#include "fs/call/slices.h"
#include "fs/sys/content.h"

struct draft;

struct draft_kind {
	/* A draft for the user who makes @req; NULL without memory. */
	struct draft *(*begin)(struct answers *answers, fuse_req_t req);
	/*
	 * Goes on until draft_is_late(): SLICE_USED_UP; 0 with the content in @ret when it is complete; or a
	 * negative errno, but not -EAGAIN. Keeps no pointers to images from one slice to the next.
	 */
	int (*go_on)(struct draft *draft, struct content **ret);
	/* Of its memory. */
	size_t (*bytes)(const struct draft *draft);
	void (*free)(struct draft *draft);
};

/* The first member of each kind's own struct; zero-initialized by begin(). */
struct draft {
	const struct draft_kind *kind;
	struct account *account; /* of the user who looks it up */
	size_t charged;
	struct slices slices;
};

/* Whether the slice is over; then the next one begins on a runner. */
bool draft_is_late(struct draft *draft);

/*
 * The content of this kind for @call: 0 with @ret; -EAGAIN with call->wait filled: to be attempted again by a
 * runner; -ENOMEM, also when the user holds too much; or the errno of the kind.
 */
int draft_content(struct call *call, struct answers *answers, const struct draft_kind *kind,
		  struct content **ret);

#endif

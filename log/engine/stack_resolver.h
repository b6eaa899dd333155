/*
 * stack_resolver.h - a stack of addresses resolved as a whole.
 *
 * Identical code folding leaves one body for several functions, and an address in it belongs to any of
 * them, but the call sites of the caller identify its callee. So a stack is resolved from the outermost frame
 * inwards, and each frame sets the expected callees of the next: those of the call site (gsym(5), "Call
 * sites") at its return address.
 *
 * - Call sites are found by the return address itself; functions, lines and inlined calls by the byte
 *   before it.
 * - Of several functions, those whose stored name equals an expected one are kept; if none does, those
 *   that an expected pattern matches as a regular expression; if none does, all.
 * - Among those kept, the one named in the log is preferred. A kernel log names an arbitrary symbol of
 *   several at an address, so call sites take precedence.
 * - A call site belongs to one of the merged functions. While several are kept, the call sites of all
 *   of them count.
 * - The flag "internal" excludes frames of other images from an expectation, "external" those of the
 *   same image.
 * - Interrupted code made no call: an exact address sets no expectation, at any position.
 * - A frame that cannot be resolved (no image, no function), or has no call site with callees there,
 *   leaves the expectation in place: it may be a library that calls back. In the caller's own image a
 *   function that was not expected ends it.
 */
#ifndef LOG_ENGINE_STACK_RESOLVER_H
#define LOG_ENGINE_STACK_RESOLVER_H

#include "gsym/base/vec.h"
#include "log/line/filter_types.h"

enum {
	RESOLVER_ANY_BODY = UINT32_MAX,
	STACK_FRAMES_MAX = 512,      /* of a stack; the caller splits longer ones */
	STACK_CANDIDATES_MAX = 4096, /* functions at one address that are considered */
};

struct resolver_frame {
	/* Input. */
	const struct gsym_reader *reader; /* NULL: the image is not known */
	uint64_t address;                 /* link-time */
	uint32_t which; /* the function that the log names, for when no call site decides; or
			 * RESOLVER_ANY_BODY
			 */
	uint8_t kind;   /* enum frame_pc */
	bool apart;     /* not part of the call chain: neither expected nor setting an expectation */
	bool outermost; /* the last of its stack: the frames after it are another's */
	/* Output. */
	int err;             /* 0; -ENOENT: in no function; -EBADMSG: the record is damaged */
	uint64_t looked_up;  /* of a return address, one within the call */
	uint32_t n_bodies;   /* functions that share the code */
	uint32_t first_kept; /* the first of those kept */
	uint32_t n_kept;     /* at least 1 if err is 0 */
};

struct stack_resolver;

struct stack_resolver *stack_resolver_new(void);
/* NULL is allowed. */
void stack_resolver_free(struct stack_resolver *resolver);

/*
 * Resolves @n frames, the innermost first, of one or several consecutive stacks, whose images stay open
 * until it returns. 0 or -ENOMEM. A frame that cannot be resolved is not an error.
 */
int stack_resolver_run(struct stack_resolver *resolver, struct resolver_frame *frames, size_t n);

/*
 * gsym_lookup_flags() for a candidate; its errnos.
 *
 * @resolver: as run for @frame
 * @frame: with err 0
 * @i: candidate, below n_kept
 * @flags: enum gsym_lookup_flags
 * @answer: written
 */
int stack_resolver_answer(const struct stack_resolver *resolver, const struct resolver_frame *frame,
			  uint32_t i, unsigned flags, struct gsym_answer *answer);

#endif

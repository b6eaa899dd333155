/*
 * held.h - lines that wait until their stack is whole, and which of their frames were called by which.
 *
 * Most logs have the frames of a stack on consecutive lines. Those of the Linux kernel have more of it:
 *
 *	[    5.1][  T123] RIP: 0010:func+0x12/0x40      the head: where the processor was,
 *	[    5.1][  T123] Code: 48 89 ...               what was in its registers,
 *	[    5.1][  T123] Call Trace:
 *	[    5.1][  T123]  <TASK>
 *	[    5.1][  T123]  caller+0x12/0x40             and who called it.
 *
 * Processors that report at the same time mix their lines, and what is behind the time tells them apart. So
 *what is held may be several chains of calls. The head may be told again, once more as a head or as the first
 *frame of the trace.
 */
#ifndef GSYM_FILTER_HELD_H
#define GSYM_FILTER_HELD_H

#include "gsym/filter/log_format.h"

enum {
	CHAINS_MAX = 32,      /* open at a time */
	CHAIN_QUIET_MAX = 64, /* lines that are held behind the last frame of a chain, for another one */
};

struct held_line {
	size_t off, size; /* in the text */
	size_t first, n;  /* of its frames */
};

/* Frames that called each other, and more may come. */
struct chain {
	uint64_t thread;
	uint32_t number;
	uint32_t last; /* frame */
	uint32_t head; /* the frame that is the head, while no other was there; else FRAME_NONE */
	uint32_t head_line;
	uint32_t quiet; /* lines since the last frame */
	bool open;
};

struct held {
	const struct format *format;
	struct text_buf text;
	VEC(struct held_line) lines;
	VEC(struct frame) frames;
	struct chain chains[CHAINS_MAX];
	uint32_t n_open;   /* chains[] that are or were open */
	uint32_t n_chains; /* that frames belong to */
};

void held_deinit(struct held *held);
size_t held_memory(const struct held *held);

/* Nothing is held. */
void held_reset(struct held *held);

/* Whether the line with the @n @frames of @format goes on with what is held. */
bool held_continues(const struct held *held, const struct format *format, const char *line, size_t size,
		    const struct frame *frames, size_t n);

/* Whether more of what is held may follow behind the line, which has no frames. @text: without what ends it.
 */
bool held_spans(const struct held *held, struct scan text, size_t size);

/* Holds the line, and sets @chain and @same of its frames. 0 or -ENOMEM. */
int held_add(struct held *held, const struct format *format, const char *line, size_t size,
	     const struct frame *frames, size_t n);

/* Holds one without frames, of which held_spans() is true. */
int held_add_gap(struct held *held, struct scan text, const char *line, size_t size);

#endif

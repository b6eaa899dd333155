/*
 * stack_buffer.h - lines that wait until their stack is whole, and which of their frames were called by
 *which.
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
#ifndef GSYM_FILTER_STACK_BUFFER_H
#define GSYM_FILTER_STACK_BUFFER_H

#include "gsym/filter/log_format.h"

enum {
	CHAINS_MAX = 32,      /* open at a time */
	CHAIN_QUIET_MAX = 64, /* lines that are held behind the last frame of a chain, for another one */
};

struct buffered_line {
	size_t off, size; /* in the text */
	size_t first, n;  /* of its frames */
};

/* Frames that called each other, and more may come. */
struct call_chain {
	uint64_t thread;
	uint32_t number;
	uint32_t last; /* frame */
	uint32_t head; /* the frame that is the head, while no other was there; else FRAME_NONE */
	uint32_t head_line;
	uint32_t quiet; /* lines since the last frame */
	bool open;
};

struct stack_buffer {
	const struct log_format *format;
	struct text_buf text;
	VEC(struct buffered_line) lines;
	VEC(struct log_frame) frames;
	struct call_chain chains[CHAINS_MAX];
	uint32_t n_open;   /* chains[] that are or were open */
	uint32_t n_chains; /* that frames belong to */
};

void stack_buffer_deinit(struct stack_buffer *buffer);
size_t stack_buffer_memory(const struct stack_buffer *buffer);

/* Nothing is held. */
void stack_buffer_reset(struct stack_buffer *buffer);

/* Whether the line with the @n @frames of @format goes on with what is held. */
bool stack_buffer_continues(const struct stack_buffer *buffer, const struct log_format *format,
			    const char *line, size_t size, const struct log_frame *frames, size_t n);

/* Whether more of what is held may follow behind the line, which has no frames. @text: without what ends it.
 */
bool stack_buffer_spans(const struct stack_buffer *buffer, struct text_scan text, size_t size);

/* Holds the line, and sets @chain and @same of its frames. 0 or -ENOMEM. */
int stack_buffer_add(struct stack_buffer *buffer, const struct log_format *format, const char *line,
		     size_t size, const struct log_frame *frames, size_t n);

/* Holds one without frames, of which stack_buffer_spans() is true. */
int stack_buffer_add_gap(struct stack_buffer *buffer, struct text_scan text, const char *line, size_t size);

#endif

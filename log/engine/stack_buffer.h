/*
 * stack_buffer.h - lines buffered until their stack is complete, and the call chains their frames form.
 *
 * Most logs have the frames of a stack on consecutive lines. The Linux kernel prints other lines between
 * them:
 *
 *	[    5.1][  T123] RIP: 0010:func+0x12/0x40      the head: the program counter,
 *	[    5.1][  T123] Code: 48 89 ...               registers,
 *	[    5.1][  T123] Call Trace:
 *	[    5.1][  T123]  <TASK>
 *	[    5.1][  T123]  caller+0x12/0x40             and the callers.
 *
 * CPUs that report at the same time interleave their lines, and the field after the time stamp identifies
 * them. So the buffer may hold several call chains. The head may be repeated, as another head or as the
 * first frame of the trace.
 */
#ifndef LOG_ENGINE_STACK_BUFFER_H
#define LOG_ENGINE_STACK_BUFFER_H

#include "log/engine/stack_resolver.h"
#include "log/line/log_format.h"

enum {
	CHAINS_MAX = 32,      /* open at a time */
	CHAIN_QUIET_MAX = 64, /* lines after the last frame of a chain before it is closed */
};

struct buffered_line {
	size_t off, size; /* in the text */
	size_t first, n;  /* of its frames */
};

struct buffered_frame {
	struct log_frame is;
	uint32_t chain; /* number of its call chain */
	uint32_t same;  /* a later frame of that chain for the same address, or FRAME_NONE */
	/* Set when the stack is resolved. */
	int image_err;  /* why there is no image */
	bool several;   /* functions have its name */
	bool misnamed;  /* its line names another function than the image has there */
	bool ambiguous; /* see image_address_is_ambiguous() */
	bool unplaced;  /* its offset needs segments that the image lacks */
	bool unnamed;   /* no function has its name */
	bool stripped;  /* its image has functions without lines alone, as of symbols */
	bool changed;   /* its line has got an answer */
	uint8_t cause;  /* enum filter_cause, for records */
	bool listed;    /* among those that were not explained */
};

/* Frames that called each other; more may follow. */
struct call_chain {
	uint64_t thread;
	uint32_t number;
	uint32_t last; /* frame */
	uint32_t head; /* the frame of the head, until a caller follows; else FRAME_NONE */
	uint32_t head_line;
	uint32_t quiet; /* lines since the last frame */
	bool open;
};

struct stack_buffer {
	const struct log_format *format;
	struct text_buf text;
	VEC(struct buffered_line) lines;
	VEC(struct buffered_frame) frames;
	struct call_chain chains[CHAINS_MAX];
	uint32_t n_open;   /* entries of chains[] in use, open or closed */
	uint32_t n_chains; /* numbers given to chains since the reset */
};

void stack_buffer_deinit(struct stack_buffer *buffer);
size_t stack_buffer_memory(const struct stack_buffer *buffer);

/* Empties the buffer. */
void stack_buffer_reset(struct stack_buffer *buffer);

/*
 * Whether a line continues the buffered stacks, and there is space for it.
 *
 * @buffer: the lines before
 * @format: the log format that found the frames
 * @line, @size: the line, bytes
 * @frames, @n: its frames, at least one
 */
bool stack_buffer_continues(const struct stack_buffer *buffer, const struct log_format *format,
			    const char *line, size_t size, const struct log_frame *frames, size_t n);

/*
 * Whether more frames of the buffered stacks may follow the line, which has none. @text: without the line
 * ending.
 */
bool stack_buffer_spans(const struct stack_buffer *buffer, struct text_scan text, size_t size);

/*
 * Buffers the line, and sets @chain and @same of its frames.
 *
 * @buffer: for which stack_buffer_continues() is true, or which is empty
 * @format: the log format that found the frames
 * @line, @size: the line, bytes
 * @frames, @n: its frames, at least one
 *
 * 0 or -ENOMEM.
 */
int stack_buffer_add(struct stack_buffer *buffer, const struct log_format *format, const char *line,
		     size_t size, const struct log_frame *frames, size_t n);

/* Buffers a line without frames for which stack_buffer_spans() is true. */
int stack_buffer_add_gap(struct stack_buffer *buffer, struct text_scan text, const char *line, size_t size);

#endif

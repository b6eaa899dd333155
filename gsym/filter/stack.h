/*
 * stack.h - consecutive lines with frames, held until all of them are there, then resolved and written together.
 */
#ifndef GSYM_FILTER_STACK_H
#define GSYM_FILTER_STACK_H

#include "format.h"

struct stack_line {
	size_t off, size; /* in the stack's text */
	size_t first, n;  /* of its frames */
};

struct stack {
	const struct format *format;
	struct text_buf text;
	VEC(struct stack_line) lines;
	VEC(struct frame) frames;
	/* While it is resolved. */
	VEC(struct walk_frame) walked;
	VEC(struct filter_image) images; /* of each frame; reader NULL: none */
	struct walk *walk;
	struct filter_counts counts;
	struct gsym_answer answer;
};

int stack_init(struct stack *stack);
void stack_deinit(struct stack *stack);
size_t stack_memory(const struct stack *stack);

/* Whether a line with the @n @frames of @format goes on with what is held. */
bool stack_continues(const struct stack *stack, const struct format *format, const struct frame *frames, size_t n,
		     size_t size);

/* Holds the line. 0 or -ENOMEM. */
int stack_add(struct stack *stack, const struct format *format, const char *line, size_t size, const struct frame *frames,
	      size_t n);

/* Resolves what is held, appends it to @out, and holds nothing. 0; -EAGAIN and -ENOMEM, after which all is still held. */
int stack_settle(struct stack *stack, const struct filter_images *images, const struct filter_options *options,
		 struct text_buf *out);

#endif

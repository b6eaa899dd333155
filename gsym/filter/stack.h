/*
 * stack.h - the stacks that are held, resolved and written together.
 */
#ifndef GSYM_FILTER_STACK_H
#define GSYM_FILTER_STACK_H

#include "gsym/filter/held.h"

struct stack {
	struct held held;
	/* While it is resolved. */
	VEC(struct filter_image) images; /* of each frame; reader NULL: none */
	VEC(struct walk_frame) resolved; /* of each frame */
	VEC(struct walk_frame) walked;   /* the same, in the order of calls */
	struct walk *walk;
	struct filter_counts counts;
	struct gsym_answer answer;
};

int stack_init(struct stack *stack);
void stack_deinit(struct stack *stack);
size_t stack_memory(const struct stack *stack);

/* Tells frames of a kernel without an id, which were held before a line had it. */
void stack_set_kernel(struct stack *stack, const struct filter_module *kernel);

/* Resolves what is held, appends it to @out, and holds nothing. 0; -EAGAIN and -ENOMEM, after which all is
 * still held. */
int stack_settle(struct stack *stack, const struct filter_images *images,
		 const struct filter_options *options, struct text_buf *out);

#endif

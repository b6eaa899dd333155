/* pending_stack.h - the buffered stacks, which are resolved and written together. */
#ifndef LOG_ENGINE_PENDING_STACK_H
#define LOG_ENGINE_PENDING_STACK_H

#include "log/engine/build_evidence.h"
#include "log/engine/stack_buffer.h"

struct pending_stack {
	struct stack_buffer buffer;
	/* Scratch of pending_stack_flush(). */
	VEC(struct filter_image) images;     /* of each frame; reader NULL: none */
	VEC(struct resolver_frame) resolved; /* of each frame */
	VEC(struct resolver_frame) ordered;  /* the same, in the order of calls */
	struct stack_resolver *resolver;
	struct filter_counts counts;
	/* What was left as it is, by module and cause, in the order of the first frames. */
	VEC(struct filter_unexplained) unexplained;
	struct build_evidence evidence;
	struct gsym_answer answer;
};

int pending_stack_init(struct pending_stack *stack);
void pending_stack_deinit(struct pending_stack *stack);
size_t pending_stack_memory(const struct pending_stack *stack);

/* Sets the module of kernel frames that were buffered before a line gave the build id. */
void pending_stack_set_kernel(struct pending_stack *stack, const struct filter_module *kernel);

/*
 * Resolves and appends what is buffered to @out, and empties the buffer. 0; -EAGAIN and -ENOMEM, after
 * which the buffer is unchanged.
 */
int pending_stack_flush(struct pending_stack *stack, const struct filter_images *images,
			const struct filter_options *options, struct text_buf *out);

#endif

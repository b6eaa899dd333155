#include "stack.h"

#include <errno.h>

#include "../names.h"
#include "../reader.h"
#include "place.h"

enum {
	SAME_NAME_MAX = 4096, /* functions of one name looked at */
	/* The kernel takes the distance to the next symbol for a size, so padding counts. */
	PADDING_MAX = 64,
};

int stack_init(struct stack *stack)
{
	stack->walk = walk_new();
	return stack->walk ? 0 : -ENOMEM;
}

void stack_deinit(struct stack *stack)
{
	text_deinit(&stack->text);
	vec_free(&stack->lines);
	vec_free(&stack->frames);
	vec_free(&stack->walked);
	vec_free(&stack->images);
	walk_free(stack->walk);
	gsym_answer_deinit(&stack->answer);
}

size_t stack_memory(const struct stack *stack)
{
	return stack->text.cap + stack->lines.cap * sizeof(*stack->lines.v) + stack->frames.cap * sizeof(*stack->frames.v) +
	       stack->walked.cap * sizeof(*stack->walked.v) + stack->images.cap * sizeof(*stack->images.v);
}

/* ---- Holding ---- */

bool stack_continues(const struct stack *stack, const struct format *format, const struct frame *frames, size_t n,
		     size_t size)
{
	if (!stack->lines.n || stack->format != format || n != 1 || stack->lines.v[stack->lines.n - 1].n != 1 ||
	    stack->frames.n >= WALK_FRAMES_MAX || stack->text.n + size > FILTER_STACK_BYTES)
		return false;
	const struct frame *last = &stack->frames.v[stack->frames.n - 1];
	if (last->style != frames->style || last->has_number != frames->has_number)
		return false;
	return !last->has_number || frames->number == last->number || frames->number == last->number + 1;
}

int stack_add(struct stack *stack, const struct format *format, const char *line, size_t size, const struct frame *frames,
	      size_t n)
{
	struct stack_line held = {.off = stack->text.n, .size = size, .first = stack->frames.n, .n = n};
	if (vec_reserve(&stack->frames, n) || vec_reserve(&stack->lines, 1) || !text_reserve(&stack->text, size))
		return -ENOMEM;
	stack->format = format;
	memcpy(stack->frames.v + stack->frames.n, frames, n * sizeof(*frames));
	for (size_t i = 0; n > 1 && i < n; i++)
		stack->frames.v[stack->frames.n + i].apart = true;
	stack->frames.n += n;
	stack->lines.v[stack->lines.n++] = held;
	text_bytes(&stack->text, line, size);
	return 0;
}

/* ---- Images ---- */

static bool is_same_module(const struct filter_module *a, const struct filter_module *b)
{
	return strcmp(a->id, b->id) == 0 && strcmp(a->name, b->name) == 0;
}

/* The frame before @i with the same module, or @i. */
static size_t find_same(const struct stack *stack, size_t i)
{
	for (size_t k = i; k-- > 0;)
		if (is_same_module(&stack->frames.v[k].module, &stack->frames.v[i].module))
			return k;
	return i;
}

static int find_image(struct stack *stack, const struct filter_images *images, size_t i, bool *ret_wait)
{
	const struct frame *frame = &stack->frames.v[i];
	struct filter_image *image = &stack->images.v[i];
	*image = (struct filter_image){.reader = NULL};
	size_t same = find_same(stack, i);
	if (same != i || frame->style == STYLE_SYMBOL) {
		*image = same != i ? stack->images.v[same] : *image;
		return 0;
	}
	int err = images->find(images->user, &frame->module, image);
	*ret_wait |= err == -EAGAIN;
	if (err)
		image->reader = NULL;
	return err == -ENOMEM ? err : 0;
}

/* All of them are asked for, so that they can be made at the same time. */
static int find_images(struct stack *stack, const struct filter_images *images)
{
	bool wait = false;
	int err = 0;
	if (vec_reserve(&stack->images, stack->frames.n))
		return -ENOMEM;
	for (size_t i = 0; !err && i < stack->frames.n; i++)
		err = find_image(stack, images, i, &wait);
	return err ? err : wait ? -EAGAIN : 0;
}

/* ---- Addresses ---- */

/* How well a function fits what the log says of its size: 2, 1, or 0 for not at all. */
static unsigned fit(const struct name_hit *hit, const struct frame *frame)
{
	if (!frame->symbol_size || hit->size == frame->symbol_size)
		return 2;
	return frame->symbol_size > hit->size && frame->symbol_size - hit->size < PADDING_MAX;
}

/*
 * The function of that name, if there is just one that fits best. What follows may be further away than padding; but a
 * function that is larger than the log says is that of another build.
 */
static bool find_function(const struct gsym_reader *reader, const char *name, size_t size, const struct frame *frame,
			  struct name_hit *ret, int *ret_err)
{
	struct name_search search;
	struct name_hit hit;
	unsigned best = 0, of_best = 0, seen = 0;
	*ret_err = name_search_begin(&search, reader, name, size);
	while (!*ret_err && seen < SAME_NAME_MAX && name_search_next(&search, &hit)) {
		unsigned fits = fit(&hit, frame);
		if (!seen++ || fits > best) {
			*ret = hit;
			best = fits;
			of_best = 0;
		}
		of_best += fits == best;
	}
	return of_best == 1 && (best || ret->size < frame->symbol_size);
}

static int locate_name(const struct stack *stack, const struct stack_line *line, const struct frame *frame,
		       struct walk_frame *ret)
{
	struct name_hit hit = {0};
	int err;
	if (!find_function(ret->reader, stack->text.v + line->off + frame->symbol_from, frame->symbol_to - frame->symbol_from,
			   frame, &hit, &err)) {
		ret->reader = NULL;
		return err;
	}
	ret->which = hit.which;
	ret->address = gsym_reader_address(ret->reader, hit.index) + frame->address;
	return 0;
}

static int locate(struct stack *stack, const struct stack_line *line, size_t i)
{
	const struct frame *frame = &stack->frames.v[i];
	const struct filter_image *image = &stack->images.v[i];
	struct walk_frame *ret = &stack->walked.v[i];
	*ret = (struct walk_frame){
		.reader = image->reader,
		.address = frame->address,
		.which = WALK_ANY_BODY,
		.kind = frame->kind,
		.apart = frame->apart,
	};
	if (ret->reader && frame->space == FRAME_RVA && __builtin_add_overflow(ret->address, image->base, &ret->address))
		ret->reader = NULL;
	return ret->reader && frame->space == FRAME_NAME ? locate_name(stack, line, frame, ret) : 0;
}

static int locate_all(struct stack *stack)
{
	if (vec_reserve(&stack->walked, stack->frames.n))
		return -ENOMEM;
	for (size_t k = 0; k < stack->lines.n; k++) {
		const struct stack_line *line = &stack->lines.v[k];
		for (size_t i = line->first; i < line->first + line->n; i++)
			if (locate(stack, line, i))
				return -ENOMEM;
	}
	return 0;
}

static void count(struct stack *stack)
{
	for (size_t i = 0; i < stack->frames.n; i++) {
		stack->counts.met += stack->frames.v[i].style != STYLE_SYMBOL;
		stack->counts.found += !stack->walked.v[i].err;
	}
}

int stack_settle(struct stack *stack, const struct filter_images *images, const struct filter_options *options,
		 struct text_buf *out)
{
	if (!stack->lines.n)
		return 0;
	int err = find_images(stack, images);
	if (!err)
		err = locate_all(stack);
	if (!err)
		err = walk_stack(stack->walk, stack->walked.v, stack->frames.n);
	if (err)
		return err;
	count(stack);
	for (size_t i = 0; i < stack->lines.n; i++) {
		const struct stack_line *line = &stack->lines.v[i];
		struct place_line place = {
			.text = stack->text.v + line->off,
			.size = line->size,
			.frames = stack->frames.v + line->first,
			.resolved = stack->walked.v + line->first,
			.n = line->n,
		};
		place_write(out, &place, stack->walk, &stack->answer, options->demangle);
	}
	stack->lines.n = stack->frames.n = stack->text.n = 0;
	return out->failed ? -ENOMEM : 0;
}

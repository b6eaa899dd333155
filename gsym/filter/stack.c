#include "gsym/filter/stack.h"

#include <errno.h>

#include "gsym/read/names.h"
#include "gsym/read/reader.h"
#include "gsym/filter/place.h"

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
	held_deinit(&stack->held);
	vec_free(&stack->walked);
	vec_free(&stack->resolved);
	vec_free(&stack->images);
	walk_free(stack->walk);
	gsym_answer_deinit(&stack->answer);
}

size_t stack_memory(const struct stack *stack)
{
	return held_memory(&stack->held) + stack->walked.cap * sizeof(*stack->walked.v) +
	       stack->resolved.cap * sizeof(*stack->resolved.v) +
	       stack->images.cap * sizeof(*stack->images.v);
}

/* ---- Images ---- */

void stack_set_kernel(struct stack *stack, const struct filter_module *kernel)
{
	for (size_t i = 0; i < stack->held.frames.n; i++) {
		struct frame *frame = &stack->held.frames.v[i];
		if (frame->style == STYLE_KERNEL && !frame->module.id[0] &&
		    strcmp(frame->module.name, kernel->name) == 0)
			frame->module = *kernel;
	}
}

static bool is_same_module(const struct filter_module *a, const struct filter_module *b)
{
	return strcmp(a->id, b->id) == 0 && strcmp(a->name, b->name) == 0 && a->is_kernel == b->is_kernel &&
	       a->needs_names == b->needs_names;
}

/* The frame before @i with the same module, or @i. */
static size_t find_same(const struct stack *stack, size_t i)
{
	for (size_t k = i; k-- > 0;)
		if (is_same_module(&stack->held.frames.v[k].module, &stack->held.frames.v[i].module))
			return k;
	return i;
}

static int find_image(struct stack *stack, const struct filter_images *images, size_t i, bool *ret_wait)
{
	struct frame *frame = &stack->held.frames.v[i];
	struct filter_image *image = &stack->images.v[i];
	frame->module.needs_names = frame->space == FRAME_NAME;
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
	if (vec_reserve(&stack->images, stack->held.frames.n))
		return -ENOMEM;
	for (size_t i = 0; !err && i < stack->held.frames.n; i++)
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
 * The function of that name, if there is just one that fits best. What follows may be further away than
 * padding; but a function that is larger than the log says is that of another build.
 */
static bool find_function(const struct gsym_reader *reader, const char *name, size_t size,
			  const struct frame *frame, struct name_hit *ret, int *ret_err)
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

static int locate_name(const struct stack *stack, const struct held_line *line, const struct frame *frame,
		       struct walk_frame *ret)
{
	struct name_hit hit = {0};
	int err;
	if (!find_function(ret->reader, stack->held.text.v + line->off + frame->symbol_from,
			   frame->symbol_to - frame->symbol_from, frame, &hit, &err)) {
		ret->reader = NULL;
		return err;
	}
	ret->which = hit.which;
	ret->address = gsym_reader_address(ret->reader, hit.index) + frame->address;
	return 0;
}

static int locate(struct stack *stack, const struct held_line *line, size_t i)
{
	const struct frame *frame = &stack->held.frames.v[i];
	const struct filter_image *image = &stack->images.v[i];
	struct walk_frame *ret = &stack->resolved.v[i];
	*ret = (struct walk_frame){
		.reader = image->reader,
		.address = frame->address,
		.which = WALK_ANY_BODY,
		.kind = frame->kind,
		.apart = frame->apart,
	};
	if (ret->reader && frame->space == FRAME_RVA &&
	    __builtin_add_overflow(ret->address, image->base, &ret->address))
		ret->reader = NULL;
	return ret->reader && frame->space == FRAME_NAME ? locate_name(stack, line, frame, ret) : 0;
}

static int locate_all(struct stack *stack)
{
	if (vec_reserve(&stack->resolved, stack->held.frames.n))
		return -ENOMEM;
	for (size_t k = 0; k < stack->held.lines.n; k++) {
		const struct held_line *line = &stack->held.lines.v[k];
		for (size_t i = line->first; i < line->first + line->n; i++)
			if (locate(stack, line, i))
				return -ENOMEM;
	}
	return 0;
}

/* ---- Resolving ---- */

/* Goes over the frames that are walked, one chain after the other, and moves them to @stack->walked or, if
 * @back, back again. */
static void move_frames(struct stack *stack, bool back)
{
	const struct held *held = &stack->held;
	size_t n = 0;
	for (uint32_t chain = 0; chain < held->n_chains; chain++) {
		for (size_t i = 0; i < held->frames.n; i++) {
			if (held->frames.v[i].chain != chain || held->frames.v[i].same != FRAME_NONE)
				continue;
			if (back)
				stack->resolved.v[i] = stack->walked.v[n++];
			else
				stack->walked.v[n++] = stack->resolved.v[i];
		}
		if (n)
			stack->walked.v[n - 1].outermost = true;
	}
	stack->walked.n = n;
}

static int walk(struct stack *stack)
{
	const struct held *held = &stack->held;
	if (vec_reserve(&stack->walked, held->frames.n))
		return -ENOMEM;
	move_frames(stack, false);
	int err = walk_stack(stack->walk, stack->walked.v, stack->walked.n);
	if (err)
		return err;
	move_frames(stack, true);
	for (size_t i = held->frames.n; i-- > 0;)
		if (held->frames.v[i].same != FRAME_NONE)
			stack->resolved.v[i] = stack->resolved.v[held->frames.v[i].same];
	return 0;
}

static void count(struct stack *stack)
{
	for (size_t i = 0; i < stack->held.frames.n; i++) {
		stack->counts.met += stack->held.frames.v[i].style != STYLE_SYMBOL;
		stack->counts.found += !stack->resolved.v[i].err;
	}
}

static void write(struct stack *stack, const struct filter_options *options, struct text_buf *out)
{
	for (size_t i = 0; i < stack->held.lines.n; i++) {
		const struct held_line *line = &stack->held.lines.v[i];
		struct place_line place = {
			.text = stack->held.text.v + line->off,
			.size = line->size,
			.frames = stack->held.frames.v + line->first,
			.resolved = stack->resolved.v + line->first,
			.images = stack->images.v + line->first,
			.n = line->n,
		};
		place_write(out, &place, stack->walk, &stack->answer, options);
	}
}

int stack_settle(struct stack *stack, const struct filter_images *images,
		 const struct filter_options *options, struct text_buf *out)
{
	if (!stack->held.lines.n)
		return 0;
	int err = find_images(stack, images);
	if (!err)
		err = locate_all(stack);
	if (!err)
		err = walk(stack);
	if (err)
		return err;
	count(stack);
	write(stack, options, out);
	held_reset(&stack->held);
	return out->failed ? -ENOMEM : 0;
}

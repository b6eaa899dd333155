#include "gsym/filter/held.h"

#include <string.h>

void held_deinit(struct held *held)
{
	text_deinit(&held->text);
	vec_free(&held->lines);
	vec_free(&held->frames);
}

size_t held_memory(const struct held *held)
{
	return held->text.cap + held->lines.cap * sizeof(*held->lines.v) +
	       held->frames.cap * sizeof(*held->frames.v);
}

void held_reset(struct held *held)
{
	text_reset(&held->text);
	held->lines.n = held->frames.n = 0;
	held->n_open = held->n_chains = 0;
}

/* ---- Chains ---- */

static struct chain *find(struct held *held, uint64_t thread)
{
	for (size_t i = 0; i < held->n_open; i++)
		if (held->chains[i].open && held->chains[i].thread == thread)
			return &held->chains[i];
	return NULL;
}

static const struct chain *find_const(const struct held *held, uint64_t thread)
{
	return find((struct held *)held, thread);
}

/* Whether both are the same offset in the same symbol. */
static bool is_same_place(const struct frame *a, const char *line_of_a, const struct frame *b,
			  const char *line_of_b)
{
	size_t size = a->symbol_to - a->symbol_from;
	return a->space == FRAME_NAME && b->space == FRAME_NAME && a->address == b->address &&
	       a->symbol_size == b->symbol_size && size == b->symbol_to - b->symbol_from &&
	       memcmp(line_of_a + a->symbol_from, line_of_b + b->symbol_from, size) == 0;
}

static bool repeats_head(const struct held *held, const struct chain *chain, const char *line,
			 const struct frame *frame)
{
	return chain->head != FRAME_NONE && !frame->apart &&
	       is_same_place(&held->frames.v[chain->head], held->text.v + held->lines.v[chain->head_line].off,
			     frame, line);
}

static bool continues(const struct held *held, const struct chain *chain, const char *line,
		      const struct frame *next)
{
	const struct frame *last = &held->frames.v[chain->last];
	if (last->style != next->style || last->has_number != next->has_number)
		return false;
	if (next->head)
		return repeats_head(held, chain, line, next);
	return !last->has_number || next->number == last->number || next->number == last->number + 1;
}

/* Whether a chain but @except is open and stays so one line more. */
static bool is_open(const struct held *held, const struct chain *except)
{
	for (size_t i = 0; i < held->n_open; i++)
		if (&held->chains[i] != except && held->chains[i].open &&
		    held->chains[i].quiet < CHAIN_QUIET_MAX)
			return true;
	return false;
}

/* Another line is held. */
static void pass(struct held *held)
{
	for (size_t i = 0; i < held->n_open; i++)
		if (++held->chains[i].quiet > CHAIN_QUIET_MAX)
			held->chains[i].open = false;
}

static struct chain *begin(struct held *held, uint64_t thread)
{
	struct chain *chain = held->chains;
	while (chain < held->chains + held->n_open && chain->open)
		chain++; /* not to the end: held_continues() lets no more be made */
	if (chain == held->chains + held->n_open)
		held->n_open++;
	*chain = (struct chain){
		.thread = thread, .number = held->n_chains++, .head = FRAME_NONE, .open = true};
	return chain;
}

/* Links the frame added last, that of the line added last. */
static void link_frame(struct held *held)
{
	uint32_t index = (uint32_t)held->frames.n - 1, line_index = (uint32_t)held->lines.n - 1;
	struct frame *frame = &held->frames.v[index];
	const char *line = held->text.v + held->lines.v[line_index].off;
	struct chain *chain = find(held, frame->thread);
	if (chain && !continues(held, chain, line, frame)) {
		chain->open = false;
		chain = NULL;
	}
	if (!chain)
		chain = begin(held, frame->thread);
	else if (repeats_head(held, chain, line, frame)) {
		held->frames.v[chain->head].same = index;
		frame->kind = WALK_EXACT;
	}
	if (!frame->apart) {
		chain->head = frame->head ? index : FRAME_NONE;
		chain->head_line = line_index;
	}
	chain->last = index;
	chain->quiet = 0;
	frame->chain = chain->number;
}

/* ---- Lines ---- */

static bool has_room(const struct held *held, size_t size)
{
	return held->frames.n < WALK_FRAMES_MAX && held->text.n + size <= FILTER_STACK_BYTES;
}

bool held_continues(const struct held *held, const struct format *format, const char *line, size_t size,
		    const struct frame *frames, size_t n)
{
	if (!held->lines.n || held->format != format || n != 1 || !has_room(held, size))
		return false;
	const struct chain *chain = find_const(held, frames->thread);
	if (chain && continues(held, chain, line, frames))
		return true;
	return is_open(held, chain) && held->n_chains < CHAINS_MAX;
}

static bool ends(const struct chain *chain, enum gap gap)
{
	return gap == GAP_ENDS || (gap == GAP_HEAD && chain->head == FRAME_NONE);
}

bool held_spans(const struct held *held, struct scan text, size_t size)
{
	uint64_t thread;
	if (!held->lines.n || !held->format || !held->format->gap || !has_room(held, size))
		return false;
	enum gap gap = held->format->gap(text, &thread);
	const struct chain *chain = find_const(held, thread);
	return is_open(held, chain && ends(chain, gap) ? chain : NULL);
}

static int add_line(struct held *held, const char *line, size_t size, size_t n_frames)
{
	struct held_line added = {.off = held->text.n, .size = size, .first = held->frames.n, .n = n_frames};
	if (vec_reserve(&held->lines, 1) || !text_reserve(&held->text, size))
		return -ENOMEM;
	held->lines.v[held->lines.n++] = added;
	text_bytes(&held->text, line, size);
	return 0;
}

int held_add(struct held *held, const struct format *format, const char *line, size_t size,
	     const struct frame *frames, size_t n)
{
	if (vec_reserve(&held->frames, n) || add_line(held, line, size, n))
		return -ENOMEM;
	held->format = format;
	pass(held);
	for (size_t i = 0; i < n; i++) {
		struct frame *frame = &held->frames.v[held->frames.n++];
		*frame = frames[i];
		frame->same = FRAME_NONE;
		if (n == 1)
			link_frame(held);
		else
			frame->apart = true;
	}
	held->n_chains += n > 1;
	return 0;
}

int held_add_gap(struct held *held, struct scan text, const char *line, size_t size)
{
	uint64_t thread;
	enum gap gap = held->format->gap(text, &thread);
	struct chain *chain = find(held, thread);
	if (chain && ends(chain, gap))
		chain->open = false;
	pass(held);
	return add_line(held, line, size, 0);
}

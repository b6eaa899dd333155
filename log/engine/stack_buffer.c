#include "log/engine/stack_buffer.h"

#include <string.h>

void stack_buffer_deinit(struct stack_buffer *buffer)
{
	text_deinit(&buffer->text);
	vec_free(&buffer->lines);
	vec_free(&buffer->frames);
}

size_t stack_buffer_memory(const struct stack_buffer *buffer)
{
	return buffer->text.cap + buffer->lines.cap * sizeof(*buffer->lines.v) +
	       buffer->frames.cap * sizeof(*buffer->frames.v);
}

void stack_buffer_reset(struct stack_buffer *buffer)
{
	text_reset(&buffer->text);
	buffer->lines.n = buffer->frames.n = 0;
	buffer->n_open = buffer->n_chains = 0;
}

/* ---- Chains ---- */

static struct call_chain *find_chain(struct stack_buffer *buffer, uint64_t thread)
{
	for (size_t i = 0; i < buffer->n_open; i++)
		if (buffer->chains[i].open && buffer->chains[i].thread == thread)
			return &buffer->chains[i];
	return NULL;
}

static const struct call_chain *find_chain_const(const struct stack_buffer *buffer, uint64_t thread)
{
	return find_chain((struct stack_buffer *)buffer, thread);
}

/* Whether both are the same offset in the same symbol. */
static bool is_same_place(const struct log_frame *a, const char *line_of_a, const struct log_frame *b,
			  const char *line_of_b)
{
	size_t size = a->symbol_to - a->symbol_from;
	return a->space == FRAME_NAME && b->space == FRAME_NAME && a->address == b->address &&
	       a->symbol_size == b->symbol_size && size == b->symbol_to - b->symbol_from &&
	       memcmp(line_of_a + a->symbol_from, line_of_b + b->symbol_from, size) == 0;
}

static bool repeats_head(const struct stack_buffer *buffer, const struct call_chain *chain, const char *line,
			 const struct log_frame *frame)
{
	return chain->head != FRAME_NONE && !frame->apart &&
	       is_same_place(&buffer->frames.v[chain->head].is,
			     buffer->text.v + buffer->lines.v[chain->head_line].off, frame, line);
}

static bool continues_chain(const struct stack_buffer *buffer, const struct call_chain *chain,
			    const char *line, const struct log_frame *next)
{
	const struct log_frame *last = &buffer->frames.v[chain->last].is;
	if (last->style != next->style || last->has_number != next->has_number)
		return false;
	if (next->head)
		return repeats_head(buffer, chain, line, next);
	return !last->has_number || next->number == last->number || next->number == last->number + 1;
}

/* Whether a chain other than @except is open, and will be after one more line. */
static bool is_open(const struct stack_buffer *buffer, const struct call_chain *except)
{
	for (size_t i = 0; i < buffer->n_open; i++)
		if (&buffer->chains[i] != except && buffer->chains[i].open &&
		    buffer->chains[i].quiet < CHAIN_QUIET_MAX)
			return true;
	return false;
}

/* Ages all chains by one line. */
static void age_chains(struct stack_buffer *buffer)
{
	for (size_t i = 0; i < buffer->n_open; i++)
		if (++buffer->chains[i].quiet > CHAIN_QUIET_MAX)
			buffer->chains[i].open = false;
}

static struct call_chain *begin_chain(struct stack_buffer *buffer, uint64_t thread)
{
	struct call_chain *chain = buffer->chains;
	while (chain < buffer->chains + buffer->n_open && chain->open)
		chain++; /* bounded: stack_buffer_continues() limits the number of chains */
	if (chain == buffer->chains + buffer->n_open)
		buffer->n_open++;
	*chain = (struct call_chain){
		.thread = thread, .number = buffer->n_chains++, .head = FRAME_NONE, .open = true};
	return chain;
}

/* Adds the last frame, which is on the last line, to its chain. */
static void link_frame(struct stack_buffer *buffer)
{
	uint32_t index = (uint32_t)buffer->frames.n - 1, line_index = (uint32_t)buffer->lines.n - 1;
	struct buffered_frame *added = &buffer->frames.v[index];
	struct log_frame *frame = &added->is;
	const char *line = buffer->text.v + buffer->lines.v[line_index].off;
	struct call_chain *chain = find_chain(buffer, frame->thread);
	if (chain && !continues_chain(buffer, chain, line, frame)) {
		chain->open = false;
		chain = NULL;
	}
	if (!chain) {
		chain = begin_chain(buffer, frame->thread);
		frame->kind = frame->first_exact ? PC_EXACT : frame->kind;
	} else if (repeats_head(buffer, chain, line, frame)) {
		buffer->frames.v[chain->head].same = index;
		frame->kind = PC_EXACT;
	}
	if (!frame->apart) {
		chain->head = frame->head ? index : FRAME_NONE;
		chain->head_line = line_index;
	}
	chain->last = index;
	chain->quiet = 0;
	added->chain = chain->number;
}

/* ---- Lines ---- */

static bool has_room(const struct stack_buffer *buffer, size_t size)
{
	return buffer->frames.n < STACK_FRAMES_MAX && buffer->text.n + size <= FILTER_STACK_BYTES;
}

bool stack_buffer_continues(const struct stack_buffer *buffer, const struct log_format *format,
			    const char *line, size_t size, const struct log_frame *frames, size_t n)
{
	if (!buffer->lines.n || buffer->format != format || n != 1 || !has_room(buffer, size))
		return false;
	const struct call_chain *chain = find_chain_const(buffer, frames->thread);
	if (chain && continues_chain(buffer, chain, line, frames))
		return true;
	return is_open(buffer, chain) && buffer->n_chains < CHAINS_MAX;
}

static bool ends_chain(const struct call_chain *chain, enum gap gap)
{
	return gap == GAP_ENDS || (gap == GAP_HEAD && chain->head == FRAME_NONE);
}

bool stack_buffer_spans(const struct stack_buffer *buffer, struct text_scan text, size_t size)
{
	uint64_t thread;
	if (!buffer->lines.n || !buffer->format->gap || !has_room(buffer, size))
		return false;
	enum gap gap = buffer->format->gap(text, &thread);
	const struct call_chain *chain = find_chain_const(buffer, thread);
	return is_open(buffer, chain && ends_chain(chain, gap) ? chain : NULL);
}

static int add_line(struct stack_buffer *buffer, const char *line, size_t size, size_t n_frames)
{
	struct buffered_line added = {
		.off = buffer->text.n, .size = size, .first = buffer->frames.n, .n = n_frames};
	if (vec_reserve(&buffer->lines, 1) || !text_reserve(&buffer->text, size))
		return -ENOMEM;
	buffer->lines.v[buffer->lines.n++] = added;
	text_bytes(&buffer->text, line, size);
	return 0;
}

int stack_buffer_add(struct stack_buffer *buffer, const struct log_format *format, const char *line,
		     size_t size, const struct log_frame *frames, size_t n)
{
	if (vec_reserve(&buffer->frames, n) || add_line(buffer, line, size, n))
		return -ENOMEM;
	buffer->format = format;
	age_chains(buffer);
	for (size_t i = 0; i < n; i++) {
		struct log_frame *frame = &buffer->frames.v[buffer->frames.n].is;
		buffer->frames.v[buffer->frames.n++] =
			(struct buffered_frame){.is = frames[i], .same = FRAME_NONE};
		if (n == 1) {
			link_frame(buffer);
			continue;
		}
		frame->apart = true;
		frame->kind = frame->first_exact ? PC_EXACT : frame->kind;
	}
	buffer->n_chains += n > 1;
	return 0;
}

int stack_buffer_add_gap(struct stack_buffer *buffer, struct text_scan text, const char *line, size_t size)
{
	uint64_t thread;
	enum gap gap = buffer->format->gap(text, &thread);
	struct call_chain *chain = find_chain(buffer, thread);
	if (chain && ends_chain(chain, gap))
		chain->open = false;
	age_chains(buffer);
	return add_line(buffer, line, size, 0);
}

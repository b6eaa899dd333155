/* Which lines one stack is made of, and which frames called each other, at the limits of both. */
#include "tests/unit/gsym/sample.h"

#include "log/engine/stack_buffer.h"
#include "tests/lib/unit.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_LINE_SIZE = 8 };

/* What the lines without frames say: the first letter of the gap, and the thread as a digit. */
static enum gap gap_of(struct text_scan line, uint64_t *ret_thread)
{
	*ret_thread = (uint64_t)(line.at[1] - '0');
	return *line.at == 'i' ? GAP_INSIDE : *line.at == 'h' ? GAP_HEAD : GAP_ENDS;
}

static const struct log_format spanning = {.gap = gap_of}, solid = {.gap = NULL};

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct stack_buffer));
	return 0;
}

static int tear_down(void **state)
{
	stack_buffer_deinit(*state);
	free(*state);
	return 0;
}

/* "f+0x<off>" of a thread. */
static struct log_frame named(uint64_t thread, uint64_t off)
{
	return (struct log_frame){.space = FRAME_NAME,
				  .thread = thread,
				  .address = off,
				  .symbol_size = 0x40,
				  .symbol_from = 1,
				  .symbol_to = 4,
				  .kind = PC_RETURN};
}

static struct log_frame numbered(uint32_t number)
{
	return (struct log_frame){.has_number = true, .number = number, .kind = PC_RETURN};
}

static const char plain_line[] = " abc+0\n";

static void add(struct stack_buffer *b, struct log_frame frame)
{
	assert_int_equal(stack_buffer_add(b, &spanning, plain_line, HEAD_LINE_SIZE - 1, &frame, 1), 0);
}

static bool continues(const struct stack_buffer *b, struct log_frame frame)
{
	return stack_buffer_continues(b, &spanning, plain_line, HEAD_LINE_SIZE - 1, &frame, 1);
}

static bool spans(const struct stack_buffer *b, const char *text)
{
	return stack_buffer_spans(b, scan_from(text, text + strlen(text)), strlen(text));
}

static void add_gap(struct stack_buffer *b, const char *text)
{
	assert_int_equal(stack_buffer_add_gap(b, scan_from(text, text + strlen(text)), text, strlen(text)),
			 0);
}

static struct buffered_frame *frame_at(struct stack_buffer *b, size_t i)
{
	assert_true(i < b->frames.n);
	return &b->frames.v[i];
}

/* Frames of a stack have its style, and numbers that rise by one or stay, or none. */
TEST_OF(numbers, struct stack_buffer, b)
{
	struct log_frame other = numbered(5);
	assert_false(continues(b, numbered(5)));
	add(b, numbered(5));
	assert_false(continues(b, numbered(4)));
	assert_true(continues(b, numbered(5)));
	assert_true(continues(b, numbered(6)));
	assert_false(continues(b, numbered(7)));
	other.has_number = false;
	assert_false(continues(b, other));
	other.has_number = true;
	other.style = STYLE_PLAIN;
	assert_false(continues(b, other));
	stack_buffer_reset(b);
	add(b, named(0, 1));
	assert_true(continues(b, named(0, 9)));
	other = named(0, 9);
	other.has_number = true;
	assert_false(continues(b, other));
}

/* A line of another format, or of several frames, is of no stack before it. */
TEST_OF(other_lines, struct stack_buffer, b)
{
	const struct log_frame two[] = {named(0, 1), named(0, 2)};
	add(b, two[0]);
	assert_true(stack_buffer_continues(b, &spanning, plain_line, 1, two, 1));
	assert_false(stack_buffer_continues(b, &solid, plain_line, 1, two, 1));
	assert_false(stack_buffer_continues(b, &spanning, plain_line, 1, two, 2));
	stack_buffer_reset(b);
	struct log_frame several[] = {named(0, 1), named(0, 2)};
	several[0].first_exact = true;
	assert_int_equal(stack_buffer_add(b, &spanning, plain_line, 1, several, 2), 0);
	assert_int_equal(b->n_chains, 1);
	assert_int_equal(b->n_open, 0);
	for (size_t i = 0; i < 2; i++) {
		assert_true(frame_at(b, i)->is.apart);
		assert_int_equal(frame_at(b, i)->same, FRAME_NONE);
		assert_int_equal(frame_at(b, i)->chain, 0);
	}
	assert_int_equal(frame_at(b, 0)->is.kind, PC_EXACT);
	assert_int_equal(frame_at(b, 1)->is.kind, PC_RETURN);
	assert_false(continues(b, named(0, 3)));
}

/* As many frames as the resolver takes, and as many bytes as are kept. */
TEST_OF(full, struct stack_buffer, b)
{
	static char line[FILTER_STACK_BYTES];
	struct log_frame frame = named(0, 1);
	for (size_t i = 0; i < STACK_FRAMES_MAX; i++) {
		assert_int_equal(b->frames.n, i);
		assert_true(!i || continues(b, frame));
		add(b, frame);
	}
	assert_false(continues(b, frame));
	assert_false(spans(b, "i1"));
	stack_buffer_reset(b);
	memset(line, ' ', sizeof(line));
	assert_int_equal(stack_buffer_add(b, &spanning, line, 1000, &frame, 1), 0);
	assert_true(stack_buffer_continues(b, &spanning, line, FILTER_STACK_BYTES - 1000, &frame, 1));
	assert_false(stack_buffer_continues(b, &spanning, line, FILTER_STACK_BYTES - 999, &frame, 1));
	static const char gap[] = "i1";
	assert_true(stack_buffer_spans(b, scan_from(gap, gap + 2), FILTER_STACK_BYTES - 1000));
	assert_false(stack_buffer_spans(b, scan_from(gap, gap + 2), FILTER_STACK_BYTES - 999));
}

/* Nothing spans a stack that is not there, or whose format has no such lines. */
TEST_OF(without_gaps, struct stack_buffer, b)
{
	const struct log_frame frame = named(0, 1);
	assert_false(spans(b, "i0"));
	assert_int_equal(stack_buffer_add(b, &solid, plain_line, 1, &frame, 1), 0);
	assert_false(spans(b, "i0"));
}

/* What a line says of the chain of its thread, and of no other. */
TEST_OF(gaps, struct stack_buffer, b)
{
	struct log_frame head = named(1, 1);
	head.head = true;
	add(b, named(1, 1));
	assert_true(spans(b, "i1"));
	assert_false(spans(b, "h1"));
	assert_false(spans(b, "e1"));
	assert_true(spans(b, "e2"));
	add_gap(b, "h1");
	assert_false(continues(b, named(1, 2)));
	assert_false(spans(b, "i1"));
	stack_buffer_reset(b);
	add(b, head);
	assert_true(spans(b, "h1"));
	assert_false(spans(b, "e1"));
	add_gap(b, "h1");
	assert_int_equal(b->lines.n, 2);
	assert_int_equal(b->lines.v[1].n, 0);
	assert_int_equal(b->lines.v[1].first, 1);
	assert_int_equal(b->lines.v[1].off, HEAD_LINE_SIZE - 1);
	assert_int_equal(b->lines.v[1].size, 2);
	assert_true(continues(b, named(1, 2)));
	add_gap(b, "e2");
	assert_true(continues(b, named(1, 2)));
	/* The first caller ends what a head may span. */
	add(b, named(1, 2));
	assert_false(spans(b, "h1"));
	assert_true(spans(b, "i1"));
	/* Of two threads, one is still open. */
	add(b, named(2, 1));
	assert_true(spans(b, "e1"));
	add_gap(b, "e1");
	assert_false(spans(b, "e2"));
	assert_true(continues(b, named(1, 9)));
}

/* A chain without frames for long is closed. */
TEST_OF(quiet, struct stack_buffer, b)
{
	for (unsigned round = 0; round < 2; round++) {
		add(b, named(1, 1));
		for (unsigned i = 0; i < CHAIN_QUIET_MAX; i++) {
			assert_true(spans(b, "i1"));
			assert_true(continues(b, named(2, 1)));
			add_gap(b, "i1");
		}
		assert_false(spans(b, "i1"));
		assert_false(continues(b, named(2, 1)));
		assert_true(continues(b, named(1, 1)));
	}
	add_gap(b, "i1");
	assert_false(continues(b, named(1, 1)));
	/* Frames of another thread pass by, too. */
	stack_buffer_reset(b);
	add(b, named(1, 1));
	for (unsigned i = 0; i <= CHAIN_QUIET_MAX; i++) {
		assert_true(b->chains[0].open);
		add(b, named(2, 1));
	}
	assert_false(b->chains[0].open);
	assert_true(b->chains[1].open);
}

/* Threads side by side, as many as there is room for; one that is closed leaves its place, not its number. */
TEST_OF(chains, struct stack_buffer, b)
{
	for (uint32_t i = 0; i < CHAINS_MAX; i++) {
		assert_true(!i || continues(b, named(i, 1)));
		add(b, named(i, 1));
		assert_int_equal(frame_at(b, i)->chain, i);
	}
	assert_int_equal(b->n_open, CHAINS_MAX);
	assert_false(continues(b, named(CHAINS_MAX, 1)));
	assert_true(continues(b, named(0, 2)));
	assert_true(continues(b, named(CHAINS_MAX - 1, 2)));
	add(b, named(CHAINS_MAX - 1, 2));
	assert_int_equal(frame_at(b, CHAINS_MAX)->chain, CHAINS_MAX - 1);
	stack_buffer_reset(b);
	add(b, named(1, 1));
	add(b, named(2, 1));
	add_gap(b, "e1");
	add(b, named(3, 1));
	assert_int_equal(b->n_open, 2);
	assert_int_equal(b->chains[0].thread, 3);
	assert_int_equal(frame_at(b, 2)->chain, 2);
	assert_int_equal(frame_at(b, 2)->is.kind, PC_RETURN);
	/* A frame that does not continue its thread's chain begins another. */
	struct log_frame other = named(2, 1);
	other.style = STYLE_PLAIN;
	other.first_exact = true;
	assert_true(continues(b, other));
	add(b, other);
	assert_int_equal(frame_at(b, 3)->chain, 3);
	assert_int_equal(frame_at(b, 3)->is.kind, PC_EXACT);
	assert_int_equal(b->n_open, 2);
	other.kind = PC_ADJUSTED;
	add(b, other);
	assert_int_equal(frame_at(b, 4)->chain, 3);
	assert_int_equal(frame_at(b, 4)->is.kind, PC_ADJUSTED);
}

/* The buffer begins anew after a reset. */
TEST_OF(reset, struct stack_buffer, b)
{
	add(b, named(1, 1));
	add(b, named(2, 1));
	size_t memory = stack_buffer_memory(b);
	assert_int_equal(memory, b->text.cap + b->lines.cap * sizeof(struct buffered_line) +
					 b->frames.cap * sizeof(struct buffered_frame));
	assert_true(b->text.cap && b->lines.cap && b->frames.cap);
	stack_buffer_reset(b);
	assert_int_equal(stack_buffer_memory(b), memory);
	assert_int_equal(b->text.n + b->lines.n + b->frames.n, 0);
	assert_int_equal(b->n_open + b->n_chains, 0);
	assert_false(continues(b, named(1, 1)));
	add(b, named(2, 1));
	assert_int_equal(frame_at(b, 0)->chain, 0);
	assert_int_equal(b->lines.v[0].off, 0);
}

/* What the head is, and how another frame differs from it. */
static const struct {
	const char *line;
	struct log_frame frame;
	bool is_same;
} repeats[] = {
	{"[abc+",
	 {.space = FRAME_NAME, .address = 8, .symbol_size = 64, .symbol_from = 1, .symbol_to = 4},
	 true},
	{"abc++", {.space = FRAME_NAME, .address = 8, .symbol_size = 64, .symbol_to = 3}, true},
	{"[abd+",
	 {.space = FRAME_NAME, .address = 8, .symbol_size = 64, .symbol_from = 1, .symbol_to = 4},
	 false},
	{"[abc+",
	 {.space = FRAME_NAME, .address = 8, .symbol_size = 64, .symbol_from = 1, .symbol_to = 3},
	 false},
	{"[abc+",
	 {.space = FRAME_NAME, .address = 9, .symbol_size = 64, .symbol_from = 1, .symbol_to = 4},
	 false},
	{"[abc+",
	 {.space = FRAME_NAME, .address = 8, .symbol_size = 65, .symbol_from = 1, .symbol_to = 4},
	 false},
	{"[abc+",
	 {.space = FRAME_RVA, .address = 8, .symbol_size = 64, .symbol_from = 1, .symbol_to = 4},
	 false},
};

/* The head of a trace is often repeated as its first frame, and then that frame is no return address. */
TEST_OF(repeated_head, struct stack_buffer, b)
{
	for (size_t i = 0; i < ARRAY_SIZE(repeats); i++) {
		struct log_frame head = repeats[0].frame, next = repeats[i].frame;
		head.head = true;
		next.kind = PC_RETURN;
		stack_buffer_reset(b);
		assert_int_equal(stack_buffer_add(b, &spanning, "xx\n", 3, &next, 0), 0);
		assert_int_equal(stack_buffer_add(b, &spanning, repeats[0].line, 5, &head, 1), 0);
		add_gap(b, "i0");
		next.head = true; /* another head goes on with the chain if it is the same */
		assert_int_equal(stack_buffer_continues(b, &spanning, repeats[i].line, 5, &next, 1),
				 repeats[i].is_same);
		next.head = false;
		assert_true(stack_buffer_continues(b, &spanning, repeats[i].line, 5, &next, 1));
		assert_int_equal(stack_buffer_add(b, &spanning, repeats[i].line, 5, &next, 1), 0);
		assert_int_equal(frame_at(b, 0)->same, repeats[i].is_same ? 1 : FRAME_NONE);
		assert_int_equal(frame_at(b, 1)->same, FRAME_NONE);
		assert_int_equal(frame_at(b, 1)->is.kind, repeats[i].is_same ? PC_EXACT : PC_RETURN);
		assert_int_equal(frame_at(b, 1)->chain, 0);
		/* It was no head, so that nothing repeats it. */
		assert_int_equal(stack_buffer_add(b, &spanning, repeats[i].line, 5, &next, 1), 0);
		assert_int_equal(frame_at(b, 1)->same, FRAME_NONE);
		assert_int_equal(frame_at(b, 2)->is.kind, PC_RETURN);
	}
}

/* A guess between the head and its repetition is of neither. */
TEST_OF(apart_from_head, struct stack_buffer, b)
{
	struct log_frame head = named(0, 8), guess = named(0, 8);
	head.head = true;
	guess.apart = true;
	add(b, head);
	add(b, guess);
	assert_int_equal(frame_at(b, 0)->same, FRAME_NONE);
	assert_int_equal(frame_at(b, 1)->is.kind, PC_RETURN);
	assert_true(spans(b, "h0"));
	add(b, named(0, 8));
	assert_int_equal(frame_at(b, 0)->same, 2);
	assert_int_equal(frame_at(b, 2)->is.kind, PC_EXACT);
	/* Repeated as a head, it is that of what follows. */
	stack_buffer_reset(b);
	add(b, head);
	add(b, head);
	add(b, named(0, 8));
	assert_int_equal(frame_at(b, 0)->same, 1);
	assert_int_equal(frame_at(b, 1)->same, 2);
	assert_int_equal(b->n_chains, 1);
	/* Another head begins another chain. */
	head.address = 9;
	add(b, head);
	assert_int_equal(frame_at(b, 3)->chain, 1);
}

EACH_TEST(set_up, tear_down)

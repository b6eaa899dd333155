/*
 * Lines of a q answered from fragments: the same records as of the whole image, up to the first that no
 * fragment has, whatever is damaged, short of memory, or late.
 */
#include "tests/unit/fs/answer/answer_fixture.h"

#include "fs/answer/answer.h"
#include "fs/answer/early_batch.h"
#include "gsym/base/vec.h"

#include <errno.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

static const struct made_function functions[] = {
	{.start = 0x1000, .size = 0x10, .name = "f", .line = 10},
	{.start = 0x1010, .size = 0x10, .name = "_ZN1f3oneEv", .line = 20, .no_line = 8},
	{.start = 0x1020, .size = 0x10, .name = "g", .line = 30},
};

static struct {
	struct answer_fixture a;
	struct revision *rev;
	struct handle *whole; /* not known to the image */
	struct handle *fragments[4];
	unsigned n_fragments;
	struct request request;
	struct context context;
	struct text_buf out;
	unsigned made; /* as early_batch_answer() says */
	/* Polls until the batch is to stop; 0: never. */
	unsigned stop_at, polls;
} t;

/* The file of this handle is cut short just after it was read; NULL: none is. */
static const struct handle *cut_after;

int __real_handle_run(const struct handle *handle, int (*work)(void *arg), void *arg);

int __wrap_handle_run(const struct handle *handle, int (*work)(void *arg), void *arg)
{
	int err = __real_handle_run(handle, work, arg);
	return handle == cut_after ? -EFAULT : err;
}

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	cut_after = NULL;
	answer_fixture_set_up(&t.a, NULL, NULL);
	put_image(&t.a, ID, "debug");
	t.rev = revision_of(t.a.f, ID);
	t.whole = make_entry(&t.a, ID, functions, ARRAY_SIZE(functions));
	t.request = (struct request){.kind = REQUEST_BATCH, .format = RENDER_TSV};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	text_deinit(&t.out);
	handle_put(t.whole);
	answer_fixture_tear_down(&t.a);
	return 0;
}

/* The image has another fragment, with these functions; it is asked before the others. */
static struct handle *add_fragment(const struct made_function *of, size_t n)
{
	struct handle *handle = make_entry(&t.a, ID, of, n);
	give_fragment(t.a.f, t.rev, handle);
	t.fragments[t.n_fragments++] = handle;
	return handle;
}

static bool stop(const void *user)
{
	assert_ptr_equal(user, &t);
	return ++t.polls >= t.stop_at;
}

static struct batch_options options_of(void)
{
	struct batch_options options = answer_batch_options(&t.a.answers, &t.request, &t.context);
	options.user = &t;
	options.stop = t.stop_at ? stop : NULL;
	return options;
}

static struct batch_query at(uint64_t given)
{
	return (struct batch_query){.given = given, .kind = BATCH_ADDRESS};
}

/* What the whole image says of the queries, whose addresses must be link-time. */
static void expect_of_whole(const struct batch_query *queries, size_t n)
{
	struct text_buf text = {0};
	struct batch_options options = options_of();
	struct batch *batch = batch_new(t.whole->reader);
	size_t answered = 0;
	text_lit(&text, "before ");
	options.stop = NULL;
	options.render.module = "/src/debug";
	options.render.demangle = answers_demangle(&t.a.answers, t.whole, t.request.raw);
	for (size_t i = 0; i < n; i++) {
		struct batch_query query = queries[i];
		if (query.kind == BATCH_ADDRESS)
			assert_true(
				context_to_link(&t.context, &t.whole->addresses, query.given, &query.addr));
		assert_int_equal(batch_answer(batch, &options, &query, 1, SIZE_MAX, &text, &answered, NULL),
				 0);
	}
	batch_free(batch);
	assert_int_equal(t.out.n, text.n);
	assert_memory_equal(t.out.v, text.v, text.n);
	text_deinit(&text);
}

static size_t answer(const struct batch_query *queries, size_t n)
{
	struct batch_query kept[8];
	const struct batch_options options = options_of();
	assert_true(n <= ARRAY_SIZE(kept));
	memcpy(kept, queries, n * sizeof(*queries));
	text_deinit(&t.out);
	text_lit(&t.out, "before ");
	t.made = 12345;
	size_t done = early_batch_answer(&t.a.answers, t.rev, &t.context, &options, t.request.raw, queries, n,
					 &t.out, &t.made);
	assert_int_equal(t.made, t.n_fragments);
	assert_memory_equal(kept, queries, n * sizeof(*queries));
	for (unsigned i = 0; i < t.n_fragments; i++)
		assert_int_equal(atomic_load(&t.fragments[i]->refs), 1);
	return done;
}

/* The first @expected of these, as the whole image has them. */
static void answers(const struct batch_query *queries, size_t n, size_t expected)
{
	assert_int_equal(answer(queries, n), expected);
	expect_of_whole(queries, expected);
}

/* ---- Which are answered ---- */

TEST(without_fragments)
{
	const struct batch_query queries[] = {at(0x1000), {.kind = BATCH_MALFORMED, .text = "x", .size = 1}};
	answers(queries, 0, 0);
	answers(queries, 1, 0);
	answers(queries + 1, 1, 0);
}

TEST(of_several_fragments)
{
	const struct batch_query queries[] = {at(0x1010), at(0x1000), at(0x1004), at(0x101f), at(0x1010)};
	add_fragment(&functions[0], 1);
	answers(queries, 5, 0);
	answers(queries + 1, 4, 2);
	add_fragment(&functions[1], 1);
	answers(queries, 5, 5);
	answers(queries, 4, 4);
	answers(queries, 0, 0);
	t.request.raw = true;
	answers(queries, 5, 5);
	assert_non_null(memmem(t.out.v, t.out.n, "\t_ZN1f3oneEv\t0x0\t", 17));
	t.request.format = RENDER_JSON;
	answers(queries, 5, 5);
}

/* Up to the first that no fragment has: the rest of the image may have it. */
TEST(up_to_the_first_unknown)
{
	const struct batch_query queries[] = {at(0x1000), at(0x1020), at(0x1010)},
				 none[] = {at(0xfff), at(0x1000)};
	add_fragment(&functions[0], 2);
	answers(queries, 3, 1);
	answers(queries + 1, 2, 0);
	answers(none, 2, 0);
	add_fragment(&functions[2], 1);
	answers(queries, 3, 3);
}

/* What is no address of the image needs none of its functions. */
TEST(no_addresses)
{
	const struct batch_query queries[] = {
		{.kind = BATCH_MALFORMED, .text = "nonsense", .size = 8},
		at(0x1000),
		{.kind = BATCH_UNKNOWN, .given = 0x77},
	};
	add_fragment(&functions[0], 1);
	answers(queries, 3, 3);
}

/* ---- What numbers mean ---- */

TEST(contexts)
{
	const struct batch_query returns[] = {at(0x1010), at(0x1020), at(0)};
	add_fragment(&functions[0], 2);
	t.context = (struct context){.space = SPACE_RVA};
	assert_int_equal(t.whole->addresses.base, t.fragments[0]->addresses.base);
	uint64_t base = t.whole->addresses.base;
	const struct batch_query from_base[] = {at(0x1000 - base), at(0x1010 - base), at(0x1020 - base)};
	answers(from_base, 3, 2);
	t.context = (struct context){.space = SPACE_RUNTIME, .load = 0x70000};
	const struct batch_query runtime[] = {at(0x70000 + 0x1000 - base), at(0x6ffff)};
	answers(runtime, 2, 1);
	/* The byte before a return address counts. */
	t.context = (struct context){.is_return = true};
	answers(returns, 3, 2);
	assert_non_null(memmem(t.out.v, t.out.n, "\tf\t0x10\t", 8));
}

/* A line nearby, where there is none. */
TEST(approximate)
{
	const struct batch_query queries[] = {at(0x1010), at(0x1019)};
	add_fragment(&functions[1], 1);
	answers(queries, 2, 2);
	assert_non_null(memmem(t.out.v, t.out.n, "\t/src/a.c\t0\t", 12));
	t.context.near = true;
	answers(queries, 2, 2);
	assert_null(memmem(t.out.v, t.out.n, "\t/src/a.c\t0\t", 12));
}

/* ---- Damage, time and memory ---- */

/* Damage of a fragment is none of the image: another one may answer, and nothing of the damage is shown. */
TEST(damaged_fragments)
{
	static const struct made_function damaged = {
		.start = 0x1000, .size = 0x10, .name = "f", .line = 10, .damaged = true};
	const struct batch_query queries[] = {at(0x1000), at(0x1010)};
	add_fragment(&functions[0], 2);
	add_fragment(&damaged, 1);
	answers(queries, 2, 2);
	struct handle *cut = add_fragment(&functions[0], 2);
	answers(queries, 2, 2);
	cut_short(&t.a, cut);
	answers(queries, 2, 2);
	cut_short(&t.a, t.fragments[0]);
	answers(queries, 2, 0);
	assert_null(t.rev->reason);
}

/* What was answered from a file that was cut short meanwhile may be wrong. */
TEST(damaged_meanwhile)
{
	const struct batch_query queries[] = {at(0x1010), at(0x1000)};
	cut_after = add_fragment(&functions[0], 2);
	answers(queries, 2, 0);
	add_fragment(&functions[1], 1);
	answers(queries, 2, 1);
	cut_after = t.fragments[1];
	answers(queries, 2, 2);
}

/* There is time for one always. */
TEST(late)
{
	const struct batch_query queries[] = {at(0x1000), at(0x1010), at(0x1004), at(0x1014)};
	add_fragment(&functions[0], 2);
	for (unsigned n = 1; n <= 5; n++) {
		t.stop_at = n;
		t.polls = 0;
		size_t done = answer(queries, 4);
		assert_true(done >= 1 && done <= 4);
		expect_of_whole(queries, done);
	}
	t.stop_at = 1;
	t.polls = 0;
	answers(queries, 4, 1);
	t.stop_at = 1000;
	answers(queries, 4, 4);
}

/* Each allocation fails in turn: fewer are answered, and those rightly. */
TEST(without_memory)
{
	const struct batch_query queries[] = {at(0x1010), at(0x1000)}, unknown[] = {at(0x1100)};
	bool failed = true;
	size_t least = 2;
	long n = 0;
	add_fragment(&functions[0], 1);
	add_fragment(&functions[1], 1);
	answers(queries, 2, 2);
	answers(unknown, 1, 0); /* now readers have made what they keep */
	for (; failed; n++) {
		const struct batch_options options = options_of();
		unsigned made;
		text_deinit(&t.out);
		text_lit(&t.out, "before ");
		text_reserve(&t.out, 4096);
		const long before = live;
		allowed = n;
		size_t done = early_batch_answer(&t.a.answers, t.rev, &t.context, &options, false, queries, 2,
						 &t.out, &made);
		failed = end_allocations();
		assert_int_equal(live, before);
		assert_true(done <= 2 && n < 200);
		assert_true(failed || done == 2);
		least = done < least ? done : least;
		expect_of_whole(queries, done);
	}
	assert_true(n > 4);
	assert_int_equal(least, 0);
}

EACH_TEST(set_up, tear_down)

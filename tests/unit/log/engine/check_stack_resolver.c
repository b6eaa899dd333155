/*
 * Stacks through folded functions. Two images, an app and a library. In each, functions "one", "two" and
 * "three" share the code at 0x1000, each with its own calls; other functions are alone. The scenarios are
 * those for which call sites were proposed.
 */
#include "tests/unit/gsym/sample.h"

#include "log/engine/stack_resolver.h"
#include "gsym/codec/format.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <string.h>

enum {
	FOLDED = 0x1000, /* where folded code is */
	SIZE = 0x100,
	DEEPER = 0x1100, /* more of it: "deep_one", "deep_two", "deep_three" */
	MAIN = 0x1200,
	HELPER = 0x1300,
	PATTERNS = 4,
};

/* A call in a function. */
struct call {
	uint64_t off;
	uint8_t flags;
	const char *patterns[PATTERNS];
};

struct image {
	struct gsym_reader *reader;
	void *data;
};

static void set_call(struct sample *s, struct gsym_func *func, const struct call *call,
		     struct gsym_callsite *site, uint64_t *patterns)
{
	func->name = sample_string(s, "");
	*site = (struct gsym_callsite){.return_off = call->off, .flags = call->flags};
	for (; site->n_patterns < PATTERNS && call->patterns[site->n_patterns]; site->n_patterns++)
		patterns[site->n_patterns] = sample_string(s, call->patterns[site->n_patterns]);
	func->callsites = site;
	func->n_callsites = 1;
	func->patterns = patterns;
	func->n_patterns = site->n_patterns;
}

/* Functions folded at @start, the i-th with calls[i], if it has an offset. */
static void add_folded(struct sample *s, uint64_t start, const char *const *names, const struct call *calls)
{
	struct gsym_func funcs[3];
	struct gsym_callsite sites[3];
	uint64_t patterns[3][PATTERNS];
	for (size_t i = 0; i < 3; i++) {
		funcs[i] = (struct gsym_func){.start = start, .size = SIZE};
		if (calls && calls[i].off)
			set_call(s, &funcs[i], &calls[i], &sites[i], patterns[i]);
		funcs[i].name = sample_string(s, names[i]);
	}
	funcs[0].merged = funcs + 1;
	funcs[0].n_merged = 2;
	assert_int_equal(gsym_writer_add(s->writer, &funcs[0], NULL), 0);
}

static void add_alone(struct sample *s, uint64_t start, const char *name, const struct call *call)
{
	struct gsym_func func = {.start = start, .size = SIZE};
	struct gsym_callsite site;
	uint64_t patterns[PATTERNS];
	if (call && call->off)
		set_call(s, &func, call, &site, patterns);
	func.name = sample_string(s, name);
	assert_int_equal(gsym_writer_add(s->writer, &func, NULL), 0);
}

static const char *const upper[] = {"one", "two", "three"};
static const char *const lower[] = {"deep_one", "deep_two", "deep_three"};

static struct image make(const struct call *of_main, const struct call *of_upper,
			 const struct call *of_helper)
{
	static uint8_t made;
	struct sample s;
	struct image image;
	sample_init(&s, sample_kinds[0], 0x1000);
	add_folded(&s, FOLDED, upper, of_upper);
	add_folded(&s, DEEPER, lower, NULL);
	add_alone(&s, MAIN, "main", of_main);
	add_alone(&s, HELPER, "helper", of_helper);
	image.reader = sample_open(&s, &image.data);
	((uint8_t *)image.data)[V1_UUID_OFF] = ++made; /* an image of its own */
	return image;
}

static void drop(struct image *image)
{
	gsym_reader_close(image->reader);
	free(image->data);
}

static struct resolver_frame frame(const struct image *image, uint64_t address, enum frame_pc kind)
{
	return (struct resolver_frame){
		.reader = image ? image->reader : NULL,
		.address = address,
		.which = RESOLVER_ANY_BODY,
		.kind = kind,
	};
}

/* The names left of @frame, separated by blanks. */
static const char *left(const struct stack_resolver *walk, const struct resolver_frame *frame)
{
	static char text[256];
	struct gsym_answer answer = {0};
	text[0] = 0;
	assert_int_equal(frame->err, 0);
	for (uint32_t i = 0; i < frame->n_kept; i++) {
		assert_int_equal(stack_resolver_answer(walk, frame, i, 0, &answer), 0);
		if (i)
			strcat(text, " ");
		strcat(text, answer.frames[answer.n_frames - 1].name);
	}
	gsym_answer_deinit(&answer);
	return text;
}

/* main calls, at return offset 0x20, whom @patterns say; the frame below is at FOLDED in @inner. */
static void check_call(struct call call, bool other_image, const char *expected)
{
	struct stack_resolver *walk = stack_resolver_new();
	call.off = 0x20;
	struct image app = make(&call, NULL, NULL), library = make(NULL, NULL, NULL);
	struct resolver_frame frames[] = {
		frame(other_image ? &library : &app, FOLDED + 8, PC_EXACT),
		frame(&app, MAIN + 0x20, PC_RETURN),
	};
	assert_int_equal(stack_resolver_run(walk, frames, 2), 0);
	assert_int_equal(frames[0].n_bodies, 3);
	assert_string_equal(left(walk, &frames[0]), expected);
	assert_string_equal(left(walk, &frames[1]), "main");
	drop(&app);
	drop(&library);
	stack_resolver_free(walk);
}

TEST(direct_call)
{
	check_call((struct call){.patterns = {"two"}}, false, "two");
	check_call((struct call){.patterns = {"two"}, .flags = GSYM_CALLSITE_INTERNAL}, false, "two");
	check_call((struct call){.patterns = {"nobody"}}, false, "one two three"); /* never none */
}

TEST(call_across_images)
{
	check_call((struct call){.patterns = {"three"}}, true, "three");
	check_call((struct call){.patterns = {"three"}, .flags = GSYM_CALLSITE_EXTERNAL}, true, "three");
}

TEST(flags_that_contradict)
{
	check_call((struct call){.patterns = {"three"}, .flags = GSYM_CALLSITE_INTERNAL}, true,
		   "one two three");
	check_call((struct call){.patterns = {"three"}, .flags = GSYM_CALLSITE_EXTERNAL}, false,
		   "one two three");
	uint8_t both = GSYM_CALLSITE_INTERNAL | GSYM_CALLSITE_EXTERNAL;
	check_call((struct call){.patterns = {"three"}, .flags = both}, false, "three");
	check_call((struct call){.patterns = {"three"}, .flags = both}, true, "three");
}

/* Names first: "t" alone is a pattern, and so is "one", which is a name, too. */
TEST(equal_before_matching)
{
	check_call((struct call){.patterns = {"t"}}, false, "two three");
	check_call((struct call){.patterns = {"t", "one"}}, false, "one");
	check_call((struct call){.patterns = {"^t.*e$"}}, false, "three");
	check_call((struct call){.patterns = {"(", "two"}}, false, "two"); /* one that is no pattern */
	check_call((struct call){.patterns = {"(tw"}}, false, "one two three");
}

/* A virtual call: several callees, or a method of any class. */
TEST(virtual_call)
{
	check_call((struct call){.patterns = {"one", "three", "elsewhere"}}, false, "one three");
	check_call((struct call){.patterns = {"^.*ee$"}}, false, "three");
}

TEST(selector)
{
	static const char *const methods[] = {"-[Cat feed:]", "-[Dog walk]", "+[Dog feedAll]"};
	struct sample s;
	struct image app;
	struct stack_resolver *walk = stack_resolver_new();
	struct call call = {.off = 0x20, .patterns = {"\\[.* walk\\]"}};
	sample_init(&s, sample_kinds[0], 0x1000);
	add_folded(&s, FOLDED, methods, NULL);
	add_alone(&s, MAIN, "main", &call);
	app.reader = sample_open(&s, &app.data);
	struct resolver_frame frames[] = {frame(&app, FOLDED, PC_EXACT), frame(&app, MAIN + 0x20, PC_RETURN)};
	assert_int_equal(stack_resolver_run(walk, frames, 2), 0);
	assert_string_equal(left(walk, &frames[0]), "-[Dog walk]");
	drop(&app);
	stack_resolver_free(walk);
}

/* main -> a frame of @middle -> the app's folded code. */
static void check_through(struct call call, const struct image *middle, uint64_t address,
			  const char *expected)
{
	struct stack_resolver *walk = stack_resolver_new();
	call.off = 0x20;
	struct image app = make(&call, NULL, NULL);
	struct resolver_frame frames[] = {
		frame(&app, FOLDED + 8, PC_EXACT),
		frame(middle ? middle : &app, address, PC_RETURN),
		frame(&app, MAIN + 0x20, PC_RETURN),
	};
	if (!address)
		frames[1].reader = NULL;
	assert_int_equal(stack_resolver_run(walk, frames, 3), 0);
	assert_string_equal(left(walk, &frames[0]), expected);
	drop(&app);
	stack_resolver_free(walk);
}

TEST(through_a_library)
{
	struct call internal = {.patterns = {"two"}, .flags = GSYM_CALLSITE_INTERNAL},
		    any = {.patterns = {"two"}};
	struct call callback = {.off = 0x20, .patterns = {"three"}}, unknown = {.off = 0x20};
	struct image library = make(NULL, NULL, NULL), calls = make(NULL, NULL, &callback),
		     silent = make(NULL, NULL, &unknown);
	/* of which nothing is known */
	check_through(internal, NULL, 0, "two");
	check_through(any, NULL, 0, "two");
	/* with functions, but without call sites there, or with one that names no function */
	check_through(internal, &library, HELPER + 0x20, "two");
	check_through(any, &library, HELPER + 0x20, "two");
	check_through(any, &silent, HELPER + 0x20, "two");
	/* that knows better */
	check_through(any, &calls, HELPER + 0x20, "three");
	check_through(any, &calls, HELPER + 0x30, "two");
	/* which is folded itself, and not meant */
	check_through(internal, &library, FOLDED + 0x20, "two");
	/* and an expectation that another frame of the library has met, or that cannot be about the app */
	check_through(any, &library, FOLDED + 0x20, "one two three");
	check_through((struct call){.patterns = {"two"}, .flags = GSYM_CALLSITE_EXTERNAL}, &library,
		      HELPER + 0x20, "one two three");
	drop(&library);
	drop(&calls);
	drop(&silent);
}

/* The call site is described twice: the library's function that is called, and whom of this image that will
 * call. */
TEST(library_and_callback)
{
	static const char *const patterns[] = {"helper", "two"};
	static const uint8_t flags[] = {GSYM_CALLSITE_EXTERNAL, GSYM_CALLSITE_INTERNAL};
	struct stack_resolver *walk = stack_resolver_new();
	struct image library = make(NULL, NULL, NULL), app;
	struct gsym_callsite sites[2];
	uint64_t strings[2];
	struct sample s;
	sample_init(&s, sample_kinds[0], 0x1000);
	add_folded(&s, FOLDED, upper, NULL);
	for (uint32_t i = 0; i < 2; i++) {
		sites[i] = (struct gsym_callsite){
			.return_off = 0x20, .flags = flags[i], .first_pattern = i, .n_patterns = 1};
		strings[i] = sample_string(&s, patterns[i]);
	}
	struct gsym_func func = {.start = MAIN,
				 .size = SIZE,
				 .name = sample_string(&s, "main"),
				 .callsites = sites,
				 .n_callsites = 2,
				 .patterns = strings,
				 .n_patterns = 2};
	assert_int_equal(gsym_writer_add(s.writer, &func, NULL), 0);
	app.reader = sample_open(&s, &app.data);
	struct resolver_frame frames[] = {
		frame(&app, FOLDED, PC_EXACT),
		frame(&library, HELPER + 0x20, PC_RETURN),
		frame(&app, MAIN + 0x20, PC_RETURN),
	};
	assert_int_equal(stack_resolver_run(walk, frames, 3), 0);
	assert_string_equal(left(walk, &frames[0]), "two");
	drop(&app);
	drop(&library);
	stack_resolver_free(walk);
}

/* The address is right, and the call was another: a tail call, or a frame that is missing. */
TEST(contradiction)
{
	check_through((struct call){.patterns = {"two"}}, NULL, HELPER + 0x20, "one two three");
}

/* Folded functions that call folded functions: what is known outside reaches inwards. */
TEST(one_after_the_other)
{
	struct call call = {.off = 0x20, .patterns = {"two"}};
	const struct call each[] = {
		{.off = 0x40, .patterns = {"deep_one"}},
		{.off = 0x40, .patterns = {"deep_two"}},
		{.off = 0x40, .patterns = {"deep_three"}},
	};
	struct stack_resolver *walk = stack_resolver_new();
	struct image app = make(&call, each, NULL);
	struct resolver_frame frames[] = {
		frame(&app, DEEPER + 8, PC_EXACT),
		frame(&app, FOLDED + 0x40, PC_RETURN),
		frame(&app, MAIN + 0x20, PC_RETURN),
	};
	assert_int_equal(stack_resolver_run(walk, frames, 3), 0);
	assert_string_equal(left(walk, &frames[1]), "two");
	assert_string_equal(left(walk, &frames[0]), "deep_two");
	/* Without the caller all are left, and all of their callees. */
	assert_int_equal(stack_resolver_run(walk, frames, 2), 0);
	assert_string_equal(left(walk, &frames[1]), "one two three");
	assert_string_equal(left(walk, &frames[0]), "deep_one deep_two deep_three");
	drop(&app);
	stack_resolver_free(walk);
}

/*
 * The call of the last instruction returns to an address after the function; sanitizers and tombstones
 * print less than the return address.
 */
TEST(return_addresses)
{
	struct stack_resolver *walk = stack_resolver_new();
	struct call last = {.off = SIZE, .patterns = {"two"}};
	struct image app = make(&last, NULL, NULL);
	struct resolver_frame frames[] = {frame(&app, FOLDED, PC_EXACT), frame(&app, MAIN + SIZE, PC_RETURN)};
	assert_int_equal(stack_resolver_run(walk, frames, 2), 0);
	assert_string_equal(left(walk, &frames[1]), "main");
	assert_string_equal(left(walk, &frames[0]), "two");
	frames[1] = frame(&app, MAIN + SIZE - 1, PC_ADJUSTED);
	assert_int_equal(stack_resolver_run(walk, frames, 2), 0);
	assert_string_equal(left(walk, &frames[0]), "two");
	frames[1] = frame(&app, MAIN + SIZE - 4, PC_ADJUSTED);
	assert_int_equal(stack_resolver_run(walk, frames, 2), 0);
	assert_string_equal(left(walk, &frames[0]), "two");
	frames[1] = frame(&app, MAIN + SIZE - 3, PC_ADJUSTED);
	assert_int_equal(stack_resolver_run(walk, frames, 2), 0);
	assert_string_equal(left(walk, &frames[0]), "one two three");
	frames[1] = frame(&app, 0, PC_RETURN);
	assert_int_equal(stack_resolver_run(walk, frames, 2), 0);
	assert_int_equal(frames[1].err, -ENOENT);
	drop(&app);
	stack_resolver_free(walk);
}

/* A stack ends with its outermost frame: what follows is another's. Frames that are apart are of none. */
TEST(several_stacks)
{
	struct call call = {.off = 0x20, .patterns = {"two"}};
	struct stack_resolver *walk = stack_resolver_new();
	struct image app = make(&call, NULL, NULL);
	struct resolver_frame frames[] = {
		frame(&app, FOLDED, PC_EXACT),
		frame(&app, FOLDED + 0x40, PC_RETURN),
		frame(&app, MAIN + 0x20, PC_RETURN),
	};
	frames[0].outermost = true; /* of one frame */
	assert_int_equal(stack_resolver_run(walk, frames, 3), 0);
	assert_string_equal(left(walk, &frames[0]), "one two three");
	assert_string_equal(left(walk, &frames[1]), "two");
	frames[1].outermost = true;
	assert_int_equal(stack_resolver_run(walk, frames, 3), 0);
	assert_string_equal(left(walk, &frames[1]), "one two three");
	frames[1] = frame(NULL, 0, PC_RETURN); /* of an unknown image */
	frames[1].outermost = true;
	frames[0].outermost = false;
	assert_int_equal(stack_resolver_run(walk, frames, 3), 0);
	assert_int_equal(frames[1].err, -ENOENT);
	assert_string_equal(left(walk, &frames[0]), "one two three");
	frames[1] = frame(&app, FOLDED + 0x40, PC_RETURN);
	frames[1].apart = true;
	assert_int_equal(stack_resolver_run(walk, frames, 3), 0);
	assert_string_equal(left(walk, &frames[1]), "one two three");
	assert_string_equal(left(walk, &frames[0]), "two");
	drop(&app);
	stack_resolver_free(walk);
}

/* The function that the log names counts where no call site says another, if it is there at all. */
TEST(named_in_the_log)
{
	struct call call = {.off = 0x20, .patterns = {"t"}};
	struct stack_resolver *walk = stack_resolver_new();
	struct image app = make(&call, NULL, NULL);
	static const char *const alone[] = {"one", "two", "three", "one two three"}, *const called[] = {
											     "two three",
											     "two", "three",
											     "two three"};
	for (uint32_t which = 0; which < 4; which++) {
		struct resolver_frame frames[] = {frame(&app, FOLDED, PC_EXACT),
						  frame(&app, MAIN + 0x20, PC_RETURN)};
		frames[0].which = which;
		assert_int_equal(stack_resolver_run(walk, frames, 1), 0);
		assert_string_equal(left(walk, &frames[0]), alone[which]);
		assert_int_equal(stack_resolver_run(walk, frames, 2), 0);
		assert_string_equal(left(walk, &frames[0]), called[which]);
	}
	drop(&app);
	stack_resolver_free(walk);
}

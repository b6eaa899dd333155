/* The images that a stack asks for, why its frames are not explained, and what a line says of the build. */
#include "tests/unit/log/engine/filter_sample.h"

#include "log/engine/pending_stack.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <string.h>

/* A stack that is made by hand, and what it asks its images of. */
struct made {
	struct pending_stack stack;
	struct source source;
	struct text_buf out;
	struct filter_image image; /* what find() gives */
	int err;                   /* of find() */
	unsigned asked;
	struct filter_module module; /* it was asked for last */
};

static int find(void *user, const struct filter_module *module, struct filter_image *ret)
{
	struct made *made = user;
	made->asked++;
	made->module = *module;
	*ret = made->image;
	return made->err;
}

static int set_up(void **state)
{
	struct made *made = calloc(1, sizeof(*made));
	source_make(&made->source);
	made->image = (struct filter_image){.reader = made->source.reader, .base = BASE};
	assert_int_equal(pending_stack_init(&made->stack), 0);
	*state = made;
	return 0;
}

static int tear_down(void **state)
{
	struct made *made = *state;
	pending_stack_deinit(&made->stack);
	text_deinit(&made->out);
	source_drop(&made->source);
	free(made);
	return 0;
}

/* Frames are at the end of their lines, of which the symbol is "alpha" at 0x1000, of 0x40 bytes. */
static const char line[] = " .alpha+0x4 \n";

static struct log_frame frame_of(const char *module, enum frame_space space)
{
	struct log_frame frame = {.space = (uint8_t)space,
				  .style = STYLE_PLAIN,
				  .kind = PC_EXACT,
				  .address = 4,
				  .symbol_from = 2,
				  .symbol_to = 7,
				  .from = 12,
				  .to = 12,
				  .tail = 12};
	strcpy(frame.module.name, module);
	return frame;
}

static const struct log_format solid = {.gap = NULL};

static void add(struct made *made, struct log_frame frame)
{
	assert_int_equal(stack_buffer_add(&made->stack.buffer, &solid, line, sizeof(line) - 1, &frame, 1), 0);
}

static int flush(struct made *made)
{
	const struct filter_images images = {.find = find, .user = made};
	const struct filter_options options = {.demangle = DEMANGLE_AUTO};
	text_reset(&made->out);
	return pending_stack_flush(&made->stack, &images, &options, &made->out);
}

/* What was written, as a string. */
static const char *written(struct made *made)
{
	text_char(&made->out, '\0');
	assert_false(made->out.failed);
	return made->out.v;
}

#define EXPLAINED " .alpha+0x4  alpha at /src/a.c:5\n"

/* Flushes one frame: whether it is explained. */
static bool explains(struct made *made, struct log_frame frame)
{
	made->stack.evidence.modules.n = 0;
	add(made, frame);
	assert_int_equal(flush(made), 0);
	const char *text = written(made);
	bool explained = strcmp(text, line) != 0;
	if (explained)
		assert_string_equal(text, EXPLAINED);
	return explained;
}

/* Each image is asked for once. Modules that differ in anything are two. */
TEST_OF(asked, struct made, made)
{
	for (unsigned differs = 0; differs < 9; differs++) {
		struct log_frame one = frame_of("app", FRAME_RVA), two = one;
		if (differs == 1)
			strcpy(two.module.name, "b");
		else if (differs == 2)
			strcpy(two.module.id, ID);
		else if (differs == 3)
			strcpy(two.module.release, "6.1");
		two.module.is_kernel = differs == 4;
		two.module.is_word = differs == 5;
		two.module.needs_shown = differs == 6;
		if (differs == 7)
			two = frame_of("app", FRAME_NAME);
		if (differs == 8)
			strcpy(two.module.name, "App");
		made->asked = 0;
		add(made, one);
		add(made, two);
		add(made, one);
		assert_int_equal(flush(made), 0);
		assert_int_equal(made->asked, differs ? 2 : 1);
		if (differs == 7)
			assert_true(made->module.needs_names);
		else
			assert_false(made->module.needs_names);
	}
}

/* Mangled names alone, and addresses that nothing is known of, have no image. */
TEST_OF(not_asked, struct made, made)
{
	struct log_frame frame = frame_of("app", FRAME_RVA);
	frame.unmapped = true;
	assert_false(explains(made, frame));
	frame = frame_of("app", FRAME_MANGLED);
	frame.style = STYLE_SYMBOL;
	add(made, frame);
	assert_int_equal(flush(made), 0);
	assert_string_equal(written(made), " .alpha+0x4 alpha\n");
	assert_int_equal(made->asked, 0);
	assert_int_equal(made->stack.counts.met, 1); /* a symbol is not counted */
	assert_int_equal(made->stack.counts.found, 0);
}

/* An image that is late or lacks memory stops all; any other error is that of the frames of the module. */
TEST_OF(errors, struct made, made)
{
	made->err = -EAGAIN;
	add(made, frame_of("app", FRAME_RVA));
	add(made, frame_of("b", FRAME_RVA));
	assert_int_equal(flush(made), -EAGAIN);
	assert_int_equal(made->asked, 2);
	made->err = -ENOMEM;
	assert_int_equal(flush(made), -ENOMEM);
	assert_int_equal(made->asked, 3);
	assert_int_equal(made->out.n, 0);
	made->err = 0;
	assert_int_equal(flush(made), 0);
	assert_string_equal(written(made), EXPLAINED EXPLAINED);
	assert_int_equal(made->stack.counts.met, 2);
	assert_int_equal(flush(made), 0);
	assert_int_equal(made->out.n, 0);
	made->err = -ENOENT; /* whatever is in the image then */
	add(made, frame_of("app", FRAME_RVA));
	add(made, frame_of("app", FRAME_RVA));
	assert_int_equal(flush(made), 0);
	assert_string_equal(written(made), " .alpha+0x4 \n .alpha+0x4 \n");
}

/* Why a frame was not explained, and whether it counts. */
static const struct {
	const char *what;
	struct log_frame frame;
	int err; /* of find() */
	uint64_t met, found;
	int cause; /* -1: it is not listed */
} frames[] = {
	{"found", {.space = FRAME_RVA, .address = 4}, 0, 1, 1, -1},
	{"no image", {.space = FRAME_RVA, .address = 4}, -ENOENT, 1, 0, FILTER_NO_IMAGE},
	{"no id", {.space = FRAME_RVA, .address = 4}, -ENODATA, 1, 0, FILTER_NO_ID},
	{"ambiguous", {.space = FRAME_RVA, .address = 4}, -ENOTUNIQ, 1, 0, FILTER_AMBIGUOUS},
	{"no function", {.space = FRAME_RVA, .address = 0x10000}, 0, 1, 0, FILTER_NO_FUNCTION},
	{"no segments", {.space = FRAME_FILE, .address = 4}, 0, 1, 0, FILTER_NO_SEGMENTS},
	{"no segments of code", {.space = FRAME_CODE, .address = 4}, 0, 1, 0, FILTER_NO_SEGMENTS},
	{"unmapped", {.space = FRAME_RVA, .unmapped = true}, 0, 1, 0, FILTER_NO_MAPPING},
	{"overflow", {.space = FRAME_RVA, .address = UINT64_MAX}, 0, 1, 0, FILTER_NO_FUNCTION},
	{"a word", {.space = FRAME_RVA, .module.is_word = true}, -ENOENT, 0, 0, -1},
	{"a word of an image", {.space = FRAME_RVA, .module.is_word = true}, 0, 1, 1, -1},
	{"silent", {.space = FRAME_RVA, .silent = true}, 0, 0, 0, -1},
	{"a bare number", {.space = FRAME_RVA, .unmapped = true, .may_be_number = true}, 0, 0, 0, -1},
	{"silent and unknown", {.space = FRAME_RVA, .silent = true}, -ENOENT, 0, 0, -1},
	{"an estimate", {.space = FRAME_RVA, .is_estimate = true}, 0, 1, 1, -1},
	{"any number",
	 {.space = FRAME_RVA, .is_estimate = true, .may_be_number = true, .address = 0x10000},
	 0,
	 0,
	 0,
	 -1},
	{"a place",
	 {.space = FRAME_RVA, .is_estimate = true, .address = 0x10000},
	 0,
	 1,
	 0,
	 FILTER_NO_MAPPING},
	{"an estimate of no image",
	 {.space = FRAME_RVA, .is_estimate = true},
	 -ENOENT,
	 1,
	 0,
	 FILTER_NO_IMAGE},
};

TEST_OF(causes, struct made, made)
{
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		struct log_frame frame = frames[i].frame;
		strcpy(frame.module.name, "app");
		frame.style = frame.style ? frame.style : STYLE_PLAIN;
		made->err = frames[i].err;
		made->stack.counts = (struct filter_counts){.met = 0};
		made->stack.unexplained.n = 0;
		add(made, frame);
		assert_int_equal(flush(made), 0);
		const struct filter_unexplained *list = made->stack.unexplained.v;
		if (made->stack.counts.met != frames[i].met ||
		    made->stack.unexplained.n != (frames[i].cause >= 0))
			print_error("%s\n", frames[i].what);
		assert_int_equal(made->stack.counts.met, frames[i].met);
		assert_int_equal(made->stack.counts.found, frames[i].found);
		assert_int_equal(made->stack.unexplained.n, frames[i].cause >= 0);
		if (frames[i].cause < 0)
			continue;
		assert_int_equal(list[0].cause, frames[i].cause);
		assert_int_equal(list[0].n_frames, 1);
		assert_string_equal(list[0].module.name,
				    frames[i].cause == FILTER_NO_MAPPING && frame.is_estimate ? "" : "app");
	}
}

/* A return address is looked up where the call is, in the function that the log names. */
TEST_OF(in_calls, struct made, made)
{
	struct log_frame frame = frame_of("app", FRAME_NAME);
	frame.address = 0x3f;
	add(made, frame);
	frame.address = 0x40;
	add(made, frame);
	frame.kind = PC_RETURN;
	add(made, frame);
	frame.address = 0x41;
	add(made, frame);
	assert_int_equal(flush(made), 0);
	assert_string_equal(written(made), " .alpha+0x4  alpha at /src/a.c:6\n .alpha+0x4 \n"
					   " .alpha+0x4  alpha at /src/a.c:6\n .alpha+0x4 \n");
}

/* The code of ppc64 has a dot before its name. */
TEST_OF(dots, struct made, made)
{
	struct log_frame frame = frame_of("app", FRAME_NAME);
	frame.symbol_from = 1;
	assert_true(explains(made, frame));
	frame.symbol_to = 2;
	assert_false(explains(made, frame));
	frame.symbol_to = 6; /* ".alph" */
	assert_false(explains(made, frame));
	frame.symbol_from = 3; /* "lpha" */
	assert_false(explains(made, frame));
	made->image.shown = made->source.shown.names.table; /* no kernel then */
	frame.symbol_from = 1;
	frame.symbol_to = 7;
	assert_false(explains(made, frame));
}

/* The address in memory beside a symbol is whole pages from that in the image, or a byte beside them. */
TEST_OF(places, struct made, made)
{
	struct log_frame frame = frame_of("app", FRAME_NAME);
	static const struct {
		uint64_t shown;
		bool fits;
	} shown[] = {
		{0, true}, /* none */
		{0x7f0000001004, true},
		{0x7f0000000004, true},
		{0x7f0000000003, true},
		{0x7f0000000005, true},
		{0x7f0000000002, false},
		{0x7f0000000006, false},
		{0x7f0000000804, false},
		{4, true},
		{6, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		frame.shown = shown[i].shown;
		assert_int_equal(explains(made, frame), shown[i].fits);
	}
	frame.shown = 0x7f0000000006;
	/* A build that is known needs no more evidence. */
	strcpy(frame.module.id, ID);
	assert_true(explains(made, frame));
	frame.module.id[0] = 0;
	frame.module.is_kernel = true;
	assert_true(explains(made, frame));
	frame.module.is_kernel = false;
	made->stack.unexplained.n = 0;
	assert_false(explains(made, frame));
	assert_int_equal(made->stack.unexplained.v[0].cause, FILTER_OTHER_FUNCTION);
}

/* What else the line says of the function counts for a module of whose build nothing is known. */
TEST_OF(claims, struct made, made)
{
	static const char claim[] = "# C  [app+0x10]  alpha+0x4\n";
	struct log_frame both[2] = {frame_of("app", FRAME_RVA), frame_of("app", FRAME_RVA)};
	const struct filter_images images = {.find = find, .user = made};
	const struct filter_options options = {.demangle = DEMANGLE_AUTO};
	for (unsigned i = 0; i < 4; i++) {
		both[0].address = both[1].address = 0x10;
		strcpy(both[0].module.id, i == 1 ? ID : "");
		both[0].module.is_kernel = i == 2;
		size_t n = i == 3 ? 2 : 1;
		made->stack.evidence.modules.n = 0;
		text_reset(&made->out);
		assert_int_equal(
			stack_buffer_add(&made->stack.buffer, &solid, claim, sizeof(claim) - 1, both, n), 0);
		assert_int_equal(pending_stack_flush(&made->stack, &images, &options, &made->out), 0);
		bool explained = strcmp(written(made), claim) != 0;
		assert_int_equal(explained, i != 0);
		assert_int_equal(made->stack.evidence.modules.n, i == 0);
	}
}

/* A kernel that is told after the head of its trace. */
TEST_OF(kernel_told_later, struct made, made)
{
	const struct filter_module kernel = {
		.name = "vmlinux", .id = ID, .release = "6.1", .is_kernel = true, .needs_names = true};
	struct log_frame frame = frame_of("vmlinux", FRAME_NAME);
	frame.module.is_kernel = true;
	add(made, frame);
	add(made, frame_of("vmlinux", FRAME_NAME)); /* of a program called so */
	strcpy(frame.module.name, "ext4");
	add(made, frame);
	strcpy(frame.module.id, "ff");
	add(made, frame);
	pending_stack_set_kernel(&made->stack, &kernel);
	const struct buffered_frame *f = made->stack.buffer.frames.v;
	assert_memory_equal(&f[0].is.module, &kernel, sizeof(kernel));
	assert_string_equal(f[1].is.module.id, "");
	assert_string_equal(f[1].is.module.release, "");
	assert_string_equal(f[2].is.module.name, "ext4");
	assert_string_equal(f[2].is.module.id, "");
	assert_string_equal(f[2].is.module.release, "6.1");
	assert_string_equal(f[3].is.module.id, "ff");
	assert_string_equal(f[3].is.module.release, "");
}

/* The memory of all parts is counted. */
TEST(memory)
{
	struct pending_stack stack = {.resolver = NULL};
	stack.buffer.text.cap = 1;
	stack.ordered.cap = 2;
	stack.resolved.cap = 4;
	stack.images.cap = 8;
	stack.unexplained.cap = 16;
	stack.evidence.modules.cap = 32;
	assert_int_equal(pending_stack_memory(&stack), 1 + 6 * sizeof(struct resolver_frame) +
							       8 * sizeof(struct filter_image) +
							       16 * sizeof(struct filter_unexplained) +
							       32 * sizeof(struct module_evidence));
}

/* ---- Whether a module is of the build that wrote the log ---- */

/* Functions that fit or not, and when the module is rejected for the first time. */
TEST(evidence)
{
	struct build_evidence e = {.modules = {NULL}};
	const struct filter_module app = {.name = "app"}, other = {.name = "apps"};
	assert_int_equal(build_evidence_add(&e, &app, 1, false), 0);
	assert_int_equal(build_evidence_add(&e, &app, 1, false), 0); /* the same again */
	assert_false(build_is_rejected(&e, &app));
	assert_int_equal(build_evidence_add(&e, &app, 2, true), 0);
	assert_int_equal(build_evidence_add(&e, &other, 2, false), 0);
	assert_int_equal(build_evidence_add(&e, &app, 2, false), 1);
	assert_true(build_is_rejected(&e, &app));
	assert_false(build_is_rejected(&e, &other));
	assert_int_equal(build_evidence_add(&e, &app, 3, false), 0);
	/* Two functions that did not fit, and now do, one after the other. */
	assert_int_equal(build_evidence_add(&e, &app, 9, true), 0);
	assert_int_equal(build_evidence_add(&e, &app, 10, true), 0);
	assert_true(build_is_rejected(&e, &app));
	assert_int_equal(build_evidence_add(&e, &app, 1, true), 0);
	assert_int_equal(build_evidence_add(&e, &app, 1, true), 0);
	assert_true(build_is_rejected(&e, &app));
	assert_int_equal(build_evidence_add(&e, &app, 4, false), 0);
	assert_int_equal(build_evidence_add(&e, &app, 2, true), 0);
	assert_true(build_is_rejected(&e, &app));
	assert_int_equal(build_evidence_add(&e, &app, 4, true), 0);
	assert_false(build_is_rejected(&e, &app));
	/* Rejected again, it is not told again. */
	assert_int_equal(build_evidence_add(&e, &app, 1, false), 0);
	assert_int_equal(build_evidence_add(&e, &app, 2, false), 0);
	assert_true(build_is_rejected(&e, &app));
	build_evidence_reset(&e);
	assert_false(build_is_rejected(&e, &app));
	build_evidence_deinit(&e);
}

/* A kernel stays rejected, and a build that is known is never. */
TEST(evidence_of_kernel)
{
	struct build_evidence e = {.modules = {NULL}};
	const struct filter_module kernel = {.name = "vmlinux", .is_kernel = true},
				   known = {.name = "app", .id = ID};
	for (uint64_t i = 1; i <= 2; i++) {
		assert_int_equal(build_evidence_add(&e, &kernel, i, false), i == 2);
		assert_int_equal(build_evidence_add(&e, &known, i, false), 0);
	}
	for (uint64_t i = 1; i <= 2; i++)
		assert_int_equal(build_evidence_add(&e, &kernel, i, true), 0);
	assert_true(build_is_rejected(&e, &kernel));
	assert_false(build_is_rejected(&e, &known));
	assert_int_equal(e.modules.n, 1);
	build_evidence_deinit(&e);
}

/* So many functions are looked at together, and so many modules. */
TEST(evidence_window)
{
	struct build_evidence e = {.modules = {NULL}};
	struct filter_module app = {.name = "app"};
	for (unsigned more = 0; more < 2; more++) {
		assert_int_equal(build_evidence_add(&e, &app, 1, false), 0);
		for (uint64_t i = 2; i < EVIDENCE_WINDOW + more; i++)
			assert_int_equal(build_evidence_add(&e, &app, i, true), 0);
		assert_int_equal(build_evidence_add(&e, &app, 1000, false), !more);
		assert_int_equal(build_is_rejected(&e, &app), !more);
		build_evidence_reset(&e);
	}
	for (unsigned i = 0; i <= EVIDENCE_MODULES_MAX; i++) {
		memset(app.name, 'a' + (int)(i % 26), 1 + i / 26);
		app.name[1 + i / 26] = 0;
		assert_int_equal(build_evidence_add(&e, &app, 1, false), 0);
		assert_int_equal(build_evidence_add(&e, &app, 2, false), i < EVIDENCE_MODULES_MAX);
	}
	assert_int_equal(e.modules.n, EVIDENCE_MODULES_MAX);
	build_evidence_deinit(&e);
}

/* ---- What was not explained ---- */

enum { LISTED_MAX = 256 }; /* entries */

TEST_OF(unexplained, struct made, made)
{
	struct log_frame frame;
	for (unsigned i = 0; i < 2; i++) {
		frame = frame_of("app", FRAME_RVA);
		made->err = -ENOENT;
		assert_false(explains(made, frame));
		made->err = -ENODATA;
		assert_false(explains(made, frame));
		strcpy(frame.module.id, "ff");
		assert_false(explains(made, frame));
		strcpy(frame.module.name, "b");
		assert_false(explains(made, frame));
		assert_int_equal(made->stack.unexplained.n, 4);
		for (size_t k = 0; k < 4; k++)
			assert_int_equal(made->stack.unexplained.v[k].n_frames, i + 1);
	}
	for (unsigned i = 4; i < LISTED_MAX + 2; i++) {
		memset(frame.module.name, 'a' + (int)(i % 26), 2 + i / 26);
		frame.module.name[2 + i / 26] = 0;
		assert_false(explains(made, frame));
	}
	assert_int_equal(made->stack.unexplained.n, LISTED_MAX);
	frame.module = made->stack.unexplained.v[LISTED_MAX - 1].module;
	assert_false(explains(made, frame));
	assert_int_equal(made->stack.unexplained.v[LISTED_MAX - 1].n_frames, 2);
}

EACH_TEST(set_up, tear_down)

/*
 * What the file of an address or of a symbol says: of every kind of function, in the formats that show most,
 * and what there is when nothing can be said.
 */
#include "tests/unit/fs/answer/answer_fixture.h"

#include "fs/answer/answer.h"
#include "fs/answer/symbol_names.h"
#include "fs/call/call.h"
#include "tests/unit/wrap_malloc.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static const struct made_function functions[] = {
	{.start = 0x1000, .size = 0x10, .name = "f", .line = 10, .no_line = 8},
	{.start = 0x1010, .size = 0x10, .name = "_ZN1f3oneEv", .line = 20},
	{.start = 0x1020, .size = 0x10, .name = "twin", .line = 30},
	{.start = 0x1030, .size = 0x8, .name = "twin", .line = 40},
	{.start = 0x1040, .size = 0x10, .name = "one", .line = 50, .twin = "two"},
	{.start = 0x1050, .size = 0x10, .name = "damaged", .line = 60, .damaged = true},
	{.start = 0x1060, .name = "endless"},
};

static struct asked_image {
	struct answer_fixture a;
	struct handle *handle;
	struct revision *rev;
	struct content *content; /* of the last answer */
	struct wait wait;
	bool known;
	long n_live; /* allocations before */
} t;

/* ---- Others, who act meanwhile ---- */

static bool builds_meanwhile; /* the index of demangled names, when it is missing */
static int64_t cpu_seconds;   /* that pass from one look at the clock of CPU time to the next */

int __real_symbol_names_ready(struct answers *answers, struct revision *rev, const struct handle *handle,
			      enum symbol_names kind, struct wait *ret_wait);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);

static void build(enum symbol_names kind)
{
	assert_int_equal(do_job(&t.a, &symbol_names_kind, t.rev, kind), 0);
}

int __wrap_symbol_names_ready(struct answers *answers, struct revision *rev, const struct handle *handle,
			      enum symbol_names kind, struct wait *ret_wait)
{
	if (builds_meanwhile && kind == NAMES_SHOWN)
		build(kind);
	return __real_symbol_names_ready(answers, rev, handle, kind, ret_wait);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	static int64_t passed;
	if (clock != CLOCK_THREAD_CPUTIME_ID || !cpu_seconds)
		return __real_clock_gettime(clock, ret);
	*ret = (struct timespec){.tv_sec = passed += cpu_seconds};
	return 0;
}

/* ---- Asking ---- */

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	t.n_live = live;
	builds_meanwhile = false;
	cpu_seconds = 0;
	answer_fixture_set_up(&t.a, NULL, &symbol_names_kind);
	put_image(&t.a, ID, "debug");
	scanned(t.a.f, 0);
	t.rev = current(t.a.f);
	t.handle = open_image(&t.a, ID, functions, ARRAY_SIZE(functions));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	content_put(t.content);
	answer_fixture_tear_down(&t.a);
	assert_int_equal(live, t.n_live);
	return 0;
}

/* What @path means, a name below the directory of the image and maybe further ones. */
static struct request request_of(const char *path)
{
	struct request request = {.kind = REQUEST_NONE};
	char copy[256], *rest = copy;
	strcpy(copy, path);
	for (char *name; (name = strsep(&rest, "/"));) {
		const struct context in = request.context;
		name_parse(PLACE_IMAGE, &in, name, &request);
		if (request.kind == REQUEST_SYMBOL) /* borrowed from the copy */
			request.symbol = strrchr(path, '/') + 1;
	}
	assert_true(request.kind == REQUEST_ADDRESS || request.kind == REQUEST_SYMBOL);
	return request;
}

static int ask(const char *path)
{
	const struct request request = request_of(path);
	content_put(t.content);
	t.content = NULL;
	t.wait = (struct wait){.revision = NULL};
	return answer_make(&t.a.answers, t.rev, t.handle, &request, &t.wait, &t.content, &t.known);
}

static void expect_content(const char *path, const char *text)
{
	assert_non_null(t.content);
	if (t.content->size != strlen(text) || memcmp(t.content->data, text, t.content->size) != 0)
		fail_msg("%s: '%.*s' instead of '%s'", path, (int)t.content->size, t.content->data, text);
}

static void says(const char *path, const char *text)
{
	t.known = false;
	assert_int_equal(ask(path), 0);
	assert_true(t.known);
	expect_content(path, text);
}

/* There is no answer; nothing is written. */
static void fails_with(const char *path, int err)
{
	t.known = true;
	assert_int_equal(ask(path), err);
	assert_null(t.content);
	assert_true(t.known);
}

struct case_of {
	const char *path, *text;
};

static void each_says(const struct case_of *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cases[i].text)
			says(cases[i].path, cases[i].text);
		else
			fails_with(cases[i].path, -ENOENT);
}

/* ---- Addresses ---- */

#define MODULE "/src/debug"

TEST(addresses)
{
	static const struct case_of cases[] = {
		{"0x1000", "f at /src/a.c:10\n"},
		{"0x100f", "f at /src/a.c:0\n"},
		{"0x1010", "f::one() at /src/a.c:20\n"},
		{"0x1010.raw", "_ZN1f3oneEv at /src/a.c:20\n"},
		{"0x1044", "one at /src/a.c:50\n"},
		{"0x1064", "endless+0x4 at ??:0\n"},
		{"0x1017.tsv", "0x1017\t0\tf::one()\t0x7\t/src/a.c\t20\t-\t" MODULE "\t_ZN1f3oneEv\n"},
		{"0x1017.raw.tsv", "0x1017\t0\t_ZN1f3oneEv\t0x7\t/src/a.c\t20\t-\t" MODULE "\t_ZN1f3oneEv\n"},
		{"0x1040.tsv", "0x1040\t0\tone\t0x0\t/src/a.c\t50\tm2\t" MODULE "\tone\n"},
		{"0xfff", NULL},
		{"0xfff.json", NULL},
	};
	each_says(cases, ARRAY_SIZE(cases));
}

TEST(options)
{
	t.a.answers.demangle = false;
	says("0x1010", "_ZN1f3oneEv at /src/a.c:20\n");
	t.a.answers.mark_merged = true;
	says("0x1044", "one [merged 2] at /src/a.c:50\n");
}

/* Where code belongs to no line, the one before it. */
TEST(near_lines)
{
	static const char exact[] = "0x1009\t0\tf\t0x9\t/src/a.c\t0\t-\t" MODULE "\tf\n";
	static const char near[] = "0x1009\t0\tf\t0x9\t/src/a.c\t10\t~\t" MODULE "\tf\n";
	says("0x1009.tsv", exact);
	says("approximate/0x1009.tsv", near);
	t.a.answers.approximate = true;
	says("0x1009.tsv", near);
	says("approximate/0x1009.tsv", near);
}

/* What numbers count from. A return address is in the function of the byte before it. */
TEST(contexts)
{
	static const struct case_of cases[] = {
		{"rva/0x10", "f::one() at /src/a.c:20\n"},
		{"off/0x510", "f::one() at /src/a.c:20\n"},
		{"off/0x4ff", NULL},
		{"off/0x600", NULL},
		{"base/0x7f0000/0x7f0010", "f::one() at /src/a.c:20\n"},
		{"base/0x7f0000/0x7effff", NULL},
		{"ra/0x1020", "f::one() at /src/a.c:20\n"},
		{"ra/0x1020.tsv", "0x1020\t0\tf::one()\t0x10\t/src/a.c\t20\t-\t" MODULE "\t_ZN1f3oneEv\n"},
		{"ra/0x1064", "endless+0x4 at ??:0\n"},
		{"ra/0x1000", NULL},
		{"ra/0x0", NULL}, /* nothing is before it, although the last function has no end */
		{"rva/ra/0x11.tsv", "0x11\t0\tf::one()\t0x1\t/src/a.c\t20\t-\t" MODULE "\t_ZN1f3oneEv\n"},
	};
	t.handle->addresses.base = 0x1000;
	t.handle->addresses.n = 1;
	t.handle->addresses.segments[0].off = 0x500;
	t.handle->addresses.segments[0].addr = 0x1000;
	t.handle->addresses.segments[0].size = 0x100;
	each_says(cases, ARRAY_SIZE(cases));
}

/* With unknown=print they are files as well, but known to be outside of all functions. */
TEST(unknown_addresses)
{
	static const struct case_of cases[] = {
		{"0xfff", "?? at ??:0\n"},
		{"0xfff.tsv", "0xfff\t0\t??\t0x0\t??\t0\t-\t" MODULE "\t??\n"},
		{"off/0x20.tsv", "0x20\t0\t??\t0x0\t??\t0\t-\t" MODULE "\t??\n"},
	};
	t.a.answers.unknown_print = true;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		t.known = true;
		assert_int_equal(ask(cases[i].path), 0);
		assert_false(t.known);
		expect_content(cases[i].path, cases[i].text);
	}
	says("0x1000", "f at /src/a.c:10\n");
	fails_with("0x1050", -EIO);
	build(NAMES_STORED);
	build(NAMES_SHOWN);
	fails_with("sym/none", -ENOENT);
}

/* The last parameter may be NULL. */
TEST(known_or_not)
{
	const struct request request = request_of("0x1000");
	assert_int_equal(answer_make(&t.a.answers, t.rev, t.handle, &request, &t.wait, &t.content, NULL), 0);
	expect_content("0x1000", "f at /src/a.c:10\n");
}

/* ---- Damage ---- */

/* It is in the status of the image, which stays open. */
TEST(damaged)
{
	assert_null(t.rev->reason);
	fails_with("0x1050", -EIO);
	assert_non_null(t.rev->reason);
	assert_non_null(strstr(t.rev->reason, "function"));
	assert_int_equal(t.rev->state, STATE_READY);
	says("0x1000", "f at /src/a.c:10\n");
}

/* Only that of damaged files is. */
TEST(nothing_to_report)
{
	fails_with("0xfff", -ENOENT);
	fails_with("sym/f", -EAGAIN);
	assert_null(t.rev->reason);
}

/* The image is closed, and made again when it is next used. */
TEST(truncated)
{
	handle_get(t.handle);
	cut_short(&t.a, t.handle);
	fails_with("0x1000", -EIO);
	assert_int_equal(t.rev->state, STATE_COLD);
	assert_non_null(strstr(t.rev->reason, "truncated"));
	assert_int_equal(atomic_load(&t.handle->refs), 1);
	handle_put(t.handle);
}

/* ---- Symbols ---- */

/* The call waits for @kind. */
static void waits_for(const char *path, enum symbol_names kind)
{
	fails_with(path, -EAGAIN);
	assert_non_null(t.wait.park);
	assert_ptr_equal(t.wait.revision, t.rev);
	assert_int_equal(t.wait.part, kind);
}

TEST(symbols)
{
	static const struct case_of cases[] = {
		{"sym/f", "f at /src/a.c:10\n"},
		{"sym/f+0x8", "f at /src/a.c:0\n"},
		{"sym/f+0x8.tsv", "0x1008\t0\tf\t0x8\t/src/a.c\t0\t-\t" MODULE "\tf\n"},
		{"sym/f+0x10", NULL},
		{"approximate/sym/f+0x8", "f at /src/a.c:10\n"},
		{"sym/twin", "twin at /src/a.c:30\n\ntwin at /src/a.c:40\n"},
		{"sym/twin+0x8", "twin at /src/a.c:30\n"},
		{"sym/twin.tsv", "0x1020\t0\ttwin\t0x0\t/src/a.c\t30\t-\t" MODULE "\ttwin\n"
				 "0x1030\t0\ttwin\t0x0\t/src/a.c\t40\t-\t" MODULE "\ttwin\n"},
		{"sym/two", "two at /src/a.c:50\n"},
		{"sym/endless+0x1000", "endless+0x1000 at ??:0\n"},
		{"ra/sym/f", NULL}, /* of the function before it */
		{"ra/sym/f+0x1.tsv", "0x1001\t0\tf\t0x1\t/src/a.c\t10\t-\t" MODULE "\tf\n"},
		{"ra/sym/f+0x10", "f at /src/a.c:0\n"},
		{"ra/sym/f+0x11", NULL},
		{"sym/_ZN1f3oneEv", "f::one() at /src/a.c:20\n"},
		{"sym/_ZN1f3oneEv.raw", "_ZN1f3oneEv at /src/a.c:20\n"},
		{"sym/f::one()", "f::one() at /src/a.c:20\n"},
		{"sym/f::one", "f::one() at /src/a.c:20\n"},
		{"sym/f::one+0x1.raw.tsv",
		 "0x1011\t0\t_ZN1f3oneEv\t0x1\t/src/a.c\t20\t-\t" MODULE "\t_ZN1f3oneEv\n"},
		{"sym/none", NULL},
	};
	build(NAMES_STORED);
	build(NAMES_SHOWN);
	each_says(cases, ARRAY_SIZE(cases));
}

/* The index of demangled names is waited for only if there is no such stored name. */
TEST(indexes)
{
	waits_for("sym/f", NAMES_STORED);
	waits_for("sym/f::one", NAMES_STORED);
	build(NAMES_STORED);
	says("sym/f", "f at /src/a.c:10\n");
	waits_for("sym/f::one", NAMES_SHOWN);
	waits_for("sym/none", NAMES_SHOWN);
	build(NAMES_SHOWN);
	says("sym/f::one", "f::one() at /src/a.c:20\n");
	fails_with("sym/none", -ENOENT);
}

/* It is made for another call before this one can wait for it. */
TEST(made_meanwhile)
{
	build(NAMES_STORED);
	builds_meanwhile = true;
	says("sym/f::one", "f::one() at /src/a.c:20\n");
}

/* Names of a file can be made to take long. */
TEST(search_takes_long)
{
	build(NAMES_STORED);
	build(NAMES_SHOWN);
	cpu_seconds = 10;
	fails_with("sym/f::one", -ENOENT);
	says("sym/f", "f at /src/a.c:10\n");
	cpu_seconds = 0;
	says("sym/f::one", "f::one() at /src/a.c:20\n");
}

/* ---- Before the image is converted ---- */

static int ask_early(struct handle *fragment, const char *path)
{
	const struct request request = request_of(path);
	content_put(t.content);
	t.content = NULL;
	return answer_make_early(&t.a.answers, t.rev, fragment, &request, &t.content);
}

/* What a fragment does not have, the rest of the image may; and its damage is none of the image. */
TEST(early)
{
	struct handle *fragment = make_entry(&t.a, ID, functions, ARRAY_SIZE(functions));
	for (int print = 0; print < 2; print++) {
		t.a.answers.unknown_print = print;
		assert_int_equal(ask_early(fragment, "0x1010"), 0);
		expect_content("0x1010", "f::one() at /src/a.c:20\n");
		assert_int_equal(ask_early(fragment, "0xfff"), -ENOENT);
		assert_null(t.content);
		assert_true(ask_early(fragment, "0x1050") < 0);
		assert_null(t.content);
	}
	cut_short(&t.a, fragment);
	assert_true(ask_early(fragment, "0x1010") < 0);
	assert_null(t.content);
	assert_null(t.rev->reason);
	assert_int_equal(t.rev->state, STATE_READY);
	handle_put(fragment);
}

/* ---- Memory ---- */

/* Each allocation fails in turn. */
static void fails_without_memory(const char *path, const char *text)
{
	bool failed = true;
	for (long n = 0; failed; n++) {
		allowed = n;
		int err = ask(path);
		failed = end_allocations();
		assert_true(!err || err == -ENOMEM);
		assert_true(!err == (t.content != NULL));
		assert_true(n < 100);
	}
	expect_content(path, text);
}

TEST(without_memory)
{
	build(NAMES_STORED);
	build(NAMES_SHOWN);
	fails_without_memory("0x1010", "f::one() at /src/a.c:20\n");
	fails_without_memory("sym/twin", "twin at /src/a.c:30\n\ntwin at /src/a.c:40\n");
	fails_without_memory("sym/f::one", "f::one() at /src/a.c:20\n");
	assert_null(t.rev->reason);
}

/* ---- Batches ---- */

TEST(options_of_batches)
{
	const struct context place = {.is_return = true}, near = {.near = true};
	const struct request request = {.format = RENDER_JSON};
	struct batch_options got = answer_batch_options(&t.a.answers, &request, &place);
	assert_int_equal(got.render.format, RENDER_JSON);
	assert_false(got.render.mark_merged);
	assert_false(got.near);
	assert_true(got.is_return);
	t.a.answers.mark_merged = true;
	got = answer_batch_options(&t.a.answers, &request, &near);
	assert_true(got.render.mark_merged);
	assert_true(got.near);
	assert_false(got.is_return);
	t.a.answers.approximate = true;
	assert_true(answer_batch_options(&t.a.answers, &request, &place).near);
}

EACH_TEST(set_up, tear_down)

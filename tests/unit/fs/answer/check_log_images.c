/* Images for the filter of a log: which of them a module of the log means, and what is told of it. */
#include "tests/unit/fs/answer/log_fixture.h"

#include "fs/answer/symbol_names.h"
#include "fs/images/catalogue.h"
#include "tests/unit/wrap_malloc.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <string.h>

static int find(const struct filter_module *module, struct filter_image *ret)
{
	*ret = (struct filter_image){.reader = NULL};
	t.call.wait = (struct wait){.revision = NULL};
	return t.images.find(t.images.user, module, ret);
}

static const struct filter_module *asked; /* in place of what is written */
static struct filter_image found;
static int find_err;

static int find_instead(struct text_buf *out, size_t *ret_used)
{
	(void)out;
	(void)ret_used;
	find_err = find(asked, &found);
	return 0;
}

/* The outcome of a question during a call. */
static int ask_for(const struct filter_module *module)
{
	asked = module;
	t.written.instead = find_instead;
	text_reset(&t.stream->buf.results);
	write_log("x");
	assert_int_equal(answer(), 0);
	t.written.instead = NULL;
	return find_err;
}

static struct filter_module module_called(const char *name)
{
	struct filter_module module = {.is_word = false};
	assert_true(strlen(name) < sizeof(module.name));
	strcpy(module.name, name);
	return module;
}

TEST(by_name)
{
	char longest[FILTER_NAME_SIZE];
	const struct {
		const char *name;
		int err;
	} rows[] = {
		{"debug", 0},
		{"/usr/lib/debug", 0},
		{"lib/debug", 0},
		{"/debug", 0},
		{"debu", -ENOENT},
		{"bug", -ENOENT},
		{"/usr/lib/debug/", -ENODATA},
		{"/", -ENODATA},
		{"", -ENODATA},
		{longest, -ENOENT},
	};
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	struct handle *handle = open_at_base(ID);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct filter_module module = module_called(rows[i].name);
		assert_int_equal(ask_for(&module), rows[i].err);
		assert_ptr_equal(found.reader, rows[i].err ? NULL : handle->reader);
		module.is_word = true;
		assert_int_equal(ask_for(&module), -ENODATA);
		module.is_word = false;
		module.is_kernel = true;
		assert_int_equal(ask_for(&module), -ENODATA);
	}
}

/* A name stands for the only image that has it; during the first scan there may be others. */
TEST(several_of_a_name)
{
	const struct filter_module module = module_called("debug");
	open_at_base(ID);
	set_scanned(false);
	assert_int_equal(ask_for(&module), -EAGAIN);
	set_scanned(true);
	assert_int_equal(ask_for(&module), 0);
	const struct path_attr attr = {.mode = 0555};
	t.a.f->top = images_add_directory(&t.a.f->images, t.a.f->top, "sub", &attr);
	put_image(&t.a, THIRD_ID, "debug");
	assert_int_equal(ask_for(&module), -ENOTUNIQ);
}

TEST(names_of_windows)
{
	static const char *const files[] = {"a.exe", "b.dll", "c.sys", "d.efi", "e.drv", "f.ocx"};
	static const char ids[ARRAY_SIZE(files)][20] = {"aa00000000000001", "aa00000000000002",
							"aa00000000000003", "aa00000000000004",
							"aa00000000000005", "aa00000000000006"};
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		put_image(&t.a, ids[i], files[i]);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct filter_module module = module_called((const char[]){files[i][0], 0});
		assert_int_equal(ask_for(&module), -ENOENT);
		module.is_windows = true;
		assert_int_equal(ask_for(&module), -EAGAIN);
		assert_ptr_equal(t.call.wait.revision, revision_of(t.a.f, ids[i]));
	}
	struct filter_module none = module_called("g");
	none.is_windows = true;
	assert_int_equal(ask_for(&none), -ENOENT);
	struct filter_module longest = none;
	memset(longest.name, 'a', sizeof(longest.name) - 1);
	assert_int_equal(ask_for(&longest), -ENOENT);
	/* That without an ending comes first, and several are none. */
	put_image(&t.a, THIRD_ID, "b");
	struct filter_module module = module_called("/b");
	module.is_windows = true;
	assert_int_equal(ask_for(&module), -EAGAIN);
	assert_ptr_equal(t.call.wait.revision, revision_of(t.a.f, THIRD_ID));
}

TEST(by_id)
{
	struct filter_module module = module_called("debug");
	struct handle *handle = open_at_base(OTHER_ID);
	handle->addresses.has_ada = true;
	strcpy(module.id, OTHER_ID);
	assert_int_equal(ask_for(&module), 0);
	assert_ptr_equal(found.reader, handle->reader);
	assert_int_equal(found.base, 0x1000);
	assert_true(found.has_ada);
	assert_null(found.shown);
	assert_null(found.roots[0]);
	strcpy(module.id, "f"); /* the name is not asked for where there is an id */
	assert_int_equal(ask_for(&module), -ENOENT);
	strcpy(module.id, THIRD_ID);
	assert_int_equal(ask_for(&module), -ENOENT);
}

TEST(segments)
{
	struct filter_module module = {.id = ID};
	struct filter_segment got;
	struct handle *handle = open_at_base(ID);
	handle->addresses.n = 2;
	handle->addresses.segments[0].off = 1;
	handle->addresses.segments[0].addr = 2;
	handle->addresses.segments[0].size = 3;
	handle->addresses.segments[1].off = 4;
	handle->addresses.segments[1].addr = 5;
	handle->addresses.segments[1].size = 6;
	assert_int_equal(ask_for(&module), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_true(t.images.segment(t.images.user, &found, i, &got));
		assert_int_equal(got.off, 3 * i + 1);
		assert_int_equal(got.addr, 3 * i + 2);
		assert_int_equal(got.size, 3 * i + 3);
	}
	assert_false(t.images.segment(t.images.user, &found, 2, &got));
	assert_false(t.images.segment(t.images.user, &found, 3, &got));
}

/* Indexes of names are made for frames with symbols alone, one after the other. */
TEST(indexes)
{
	struct filter_module module = {.id = ID, .needs_names = true, .needs_shown = true};
	const struct filter_module addresses = {.id = ID}, stored = {.id = ID, .needs_names = true};
	struct handle *handle = open_at_base(ID);
	struct revision *rev = current(t.a.f);
	assert_int_equal(ask_for(&addresses), 0);
	for (enum symbol_names kind = NAMES_STORED; kind <= NAMES_SHOWN; kind++) {
		unsigned refs = atomic_load(&handle->refs);
		assert_int_equal(ask_for(&module), -EAGAIN);
		assert_int_equal(ask_for(&stored), kind == NAMES_STORED ? -EAGAIN : 0);
		assert_int_equal(ask_for(&module), -EAGAIN);
		assert_ptr_equal(t.call.wait.revision, rev);
		assert_int_equal(t.call.wait.part, kind);
		assert_int_equal(atomic_load(&handle->refs), refs);
		assert_int_equal(do_job(&t.a, &symbol_names_kind, rev, kind), 0);
	}
	assert_int_equal(t.prefetched.n, 0);
	assert_int_equal(ask_for(&module), 0);
	assert_non_null(found.shown);
	assert_int_equal(ask_for(&stored), 0);
	assert_null(found.shown);
	module.needs_names = false;
	assert_int_equal(ask_for(&module), 0);
	assert_non_null(found.shown);
}

EACH_TEST_FREES(log_fixture_set_up, log_fixture_tear_down)

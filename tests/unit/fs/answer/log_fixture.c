#include "tests/unit/fs/answer/log_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "fs/answer/symbol_names.h"
#include "tests/lib/unit.h"

struct log_fixture t;

/* ---- Between the file and its filter ---- */

struct filter *__real_filter_new(const struct filter_images *with, const struct filter_options *how);
int __real_filter_write(struct filter *to, const char *bytes, size_t size, enum filter_rest rest,
			struct text_buf *out, size_t *ret_used);

struct filter *__wrap_filter_new(const struct filter_images *with, const struct filter_options *how)
{
	t.images = *with;
	t.options = *how;
	return t.filter = __real_filter_new(with, how);
}

int __wrap_filter_write(struct filter *to, const char *bytes, size_t size, enum filter_rest rest,
			struct text_buf *out, size_t *ret_used)
{
	if (t.written.n < ARRAY_SIZE(t.written.sizes)) {
		t.written.sizes[t.written.n] = size;
		t.written.rest[t.written.n++] = rest;
	}
	*ret_used = size;
	return t.written.instead ? t.written.instead(out, ret_used)
				 : __real_filter_write(to, bytes, size, rest, out, ret_used);
}

void __wrap_requester_prefetch(struct requester *requester, struct image *image, bool whole)
{
	mutex_assert_held(&requester->answers->images->lock);
	assert_true(whole);
	assert_true(t.prefetched.n < ARRAY_SIZE(t.prefetched.images));
	t.prefetched.images[t.prefetched.n++] = image;
}

/* ---- Images ---- */

void log_fixture_set_up(void)
{
	memset(&t, 0, sizeof(t));
	answer_fixture_set_up(&t.a, NULL, &symbol_names_kind);
	t.call.on_runner = true;
	put_image(&t.a, ID, "debug");
	put_image(&t.a, OTHER_ID, "other");
	scanned(t.a.f, 0);
	open_log(OWNER);
}

void log_fixture_tear_down(void)
{
	stream_free(t.stream);
	answer_fixture_tear_down(&t.a);
}

struct handle *open_at_base(const char *id)
{
	static const struct made_function functions[] = {
		{.start = 0x1000, .size = 0x10, .name = "f", .line = 10},
		{.start = 0x1010, .size = 0x10, .name = "_ZN1f3oneEv", .line = 20},
		{.start = 0x1020, .size = 0x10, .name = "one", .line = 30, .twin = "two"},
	};
	struct handle *handle = open_image(&t.a, id, functions, ARRAY_SIZE(functions));
	handle->addresses.base = 0x1000;
	return handle;
}

void set_scanned(bool scanned)
{
	mutex_lock(&t.a.f->images.lock);
	t.a.f->images.scanned = scanned;
	mutex_unlock(&t.a.f->images.lock);
}

/* ---- A log ---- */

struct caller user(uid_t uid)
{
	gid_t *groups = malloc(sizeof(*groups));
	assert_non_null(groups);
	*groups = GROUP;
	return (struct caller){.uid = uid, .gid = uid, .groups = groups, .n_groups = 1};
}

void open_log(uid_t uid)
{
	stream_free(t.stream);
	t.stream = log_file_new(&t.a.answers, user(uid));
	assert_non_null(t.stream);
	t.stream->slices.until = INT64_MAX;
}

void write_log(const char *text)
{
	uint64_t off = t.stream->buf.base + t.stream->buf.results.n;
	assert_int_equal(stream_write(t.stream, off, false, text, strlen(text)), 0);
}

int answer(void)
{
	t.call.wait = (struct wait){.revision = NULL};
	return t.stream->kind->answer(t.stream, &t.call, 1);
}

void expect_results(const char *text)
{
	const struct text_buf *results = &t.stream->buf.results;
	if (results->n != strlen(text) || (results->n && memcmp(results->v, text, results->n) != 0))
		fail_msg("'%.*s' instead of '%s'", (int)results->n, results->v, text);
}

void reads(const char *log, const char *text)
{
	int err;
	write_log(log);
	while (!(err = answer()))
		;
	assert_int_equal(err, 1);
	expect_results(text);
	text_reset(&t.stream->buf.results);
}

/* What calls wait for during the first scan: each thing once, in order, and no more than some. */
#include "tests/unit/fs/images/images_fixture.h"

#include "fs/call/runners.h"
#include "fs/images/catalogue.h"
#include "fs/images/scan_request.h"
#include "tests/lib/unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };

static void add_id(struct images_fixture *f, struct call *call, const char *id)
{
	mutex_lock(&f->images.lock);
	scan_request_add_id(&f->images, call, id);
	mutex_unlock(&f->images.lock);
}

static void add_path(struct images_fixture *f, struct call *call, uint32_t dir, const char *name)
{
	mutex_lock(&f->images.lock);
	scan_request_add_path(&f->images, call, dir, name);
	mutex_unlock(&f->images.lock);
}

/* The next one, as text. */
static const char *take(struct images_fixture *f, uint64_t number)
{
	static char text[PATH_MAX];
	struct scan_request request = {.path = NULL};
	if (!scan_request_take(&f->images, &request))
		return "none";
	assert_int_equal(request.number, number);
	snprintf(text, sizeof(text), "%s", request.path ? request.path : request.id);
	free(request.path);
	return text;
}

TEST_OF(in_order, struct images_fixture, f)
{
	struct call a = {.size = 0}, b = a, c = a;
	assert_false(scan_request_any(&f->images));
	assert_string_equal(take(f, 0), "none");
	add_id(f, &a, "aa");
	assert_true(scan_request_any(&f->images));
	add_id(f, &b, "bb");
	add_id(f, &c, "aa"); /* is looked for already */
	assert_int_equal(a.scan_request, 1);
	assert_int_equal(b.scan_request, 2);
	assert_int_equal(c.scan_request, 1);
	assert_string_equal(take(f, 1), "aa");
	assert_true(scan_request_any(&f->images));
	assert_string_equal(take(f, 2), "bb");
	assert_false(scan_request_any(&f->images));
	/* Once for each call. */
	add_id(f, &a, "aa");
	assert_false(scan_request_any(&f->images));
	add_id(f, &a, "cc");
	assert_int_equal(a.scan_request, 3);
	add_id(f, &a, "aa"); /* it has asked for something else meanwhile */
	assert_int_equal(a.scan_request, 4);
	assert_string_equal(take(f, 3), "cc");
	assert_string_equal(take(f, 4), "aa");
}

TEST_OF(paths, struct images_fixture, f)
{
	const struct path_attr attr = {.mode = 0755};
	struct call a = {.size = 0}, b = a, c = a, d = a;
	uint32_t dir = images_add_directory(&f->images, f->top, "usr", &attr),
		 sub = images_add_directory(&f->images, dir, "lib", &attr);
	add_path(f, &a, f->top, "x");
	add_path(f, &b, sub, "libc.so");
	add_id(f, &c, "x"); /* an id is not the path that is spelt so */
	add_path(f, &d, sub, "libc.so");
	assert_int_equal(b.scan_request, d.scan_request);
	assert_string_equal(take(f, 1), "x");
	assert_string_equal(take(f, 2), "usr/lib/libc.so");
	assert_string_equal(take(f, 3), "x");
	assert_string_equal(take(f, 0), "none");
}

/* What is longer than any path is not looked for. */
TEST_OF(long_paths, struct images_fixture, f)
{
	const struct path_attr attr = {.mode = 0755};
	char name[201];
	uint32_t dir = f->top;
	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	size_t size = 0;
	while (size + sizeof(name) < PATH_MAX - 20) {
		dir = images_add_directory(&f->images, dir, name, &attr);
		size += sizeof(name);
	}
	/* With the name and the final zero. */
	char last[256];
	memset(last, 'f', sizeof(last));
	last[PATH_MAX - 1 - size] = 0;
	struct call a = {.size = 0}, b = a;
	add_path(f, &a, dir, last);
	assert_int_equal(strlen(take(f, 1)), PATH_MAX - 1);
	last[PATH_MAX - 1 - size] = 'f';
	last[PATH_MAX - size] = 0;
	add_path(f, &b, dir, last);
	assert_int_equal(b.scan_request, 0);
	assert_false(scan_request_any(&f->images));
}

TEST_OF(no_more_than_some, struct images_fixture, f)
{
	struct call calls[MOST + 2];
	char id[ID_TEXT_SIZE];
	memset(calls, 0, sizeof(calls));
	for (size_t i = 0; i <= MOST; i++) {
		snprintf(id, sizeof(id), "%04zx", i);
		add_id(f, &calls[i], id);
		assert_int_equal(calls[i].scan_request, i < MOST ? i + 1 : 0);
	}
	assert_string_equal(take(f, 1), "0000");
	add_id(f, &calls[MOST], id); /* now there is room */
	assert_int_equal(calls[MOST].scan_request, MOST + 1);
	add_path(f, &calls[MOST + 1], f->top, "x");
	assert_int_equal(calls[MOST + 1].scan_request, 0);
	mutex_lock(&f->images.lock);
	scan_request_clear(&f->images);
	mutex_unlock(&f->images.lock);
	assert_false(scan_request_any(&f->images));
	assert_string_equal(take(f, 0), "none");
}

/* Calls that wait for what was looked for are woken, and no others. */
TEST_OF(done, struct images_fixture, f)
{
	struct runners runners = {.lock = &f->images.lock};
	struct call a = {.runners = &runners, .state = CALL_PARKED}, b = a, c = a;
	struct scan_request request;
	struct list woken;
	list_init(&woken);
	add_id(f, &a, "aa");
	add_id(f, &b, "bb");
	add_id(f, &c, "aa");
	mutex_lock(&f->images.lock);
	list_append(&f->images.scan_waiters, &a.link);
	list_append(&f->images.scan_waiters, &b.link);
	list_append(&f->images.scan_waiters, &c.link);
	mutex_unlock(&f->images.lock);
	assert_true(scan_request_take(&f->images, &request));
	scan_request_done(&f->images, &request, &woken);
	assert_ptr_equal(list_take(&woken), &a.link);
	assert_ptr_equal(list_take(&woken), &c.link);
	assert_null(list_take(&woken));
	mutex_lock(&f->images.lock);
	assert_ptr_equal(list_take(&f->images.scan_waiters), &b.link);
	mutex_unlock(&f->images.lock);
	assert_string_equal(take(f, 2), "bb");
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

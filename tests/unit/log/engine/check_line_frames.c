/* Lines as the filter takes them: which format gets a line, what is learned, buffered, flushed or copied. */
#include "tests/unit/log/formats/log_lines.h"

#include "log/engine/filter.h"
#include "log/engine/filter_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

/* ---- A filter ---- */

static struct filter *filter;
static struct text_buf out;
static int find_err; /* of the image of any module */

static int no_image(void *user, const struct filter_module *module, struct filter_image *ret)
{
	(void)user, (void)module, (void)ret;
	return find_err;
}

static int set_up(void **state)
{
	static const struct filter_images images = {.find = no_image};
	static const struct filter_options options = {.demangle = DEMANGLE_AUTO};
	(void)state;
	find_err = -ENOENT;
	filter = filter_new(&images, &options);
	assert_non_null(filter);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	filter_free(filter);
	text_deinit(&out);
	out.failed = false;
	return 0;
}

static int take(const char *line)
{
	text_deinit(&out);
	return filter_take_line(filter, line, strlen(line), &out);
}

/* All that the last line made the filter write. */
static void wrote(const char *text)
{
	assert_int_equal(out.n, strlen(text));
	assert_memory_equal(out.n ? out.v : "", text, out.n);
}

/* So many lines are kept until more is known, and nothing was written. */
static void buffered(size_t n, const char *text)
{
	const struct stack_buffer *buffer = &filter->stack.buffer;
	wrote("");
	assert_int_equal(buffer->lines.n, n);
	assert_int_equal(buffer->text.n, strlen(text));
	assert_memory_equal(buffer->text.v, text, buffer->text.n);
}

/* ---- Pieces of text ---- */

TEST(contents)
{
	static const struct {
		const char *line;
		size_t size;
	} rows[] = {
		{"", 0},      {"\n", 0},    {"\r\n", 0},     {"\r", 0},    {"a", 1},
		{"a\n", 1},   {"a\r\n", 1}, {"a\r", 1},      {"a\n\n", 2}, {"a\r\r\n", 2},
		{"a\n\r", 2}, {"a\nb", 3},  {"a\r\nb\n", 4},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t size = strlen(rows[i].line);
		/* In memory of its size, for sanitizers. */
		char *copy = malloc(size + 1), *line = copy + 1;
		*copy = '\r';
		memcpy(line, rows[i].line, size);
		const struct text_scan text = line_content(line, size);
		assert_ptr_equal(text.at, line);
		assert_int_equal(scan_left(&text), rows[i].size);
		free(copy);
	}
}

/* ---- Which format ---- */

/* One line of each, which others might take for theirs. */
TEST(formats)
{
	static const struct {
		const char *line;
		const struct log_format *format;
		size_t n;
	} rows[] = {
		{"{{{symbol:_ZN1f3oneEv}}}", &format_markup, 1},
		{"0x5581f7f2a010 ???", &format_address, 1},
		{" f+0x4/0x10", &format_kernel, 1},
		{" f+0x4/0x10\n", &format_kernel, 1},
		{" f+0x4/0x10\r\n", &format_kernel, 1},
		{"    #0 0x55d7 in main (/bin/app+0x1139)", &format_numbered, 1},
		{"      #01 pc 0000000000001139  /system/lib64/libexample.so", &format_android, 1},
		{"app(+0x1139) [0x55d7]", &format_offset, 1},
		{"\t            1139 main+0x4 (/bin/app)", &format_perf, 1},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		stack_buffer_reset(&filter->stack.buffer);
		assert_int_equal(take(rows[i].line), 0);
		if (filter->stack.buffer.format != rows[i].format)
			fail_msg("'%s' has another format", rows[i].line);
		assert_int_equal(filter->stack.buffer.frames.n, rows[i].n);
		buffered(1, rows[i].line);
	}
}

/* ---- What becomes of a line ---- */

#define KERNEL  " f+0x4/0x10\n"
#define ADDRESS "0x5581f7f2a010 ???\n"

TEST(frames)
{
	assert_int_equal(take(KERNEL), 0);
	buffered(1, KERNEL);
	assert_int_equal(take(KERNEL), 0);
	buffered(2, KERNEL KERNEL);
	/* What does not go on ends what is buffered. If that must wait, the line is offered again. */
	find_err = -EAGAIN;
	assert_int_equal(take(ADDRESS), -EAGAIN);
	buffered(2, KERNEL KERNEL);
	find_err = -ENOENT;
	assert_int_equal(take(ADDRESS), 0);
	wrote(KERNEL KERNEL);
	text_deinit(&out);
	buffered(1, ADDRESS);
}

/* Without memory for one more line it is not consumed. */
TEST(frames_without_memory)
{
	for (int n = 0, err = -ENOMEM; err; n++) {
		stack_buffer_deinit(&filter->stack.buffer);
		memset(&filter->stack.buffer, 0, sizeof(filter->stack.buffer));
		allowed = n;
		err = take(KERNEL);
		bool hit = end_allocations();
		assert_int_equal(err, hit ? -ENOMEM : 0);
		assert_int_equal(filter->stack.buffer.lines.n, !hit);
		assert_int_equal(out.n, 0);
	}
}

TEST(others)
{
	static const char *const lines[] = {"no frames\r\n", "last", "\n"};
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		assert_int_equal(take(lines[i]), 0);
		wrote(lines[i]);
	}
	/* Registers between the head of a stack and its callers. What is no part of it comes after it. */
	assert_int_equal(take("RIP: 0010:f+0x4/0x10\n"), 0);
	assert_int_equal(take("Code: 48 89\n"), 0);
	buffered(2, "RIP: 0010:f+0x4/0x10\nCode: 48 89\n");
	find_err = -EAGAIN;
	assert_int_equal(take("---[ end trace 0 ]---\n"), -EAGAIN);
	buffered(2, "RIP: 0010:f+0x4/0x10\nCode: 48 89\n");
	find_err = -ENOENT;
	assert_int_equal(take("---[ end trace 0 ]---\n"), 0);
	wrote("RIP: 0010:f+0x4/0x10\nCode: 48 89\n---[ end trace 0 ]---\n");
	/* Output that is lost is no success. */
	out.failed = true;
	assert_int_equal(filter_take_line(filter, "x\n", 2, &out), -ENOMEM);
}

/* ---- What is learned ---- */

#define BOOTS "Linux version 6.1.0-13-amd64 (x@y) (gcc) #1 SMP\n"
#define RUNS  "CPU: 0 PID: 1 Comm: x Not tainted 6.1.0-13-amd64 #1\n"

TEST(kernels)
{
	static const char stack[] = "RIP: 0010:f+0x4/0x10\n";
	assert_int_equal(take(stack), 0);
	assert_int_equal(take(RUNS), 0);
	/* Frames that were before it get to know the kernel, too. */
	assert_string_equal(filter->context.kernel.release, "6.1.0-13-amd64");
	assert_string_equal(filter->stack.buffer.frames.v[0].is.module.release, "6.1.0-13-amd64");
	/* Another kernel: what was before is written before, even if the line is of the stack. */
	assert_int_equal(
		vec_push(&filter->stack.evidence.modules, (struct module_evidence){.rejected = true}), 0);
	find_err = -EAGAIN;
	assert_int_equal(take(BOOTS), -EAGAIN);
	assert_int_equal(filter->stack.evidence.modules.n, 1);
	find_err = -ENOENT;
	assert_int_equal(take(BOOTS), 0);
	assert_int_equal(filter->stack.buffer.frames.n, 0);
	assert_int_equal(filter->stack.evidence.modules.n, 0);
	assert_memory_equal(out.v, stack, strlen(stack));
	/* Once. */
	assert_int_equal(take(stack), 0);
	assert_int_equal(take("CPU: 0\n"), 0);
	assert_false(filter->context.kernel_booted);
	assert_int_equal(filter->stack.buffer.frames.n, 1);
}

/* Modules of markup, which is the first format; without memory the line is not consumed. */
TEST(modules)
{
	static const char line[] = "{{{module:1:app:elf:" ID "}}}\n";
	allowed = 0;
	assert_int_equal(take(line), -ENOMEM);
	assert_int_equal(allowed, -1);
	wrote("");
	assert_int_equal(filter->context.markup.list.n, 0);
	assert_int_equal(take(line), 0);
	assert_int_equal(filter->context.markup.list.n, 1);
	wrote(line);
}

EACH_TEST(set_up, tear_down)

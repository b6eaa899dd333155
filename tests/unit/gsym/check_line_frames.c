/* Lines as the filter takes them: which format gets a line, what is learned, buffered, flushed or copied. */
#include "log_lines.h"

#include "log/engine/filter.h"
#include "log/engine/filter_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

/* ---- In place of the pending stack ---- */

/* What was done since the last line, and what is to happen. */
static struct {
	int flush_err, add_err;
	bool continues, spans;
	unsigned flushes, kernels, resets, added, gaps, asked_frames, asked_gap;
	const struct log_format *format; /* of what was added */
	size_t n;                        /* frames, likewise */
	char line[200];
} stack;

static struct filter *filter;
static struct text_buf out;

int __wrap_pending_stack_flush(struct pending_stack *pending, const struct filter_images *images,
			       const struct filter_options *options, struct text_buf *to);
void __wrap_pending_stack_set_kernel(struct pending_stack *pending, const struct filter_module *kernel);
void __wrap_build_evidence_reset(struct build_evidence *evidence);
bool __wrap_stack_buffer_continues(const struct stack_buffer *buffer, const struct log_format *format,
				   const char *line, size_t size, const struct log_frame *frames, size_t n);
bool __wrap_stack_buffer_spans(const struct stack_buffer *buffer, struct text_scan text, size_t size);
int __wrap_stack_buffer_add(struct stack_buffer *buffer, const struct log_format *format, const char *line,
			    size_t size, const struct log_frame *frames, size_t n);
int __wrap_stack_buffer_add_gap(struct stack_buffer *buffer, struct text_scan text, const char *line,
				size_t size);

int __wrap_pending_stack_flush(struct pending_stack *pending, const struct filter_images *images,
			       const struct filter_options *options, struct text_buf *to)
{
	assert_ptr_equal(pending, &filter->stack);
	assert_ptr_equal(images, &filter->images);
	assert_ptr_equal(options, &filter->options);
	assert_ptr_equal(to, &out);
	assert_int_equal(stack.added + stack.gaps, 0); /* before the line */
	stack.flushes++;
	return stack.flush_err;
}

void __wrap_pending_stack_set_kernel(struct pending_stack *pending, const struct filter_module *kernel)
{
	assert_ptr_equal(pending, &filter->stack);
	assert_ptr_equal(kernel, &filter->context.kernel);
	assert_int_equal(stack.flushes, 0);
	stack.kernels++;
}

void __wrap_build_evidence_reset(struct build_evidence *evidence)
{
	assert_ptr_equal(evidence, &filter->stack.evidence);
	assert_int_equal(stack.flushes, 1); /* what was before belongs to the old kernel */
	stack.resets++;
}

bool __wrap_stack_buffer_continues(const struct stack_buffer *buffer, const struct log_format *format,
				   const char *line, size_t size, const struct log_frame *frames, size_t n)
{
	(void)format, (void)line, (void)size, (void)frames;
	assert_ptr_equal(buffer, &filter->stack.buffer);
	assert_true(n > 0);
	stack.asked_frames++;
	return stack.continues;
}

bool __wrap_stack_buffer_spans(const struct stack_buffer *buffer, struct text_scan text, size_t size)
{
	assert_ptr_equal(buffer, &filter->stack.buffer);
	assert_true(scan_left(&text) <= size);
	stack.asked_gap++;
	return stack.spans;
}

static void keep(const char *line, size_t size)
{
	assert_true(size < sizeof(stack.line));
	memcpy(stack.line, line, size);
	stack.line[size] = 0;
}

int __wrap_stack_buffer_add(struct stack_buffer *buffer, const struct log_format *format, const char *line,
			    size_t size, const struct log_frame *frames, size_t n)
{
	(void)frames;
	assert_ptr_equal(buffer, &filter->stack.buffer);
	stack.added++;
	stack.format = format;
	stack.n = n;
	keep(line, size);
	return stack.add_err;
}

int __wrap_stack_buffer_add_gap(struct stack_buffer *buffer, struct text_scan text, const char *line,
				size_t size)
{
	assert_ptr_equal(buffer, &filter->stack.buffer);
	assert_ptr_equal(text.at, line);
	stack.gaps++;
	keep(line, size);
	return stack.add_err;
}

/* ---- A filter ---- */

static int no_image(void *user, const struct filter_module *module, struct filter_image *ret)
{
	(void)user, (void)module, (void)ret;
	return -ENOENT;
}

static int set_up(void **state)
{
	static const struct filter_images images = {.find = no_image};
	static const struct filter_options options = {.demangle = DEMANGLE_AUTO};
	(void)state;
	memset(&stack, 0, sizeof(stack));
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

/* Takes a line, as if the stack had not been asked before. */
static int take(const char *line)
{
	stack.flushes = stack.kernels = stack.resets = stack.added = stack.gaps = 0;
	stack.asked_frames = stack.asked_gap = 0;
	stack.format = NULL;
	text_deinit(&out);
	return filter_take_line(filter, line, strlen(line), &out);
}

static void copied(const char *line)
{
	assert_int_equal(out.n, strlen(line));
	assert_memory_equal(out.v, line, out.n);
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
		assert_int_equal(take(rows[i].line), 0);
		if (stack.format != rows[i].format)
			fail_msg("'%s' has another format", rows[i].line);
		assert_int_equal(stack.added, 1);
		assert_int_equal(stack.n, rows[i].n);
		assert_string_equal(stack.line, rows[i].line);
		assert_int_equal(out.n, 0);
	}
}

/* ---- What becomes of a line ---- */

TEST(frames)
{
	/* What does not go on ends what is buffered. */
	assert_int_equal(take(" f+0x4/0x10\n"), 0);
	assert_int_equal(stack.flushes, 1);
	assert_int_equal(stack.asked_frames, 1);
	assert_int_equal(stack.asked_gap, 0);
	assert_int_equal(stack.added, 1);
	stack.continues = true;
	assert_int_equal(take(" f+0x4/0x10\n"), 0);
	assert_int_equal(stack.flushes, 0);
	assert_int_equal(stack.added, 1);
	stack.add_err = -ENOMEM;
	assert_int_equal(take(" f+0x4/0x10\n"), -ENOMEM);
	stack.add_err = 0;
	/* If that must wait, the line is offered again. */
	stack.continues = false;
	stack.flush_err = -EAGAIN;
	assert_int_equal(take(" f+0x4/0x10\n"), -EAGAIN);
	assert_int_equal(stack.flushes, 1);
	assert_int_equal(stack.added, 0);
	assert_int_equal(out.n, 0);
}

TEST(others)
{
	assert_int_equal(take("no frames\r\n"), 0);
	copied("no frames\r\n");
	assert_int_equal(stack.flushes, 1);
	assert_int_equal(stack.asked_gap, 1);
	assert_int_equal(stack.asked_frames + stack.added + stack.gaps, 0);
	assert_int_equal(take("last"), 0);
	copied("last");
	assert_int_equal(take("\n"), 0);
	copied("\n");
	stack.flush_err = -EAGAIN;
	assert_int_equal(take("no frames\n"), -EAGAIN);
	assert_int_equal(out.n, 0);
	stack.flush_err = 0;
	/* Between frames of a stack. */
	stack.spans = true;
	assert_int_equal(take("no frames\n"), 0);
	assert_int_equal(stack.flushes, 0);
	assert_int_equal(stack.gaps, 1);
	assert_string_equal(stack.line, "no frames\n");
	assert_int_equal(out.n, 0);
	stack.add_err = -ENOMEM;
	assert_int_equal(take("no frames\n"), -ENOMEM);
	/* Output that is lost is no success. */
	stack.spans = false;
	out.failed = true;
	assert_int_equal(take("x\n"), -ENOMEM);
}

/* ---- What is learned ---- */

#define BOOTS "Linux version 6.1.0-13-amd64 (x@y) (gcc) #1 SMP\n"
#define RUNS  "CPU: 0 PID: 1 Comm: x Not tainted 6.1.0-13-amd64 #1\n"

TEST(kernels)
{
	stack.spans = true;
	assert_int_equal(take(RUNS), 0);
	assert_int_equal(stack.kernels, 1);
	assert_int_equal(stack.resets, 0);
	assert_int_equal(stack.flushes, 0);
	assert_string_equal(filter->context.kernel.release, "6.1.0-13-amd64");
	assert_int_equal(take("another line\n"), 0);
	assert_int_equal(stack.kernels, 0);
	assert_false(filter->context.kernel_noted);
	/* Another kernel: what was before is written before, even if the line is of the stack. */
	assert_int_equal(take(BOOTS), 0);
	assert_int_equal(stack.kernels, 0);
	assert_int_equal(stack.flushes, 1);
	assert_int_equal(stack.resets, 1);
	assert_int_equal(stack.gaps, 1);
	assert_int_equal(take("another line\n"), 0);
	assert_int_equal(stack.flushes, 0);
	assert_int_equal(stack.resets, 0);
	assert_false(filter->context.kernel_booted);
	stack.flush_err = -EAGAIN;
	assert_int_equal(take(BOOTS), -EAGAIN);
	assert_int_equal(stack.flushes, 1);
	assert_int_equal(stack.resets, 0);
	assert_int_equal(stack.gaps + stack.added, 0);
}

/* Modules of markup, which is the first format; without memory the line is not consumed. */
TEST(modules)
{
	static const char line[] = "{{{module:1:app:elf:" ID "}}}\n";
	allowed = 0;
	assert_int_equal(take(line), -ENOMEM);
	assert_int_equal(allowed, -1);
	assert_int_equal(stack.flushes + stack.added + stack.gaps, 0);
	assert_int_equal(out.n, 0);
	assert_int_equal(filter->context.markup.list.n, 0);
	assert_int_equal(take(line), 0);
	assert_int_equal(filter->context.markup.list.n, 1);
	copied(line);
}

EACH_TEST(set_up, tear_down)

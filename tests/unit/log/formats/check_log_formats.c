/*
 * Each log format by itself: which frames it finds in a line, and what it learns from one. line_frames.c
 * offers a line to the formats in turn; here every line goes to one, as it is.
 */
#include "tests/unit/log/formats/log_lines.h"
#include "tests/unit/gsym/sample.h"

#include "log/line/log_format.h"
#include "log/maps/memory_map.h"
#include "log/formats/report_lines.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Descriptions ---- */

static void describe_module(struct text_buf *out, const struct filter_module *m)
{
	static const char *const kinds[] = {"", " kernel"};
	text_lit(out, " of ");
	text_str(out, m->name);
	text_str(out, m->id[0] ? "=" : "");
	text_str(out, m->id);
	text_str(out, kinds[m->is_kernel]);
	text_str(out, m->release[0] ? " " : "");
	text_str(out, m->release);
	text_str(out, m->is_windows ? " windows" : "");
	text_str(out, m->is_word ? " word" : "");
	text_str(out, m->needs_shown ? " shown" : "");
}

static void describe_number(struct text_buf *out, const char *what, uint64_t value)
{
	if (!value)
		return;
	text_str(out, what);
	text_hex(out, value, 1);
}

/* "{what the answer replaces} rva 10 exact #1 of module=id" */
static void describe_frame(struct text_buf *out, const char *line, const struct log_frame *f)
{
	static const char *const spaces[] = {" link ", " fixed ", " rva ",  " file ",   " bpf ",
					     " perf ", " code ",  " name ", " mangled "};
	static const char *const kinds[] = {" exact", " return", " adjusted"};
	static const char *const styles[] = {" apple",     " kernel",   " sanitizer", " threads",
					     " summary",   " android",  " coredump",  " backtrace",
					     " pc",        " symbol",   " ips",       " members",
					     " stackwalk", " minidump", " folded",    ""};
	text_char(out, '{');
	text_bytes(out, line + f->from, f->to - f->from);
	text_char(out, '}');
	if (f->from == f->to)
		text_dec(out, f->from);
	bool has_tail = f->style == STYLE_SANITIZER || f->style == STYLE_MINIDUMP;
	describe_number(out, " tail -", has_tail ? f->to - f->tail : 0);
	text_str(out, spaces[f->space]);
	bool has_symbol = f->space == FRAME_NAME || f->space == FRAME_MANGLED;
	if (has_symbol) {
		text_bytes(out, line + f->symbol_from, f->symbol_to - f->symbol_from);
		text_char(out, '+');
	}
	text_hex(out, f->address, 1);
	describe_number(out, "/", has_symbol ? f->symbol_size : 0);
	describe_number(out, " shown ", f->shown);
	describe_number(out, " mapped ", f->space == FRAME_PERF ? ~f->mapped : 0);
	describe_number(out, " size ", f->space == FRAME_CODE ? f->code_size : 0);
	text_str(out, styles[f->style]);
	if (f->style == STYLE_APPLE) {
		text_char(out, ' ');
		text_bytes(out, line + f->label_from, f->label_to - f->label_from);
	}
	text_str(out, kinds[f->kind]);
	if (f->has_number) {
		text_lit(out, " #");
		text_dec(out, f->number);
	}
	describe_number(out, " thread ", f->thread);
	text_str(out, f->head ? " head" : "");
	text_str(out, f->apart ? " apart" : "");
	text_str(out, f->first_exact ? " first" : "");
	text_str(out, f->silent ? " silent" : "");
	text_str(out, f->unmapped ? " unmapped" : "");
	describe_module(out, &f->module);
}

/* What the line has told of a kernel. */
static void describe_context(struct text_buf *out, struct log_context *context)
{
	if (context->kernel_noted || context->kernel_booted) {
		text_str(out, context->kernel_booted ? "booted" : "noted");
		describe_module(out, &context->kernel);
	}
	if (context->kernel_range.size) {
		describe_number(out, "at ", context->kernel_range.start);
		describe_number(out, " moved by ", context->kernel_range.slide);
	}
	context->kernel_range.size = 0;
	context->kernel_noted = context->kernel_booted = false;
}

static void describe_gap(struct text_buf *out, const struct log_format *format, struct text_scan line)
{
	static const char *const gaps[] = {"ends", "inside", "head"};
	uint64_t thread;
	text_str(out, gaps[format->gap(line, &thread)]);
	describe_number(out, " of ", thread);
}

/* What kind of line it is of a report, and the frames in its list of addresses. */
static void describe_apple(struct text_buf *out, const struct log_context *context, struct text_scan line)
{
	static const char *const kinds[] = {"",          "report",    "thread", "frame",
					    "addresses", "backtrace", "images", "image"};
	struct apple_addresses addresses;
	text_str(out, kinds[apple_line_kind(line)]);
	if (!apple_addresses_parse(line, &addresses))
		return;
	text_char(out, ' ');
	text_bytes(out, addresses.title.at, scan_left(&addresses.title));
	text_char(out, '|');
	while (apple_addresses_next(&addresses, &context->apple, out))
		text_char(out, '|');
}

/* Offers the line to a format, which learns from it before it looks for frames. */
static void describe(struct text_buf *out, const struct log_format *format, struct log_context *context,
		     const char *text)
{
	/* Its own memory, so that sanitizers see what is read beside it. */
	size_t size = strlen(text);
	char *line = malloc(size + !size);
	struct log_frame frames[LINE_FRAMES_MAX];
	memcpy(line, text, size);
	const struct text_scan scan = scan_from(line, line + size);
	text_reset(out);
	if (format->note || format == &format_apple)
		assert_int_equal((format->note ? format->note : apple_note)(context, scan), 0);
	describe_context(out, context);
	size_t n = format->find(context, scan, frames);
	for (size_t i = 0; i < n; i++) {
		text_str(out, i ? "; " : "");
		describe_frame(out, line, &frames[i]);
	}
	if (!n && !out->n && format->gap)
		describe_gap(out, format, scan);
	if (!n && format == &format_apple)
		describe_apple(out, context, scan);
	free(line);
}

/* ---- Lines ---- */

/* A context with empty maps, one module that a log has declared, and all marks. */
struct places {
	struct log_context context;
	struct memory_map mapped, events, given, fixed;
};

static void places_init(struct places *p)
{
	memset(p, 0, sizeof(*p));
	p->context.mapped = &p->mapped;
	p->context.events = &p->events;
	p->context.given = &p->given;
	p->context.fixed = &p->fixed;
	p->context.marks = ~0U;
	p->context.in_report = true;
	const struct log_module known = {.is = {.name = "/lib/known.so", .id = ID}};
	assert_int_equal(modules_add(&p->context.named, &known, false), 0);
}

static void places_deinit(struct places *p)
{
	log_context_deinit(&p->context);
	memory_map_deinit(&p->mapped);
	memory_map_deinit(&p->events);
	memory_map_deinit(&p->given);
	memory_map_deinit(&p->fixed);
}

TEST(lines)
{
	struct text_buf out = {0};
	for (size_t i = 0; i < N_LOG_LINES; i++) {
		struct places p;
		places_init(&p);
		for (size_t k = 0; k < log_lines[i].n; k++) {
			describe(&out, log_lines[i].format, &p.context, log_lines[i].steps[k].line);
			text_char(&out, '\0');
			if (strcmp(out.v, log_lines[i].steps[k].expected) != 0)
				print_error("%s\n", log_lines[i].steps[k].line);
			assert_string_equal(out.v, log_lines[i].steps[k].expected);
		}
		places_deinit(&p);
	}
	text_deinit(&out);
}

/* Pieces of lines that are a frame each, as often as a line may have any. */
TEST(many_frames)
{
	static const struct {
		const struct log_format *format;
		const char *piece;
	} pieces[] = {
		{&format_kernel, " f+0x4/0x10"}, {&format_markup, "{{{symbol:f}}}"},
		{&format_plain, ID "+0x4 "},     {&format_absolute, "/a[0x1] "},
		{&format_offset, "[a+0x4] "},    {&format_address, "0x12345678 ?? "},
	};
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		static char line[LINE_FRAMES_MAX * 64];
		struct log_frame frames[LINE_FRAMES_MAX];
		struct places p;
		places_init(&p);
		line[0] = 0;
		for (size_t n = 1; n <= LINE_FRAMES_MAX + 1; n++) {
			strcat(line, pieces[i].piece);
			const struct text_scan scan = scan_from(line, line + strlen(line));
			size_t found = pieces[i].format->find(&p.context, scan, frames);
			assert_int_equal(found, n < LINE_FRAMES_MAX ? n : LINE_FRAMES_MAX);
		}
		places_deinit(&p);
	}
}

/* Symbols of just the longest size, where formats take any. */
TEST(long_symbols)
{
	static const struct {
		const struct log_format *format;
		const char *head, *tail;
		int longest;
	} symbols[] = {
		{&format_kernel, " ", "+0x4/0x10", FILTER_SYMBOL_SIZE - 1},
		{&format_ksym, " ", "+4", FILTER_SYMBOL_SIZE - 1},
		{&format_perf, " 10 ", "+0x4 (/opt/app)", FILTER_SYMBOL_SIZE - 1},
		{&format_offset, "/app(", "+0x4) [0x1]", FILTER_SYMBOL_SIZE - 2},
		{&format_offset, "app!", "+0x4", FILTER_SYMBOL_SIZE - 1},
		{&format_offset, "app`", " + 4", FILTER_SYMBOL_SIZE - 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		for (int size = FILTER_SYMBOL_SIZE - 3; size <= FILTER_SYMBOL_SIZE; size++) {
			static char name[FILTER_SYMBOL_SIZE + 1], line[2 * FILTER_SYMBOL_SIZE];
			struct log_frame frames[LINE_FRAMES_MAX];
			struct places p;
			places_init(&p);
			memset(name, 'f', sizeof(name) - 1);
			int n = snprintf(line, sizeof(line), "%s%.*s%s", symbols[i].head, size, name,
					 symbols[i].tail);
			bool found = symbols[i].format->find(&p.context, scan_from(line, line + n), frames) &&
				     frames[0].space == FRAME_NAME;
			assert_int_equal(found, size <= symbols[i].longest);
			assert_true(!found || (int)(frames[0].symbol_to - frames[0].symbol_from) == size);
			places_deinit(&p);
		}
	}
}

/* The bytes that a name or path cannot have before an offset. */
TEST(ends_of_names)
{
	static const char ends[] = "()[]{}<>|,;=:`\"!*'?\x7f";
	for (int c = 1; c <= UINT8_MAX; c++) {
		const char text[] = {'x', (char)c, '/', 'b', '+', '0', 'x', '4'};
		struct log_frame frames[LINE_FRAMES_MAX];
		struct places p;
		places_init(&p);
		assert_int_equal(format_offset.find(&p.context, scan_from(text, text + sizeof(text)), frames),
				 1);
		const struct filter_module *m = &frames[0].module;
		if (c == '!') /* a symbol follows */
			assert_string_equal(m->name, "x");
		else if (c <= ' ' || strchr(ends, c))
			assert_string_equal(m->name, "/b");
		else
			assert_memory_equal(m->name, text, 4);
		assert_int_equal(strlen(m->name), c == '!' ? 1 : c <= ' ' || strchr(ends, c) ? 2 : 4);
		places_deinit(&p);
	}
}

/* ---- Names and ids of modules ---- */

TEST(names)
{
	char text[FILTER_NAME_SIZE + 20], want[FILTER_NAME_SIZE];
	for (size_t size = FILTER_NAME_SIZE - 2; size <= FILTER_NAME_SIZE + 1; size++) {
		struct filter_module module = {.id = ""};
		size_t kept = size < FILTER_NAME_SIZE ? size : FILTER_NAME_SIZE - 1;
		memset(text, 'a', size);
		text[size - kept] = 'b';
		strcpy(text + size, " (deleted)");
		memset(want, 'a', kept);
		want[0] = 'b';
		want[kept] = 0;
		module_set_name(&module, text, text + size);
		assert_string_equal(module.name, want);
		module_set_name(&module, text, text + size + strlen(" (deleted)"));
		assert_string_equal(module.name, want);
	}
	struct filter_module module = {.id = ""};
	static const char deleted[] = " (deleted)";
	module_set_name(&module, deleted, deleted + strlen(deleted));
	assert_string_equal(module.name, deleted);
}

TEST(ids)
{
	static const char *const texts[][2] = {
		{"0A-b{", ""},   {"0A-b", "0ab"}, {"{0A-B}", "0ab"},      {"{0", ""},    {"0}", ""},
		{"{}", ""},      {"-0a", ""},     {"xxh3-0A", "xxh3-0a"}, {"xxh3-", ""}, {"xxh3--0a", ""},
		{"xxh3-00", ""}, {"0000", ""},    {"0001", "0001"},       {"g", ""},     {"", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct filter_module module = {.id = "before"};
		const char *text = texts[i][0];
		assert_int_equal(filter_module_set_id(&module, text, strlen(text)), *texts[i][1] != 0);
		assert_string_equal(module.id, texts[i][1]);
	}
	char digits[FILTER_ID_SIZE + 1];
	memset(digits, '1', sizeof(digits));
	struct filter_module module = {.id = "before"};
	assert_true(filter_module_set_id(&module, digits, FILTER_ID_SIZE - 1));
	assert_int_equal(strlen(module.id), FILTER_ID_SIZE - 1);
	assert_false(filter_module_set_id(&module, digits, FILTER_ID_SIZE));
	assert_string_equal(module.id, "");
}

static const struct log_module *by_name(const struct log_modules *modules, const char *name)
{
	return modules_by_name(modules, name, name + strlen(name));
}

/* A list of modules that were declared. */
/* The module at @address, which it has as @plain. */
static const struct log_module *by_address(const struct log_modules *modules, uint64_t address,
					   uint64_t plain)
{
	const struct log_module *found = modules_by_address(modules, &address);
	assert_true(!found || address == plain);
	return found;
}

TEST(modules)
{
	struct log_modules all = {.list = {NULL}};
	struct log_module m = {.is.name = "/lib/x.so", .key = 1, .start = 0x1000, .size = 0x10};
	assert_int_equal(modules_add(&all, &m, false), 0);
	m = (struct log_module){.is.name = "y.so", .key = 2, .start = 0x2000, .size = UINT64_MAX};
	assert_int_equal(modules_add(&all, &m, false), 0);
	assert_int_equal(all.list.n, 2);
	/* Of one name, or one key, the last counts. */
	m.key = 3;
	m.start = 0x3000;
	assert_int_equal(modules_add(&all, &m, false), 0);
	assert_int_equal(all.list.n, 2);
	assert_null(modules_by_key(&all, 2));
	assert_ptr_equal(modules_by_key(&all, 3), &all.list.v[1]);
	m = (struct log_module){.is.name = "x.so", .key = 1, .start = 0x1000, .size = 0x10};
	assert_int_equal(modules_add(&all, &m, true), 0);
	assert_int_equal(all.list.n, 2);
	assert_ptr_equal(modules_by_key(&all, 1), &all.list.v[0]);
	assert_string_equal(all.list.v[0].is.name, "x.so");
	assert_int_equal(all.list.v[0].name_size, 4);
	assert_ptr_equal(by_address(&all, 0x1000, 0x1000), &all.list.v[0]);
	assert_ptr_equal(by_address(&all, 0x100f, 0x100f), &all.list.v[0]);
	assert_ptr_equal(by_address(&all, 0x1010, 0x1010), &all.list.v[1]);
	assert_null(by_address(&all, 0x2fff, 0x2fff));
	all.list.v[1].size = 0x10;
	assert_ptr_equal(by_address(&all, 0x0055000000001004, 0x1004), &all.list.v[0]);
	assert_ptr_equal(by_address(&all, 0xb400000000003004, 0x3004), &all.list.v[1]);
	assert_null(by_address(&all, 0xffff000000001004, 0)); /* of a kernel */
	all.list.v[0].start += 1ULL << 50;
	assert_ptr_equal(by_address(&all, 0xff84000000001004, 0x4000000001004), &all.list.v[0]);
	all.list.v[0].start += 1ULL << 55;
	assert_ptr_equal(by_address(&all, 0x5684000000001004, 0x84000000001004), &all.list.v[0]);
	all.list.v[0].start += 1ULL << 56;
	assert_null(by_address(&all, 0x5684000000001004, 0));
	m = (struct log_module){.is.name = "/usr/lib/x.so", .key = 4};
	assert_int_equal(modules_add(&all, &m, true), 0);
	assert_ptr_equal(by_name(&all, "x.so"), &all.list.v[2]);
	assert_ptr_equal(by_name(&all, "lib/x.so"), &all.list.v[2]);
	assert_ptr_equal(by_name(&all, "/usr/lib/x.so (deleted)"), &all.list.v[2]);
	assert_ptr_equal(by_name(&all, "y.so"), &all.list.v[1]);
	assert_null(by_name(&all, ".so"));
	assert_null(by_name(&all, "b/x.so"));
	assert_null(by_name(&all, "//usr/lib/x.so"));
	/* There is an end to it. */
	for (uint64_t key = 4; key < MODULES_MAX + 10; key++) {
		m.key = key;
		assert_int_equal(modules_add(&all, &m, true), 0);
	}
	assert_int_equal(all.list.n, MODULES_MAX);
	vec_free(&all.list);
}

/* The memory of what lines have told is counted. */
TEST(memory)
{
	struct log_context context = {.in_report = false};
	context.apple.list.cap = 1;
	context.named.list.cap = 10;
	context.markup.list.cap = 100;
	context.mappings.cap = 1000;
	assert_int_equal(log_context_memory(&context),
			 111 * sizeof(struct log_module) + 1000 * sizeof(struct log_mapping));
}

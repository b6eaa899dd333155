/*
 * verify_compare.c - classifying one address.
 *
 * The expected frames are the path of inlined calls that cover the address, found in one scan over the
 * function's nodes in preorder, and the rows of all line sequences that cover it. They are compared from
 * coarse to fine: function, presence of a line, number of frames, names, position, call sites.
 */
#include "convert/verify/verify_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool covers(const struct verify_function *function, size_t node, uint64_t addr)
{
	const struct verify_range *ranges = verify_ranges(function, node);
	for (size_t i = 0; i < function->nodes.v[node].n_ranges; i++)
		if (addr >= ranges[i].low && addr < ranges[i].high)
			return true;
	return false;
}

/* A row that has a file; sequences without one do not count. */
static const struct verify_row *expected_row(const struct verify_expected *e, size_t nth)
{
	const struct verify_row *row;
	for (size_t i = 0; (row = verify_lines_find(e->lines, e->addr, i)); i++)
		if (verify_lines_file(e->lines, row->file) && nth-- == 0)
			return row;
	return NULL;
}

void verify_expect(struct verify_expected *expected)
{
	/* Nodes come in preorder: the first child that covers the address leads on, its siblings do not. */
	const struct verify_function *f = expected->function;
	expected->path[0] = 0;
	expected->n_path = 1;
	for (size_t i = 1; i < f->nodes.n && expected->n_path < VERIFY_PATH_MAX; i++) {
		uint32_t depth = f->nodes.v[i].depth;
		if (depth < expected->n_path)
			break;
		if (depth == expected->n_path && covers(f, i, expected->addr))
			expected->path[expected->n_path++] = i;
	}
	expected->has_line = expected_row(expected, 0) != NULL;
}

/* Whether @name is @plain within its scopes, or with its template arguments, or both. */
static bool is_qualified(const char *name, const char *plain)
{
	size_t size = strlen(plain);
	for (const char *at = name; size && (at = strstr(at, plain)); at++) {
		bool whole = at == name || (at - name > 2 && !memcmp(at - 2, "::", 2));
		if (whole && (!at[size] || (at[size] == '<' && name[strlen(name) - 1] == '>')))
			return true;
	}
	return false;
}

/* The name of a call, which only the DWARF knows. */
static enum verify_class compare_name(const struct verify_name *want, const char *have)
{
	const char *name = want->linkage ? want->linkage : want->plain;
	if (!name || strcmp(name, have) == 0)
		return VERIFY_SAME;
	return !want->linkage && is_qualified(have, name) ? VERIFY_QUALIFIED : VERIFY_NAME;
}

/* The name of the function itself, which may be that of a symbol at its start. */
static enum verify_class compare_function(const struct verify_expected *e, const struct gsym_answer *answer)
{
	const char *have = answer->frames[answer->n_frames - 1].name;
	enum verify_class class = compare_name(&e->function->nodes.v[0].name, have);
	if (class == VERIFY_NAME && verify_object_has_symbol(e->object, e->start, have))
		return VERIFY_SYMBOL_NAME;
	return class;
}

/* Whether the two halves GSYM splits a path into make up @path. A root directory keeps its separator. */
static bool same_file(const struct gsym_frame *frame, const char *path)
{
	size_t dir = strlen(frame->dir), base = strlen(frame->base), size = strlen(path);
	if (size < base || strcmp(path + size - base, frame->base) != 0)
		return false;
	size -= base;
	if (dir == 0)
		return size == 0;
	return strncmp(path, frame->dir, dir) == 0 && (size == dir || size == dir + 1);
}

static bool is_file(const struct verify_expected *e, uint32_t file, const struct gsym_frame *frame)
{
	const char *path = verify_lines_file(e->lines, file);
	return path && same_file(frame, path);
}

static bool same_position(const struct verify_expected *e, const struct gsym_frame *frame)
{
	const struct verify_row *row;
	for (size_t i = 0; (row = expected_row(e, i)); i++)
		if (row->line == frame->line &&
		    (is_file(e, row->file, frame) || is_file(e, row->file2, frame)))
			return true;
	return false;
}

static bool same_call(const struct verify_expected *e, const struct verify_node *node,
		      const struct gsym_frame *frame)
{
	const char *path = verify_lines_file(e->lines, node->call_file);
	if (!path || (node->call_file == 0 && e->lines->first_file == 1))
		return frame->dir[0] == '\0' && frame->base[0] == '\0';
	return node->call_line == frame->line && same_file(frame, path);
}

/* Frame @i, counted from the innermost, and the node it stands for. */
static const struct verify_node *node_of(const struct verify_expected *e, size_t i)
{
	return &e->function->nodes.v[e->path[e->n_path - 1 - i]];
}

/* Whether the function has no rows, and gets the line of its declaration. */
static bool is_declaration(const struct verify_expected *e, const struct gsym_frame *frame)
{
	const struct verify_name *name = &e->function->nodes.v[0].name;
	return name->line && name->line == frame->line && is_file(e, (uint32_t)name->file, frame);
}

enum verify_class verify_compare(const struct verify_expected *e, const struct gsym_answer *answer)
{
	if (answer->func_start != e->start)
		return VERIFY_OTHER_OWNER;
	bool known = e->has_line || e->n_path > 1; /* lookups answer with inlined calls even without a row */
	if (!known && answer->has_rows)
		return is_declaration(e, &answer->frames[answer->n_frames - 1]) ? VERIFY_DECLARED
										: VERIFY_LINE_ADDED;
	if (known && !answer->has_rows)
		return VERIFY_LINE_LOST;
	if (!known)
		return compare_function(e, answer);
	if (answer->n_frames != e->n_path)
		return VERIFY_FRAMES;
	enum verify_class worst = compare_function(e, answer);
	for (size_t i = 0; i + 1 < answer->n_frames; i++) {
		enum verify_class class = compare_name(&node_of(e, i)->name, answer->frames[i].name);
		if (class > worst)
			worst = class;
	}
	if (worst >= VERIFY_DIFFERENT)
		return worst;
	if (e->has_line ? !same_position(e, &answer->frames[0]) : answer->frames[0].base[0] != '\0')
		return VERIFY_POSITION;
	for (size_t i = 1; i < answer->n_frames; i++)
		if (!same_call(e, node_of(e, i - 1), &answer->frames[i]))
			return VERIFY_CALL;
	return worst;
}

struct description {
	char *text;
	size_t size, n;
};

static void add_description(struct description *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add_description(struct description *w, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(w->text + w->n, w->size - w->n, fmt, args);
	va_end(args);
	if (n > 0)
		w->n = w->n + (size_t)n < w->size ? w->n + (size_t)n : w->size - 1;
}

void verify_describe(const struct verify_expected *e, const struct gsym_answer *answer, char *text,
		     size_t size)
{
	struct description w = {text, size, 0};
	add_description(&w, "0x%" PRIx64 ": DWARF: ", e->addr);
	const struct verify_row *row = expected_row(e, 0);
	const char *file = row ? verify_lines_file(e->lines, row->file) : NULL;
	uint64_t line = row ? row->line : 0;
	for (size_t i = 0; i < e->n_path; i++) {
		const struct verify_node *node = node_of(e, i);
		const char *name = node->name.linkage ? node->name.linkage : node->name.plain;
		add_description(&w, "%s%s %s:%" PRIu64, i ? " < " : "", name ? name : "??",
				file ? file : "??", line);
		file = verify_lines_file(e->lines, node->call_file);
		line = node->call_line;
	}
	add_description(&w, "; GSYM: ");
	for (size_t i = 0; answer && i < answer->n_frames; i++) {
		const struct gsym_frame *f = &answer->frames[i];
		add_description(&w, "%s%s %s%s%s:%" PRIu32, i ? " < " : "", f->name, f->dir,
				f->dir[0] ? "/" : "", f->base, f->line);
	}
	if (!answer)
		add_description(&w, "nothing");
}

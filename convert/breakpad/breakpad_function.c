/*
 * breakpad_function.c - the records of one function: line records become rows, INLINE records a tree.
 *
 * A line record has a size, a row extends to the next one: gaps become rows without file and line.
 */
#include "convert/breakpad/breakpad.h"
#include "gsym/codec/format.h"

#include "convert/object/breakpad_text.h"

struct body_line {
	uint32_t lo, hi; /* counted from the function's start */
	uint32_t file, line;
};

struct breakpad_reader {
	const struct breakpad_context *context;
	struct warnings warnings;
	VEC(struct body_line) lines;
	VEC(struct gsym_row) rows;
	struct breakpad_tree tree;
	uint64_t last_number, last_file; /* cache of the last file number looked up */
	bool last_known;
	/* of the current function */
	uint64_t start;
	uint32_t size; /* UINT32_MAX: unknown */
	bool descends;
};

struct breakpad_reader *breakpad_reader_new(const struct breakpad_context *context)
{
	struct breakpad_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->context = context;
	r->last_number = UINT64_MAX;
	return r;
}

void breakpad_reader_free(struct breakpad_reader *r)
{
	if (!r)
		return;
	vec_free(&r->lines);
	vec_free(&r->rows);
	breakpad_tree_free(&r->tree);
	free(r);
}

const struct warnings *breakpad_reader_warnings(const struct breakpad_reader *r)
{
	return &r->warnings;
}

static int compare_meaning(const void *a, const void *b)
{
	const struct breakpad_meaning *x = a, *y = b;
	return COMPARE(x->number, y->number);
}

bool breakpad_number(const struct breakpad_numbers *n, uint64_t number, uint64_t *ret)
{
	if (number < n->n_dense) {
		*ret = n->dense[number] - 1;
		return n->dense[number] != 0;
	}
	const struct breakpad_meaning key = {.number = number}, *found;
	found = n->n_others ? bsearch(&key, n->others, n->n_others, sizeof(key), compare_meaning) : NULL;
	if (found)
		*ret = found->meaning;
	return found != NULL;
}

static bool find_file(struct breakpad_reader *r, uint64_t number, uint32_t *ret)
{
	if (number != r->last_number) {
		r->last_known = breakpad_number(&r->context->files, number, &r->last_file);
		r->last_number = number;
	}
	*ret = (uint32_t)r->last_file;
	return r->last_known;
}

/* ---- Records ---- */

static uint64_t offset(const struct breakpad_reader *r, struct text_line l)
{
	return (uint64_t)((const uint8_t *)l.at - r->context->object->map);
}

/* [addr, addr + size) of the file as a range within the function; false when no byte of it is. */
static bool clip(const struct breakpad_reader *r, uint64_t addr, uint64_t size, uint32_t *ret_lo,
		 uint32_t *ret_hi)
{
	uint64_t lo, hi;
	if (__builtin_add_overflow(addr, r->context->base, &lo) || __builtin_add_overflow(lo, size, &hi))
		return false;
	lo = lo > r->start ? lo - r->start : 0;
	hi = hi > r->start ? hi - r->start : 0;
	hi = hi < r->size ? hi : r->size;
	*ret_lo = (uint32_t)lo;
	*ret_hi = (uint32_t)hi;
	return lo < hi;
}

/* "address size line file" */
static int take_line(struct breakpad_reader *r, struct text_line l)
{
	struct text_line all = l;
	uint64_t addr, size, line, number;
	struct body_line b;
	if (!line_take_hex(&l, &addr) || !line_take_hex(&l, &size) ||
	    !line_take_number(&l, UINT32_MAX, &line) || !line_take_number(&l, INT64_MAX >> 4, &number)) {
		warning_count(&r->warnings, WARN_BREAKPAD_RECORD, "file", offset(r, all));
		return 0;
	}
	if (!size)
		return 0; /* no code, so no lookup can find it */
	if (!clip(r, addr, size, &b.lo, &b.hi)) {
		warning_count(&r->warnings, WARN_BREAKPAD_OUTSIDE, "file", offset(r, all));
		return 0;
	}
	if (!find_file(r, number, &b.file)) {
		warning_count(&r->warnings, WARN_LINE_FILE, "file", offset(r, all));
		return 0;
	}
	b.line = (uint32_t)line;
	r->descends |= r->lines.n && r->lines.v[r->lines.n - 1].lo > b.lo;
	return vec_push(&r->lines, b);
}

/* The number of fields, which distinguishes records from before 2021, which lack the file of the call. */
static size_t count_fields(struct text_line l)
{
	size_t n = 0;
	for (line_skip_spaces(&l); l.at < l.end; n++)
		line_take_field(&l);
	return n;
}

static int take_ranges(struct breakpad_reader *r, struct text_line *l, bool *ret_bad)
{
	uint64_t addr, size;
	struct breakpad_range range = {.node = (uint32_t)r->tree.nodes.n};
	while (l->at < l->end && r->tree.ranges.n < BREAKPAD_ROWS_MAX) {
		if (!line_take_hex(l, &addr) || !line_take_hex(l, &size)) {
			*ret_bad = true;
			return 0;
		}
		if (clip(r, addr, size, &range.lo, &range.hi) && vec_push(&r->tree.ranges, range))
			return -ENOMEM;
	}
	if (l->at < l->end)
		warning_count(&r->warnings, WARN_BREAKPAD_LIMIT, "file", offset(r, *l));
	return 0;
}

/* Sets what the origin tells of the call, which has no name without one. */
static void take_origin(struct breakpad_reader *r, uint64_t number, struct breakpad_node *node)
{
	uint64_t index;
	if (!breakpad_number(&r->context->origins, number, &index)) {
		warning_count(&r->warnings, WARN_BREAKPAD_ORIGIN, "file", node->off);
		node->name = r->context->nameless;
		return;
	}
	const struct breakpad_origin *origin = &r->context->origin[index];
	node->name = origin->name;
	if (origin->file != NO_FILE_NUMBER && !find_file(r, origin->file, &node->own_file))
		node->own_file = 0;
}

/* The fields of INLINE: "depth call_line [call_file] origin [address size]+" */
static int take_inline(struct breakpad_reader *r, struct text_line l)
{
	struct breakpad_node node = {.off = offset(r, l)};
	uint64_t depth, line, origin = 0, file = 0;
	size_t fields = count_fields(l), before = r->tree.ranges.n;
	bool has_file = fields % 2 == 0;
	bool bad = !line_take_number(&l, UINT32_MAX, &depth) || !line_take_number(&l, UINT32_MAX, &line) ||
		   (has_file && !line_take_number(&l, INT64_MAX >> 4, &file)) ||
		   !line_take_number(&l, INT64_MAX >> 4, &origin) || l.at == l.end;
	int err = bad ? 0 : take_ranges(r, &l, &bad);
	enum warning kind = WARN_COUNT;
	if (bad)
		kind = WARN_BREAKPAD_RECORD;
	else if (depth >= INLINE_DEPTH_MAX)
		kind = WARN_INLINE_DEPTH;
	else if (has_file && !find_file(r, file, &node.call_file))
		kind = WARN_CALL_FILE;
	if (kind != WARN_COUNT) {
		warning_count(&r->warnings, kind, "file", node.off);
		r->tree.ranges.n = before;
		return err;
	}
	take_origin(r, origin, &node);
	node.call_line = (uint32_t)line;
	node.depth = (uint32_t)depth;
	node.has_call_file = has_file;
	return err ? err : vec_push(&r->tree.nodes, node);
}

static int take_body(struct breakpad_reader *r, const struct breakpad_function *f)
{
	const char *at = (const char *)r->context->object->map + f->name_off, *end = at + f->body_size, *next;
	int err = 0;
	if (!f->body_size)
		return 0;
	line_at(at, end, &next); /* the name */
	for (at = next; at < end && !err; at = next) {
		struct text_line l = line_at(at, end, &next);
		if (r->lines.n + r->tree.nodes.n >= BREAKPAD_ROWS_MAX) {
			warning_count(&r->warnings, WARN_BREAKPAD_LIMIT, "file", offset(r, l));
			break;
		}
		char first = l.at < l.end ? *l.at : 0;
		struct text_line file = l; /* FILE may stand anywhere, and begins with a hexadecimal digit */
		if (first == 'F' && (LINE_TAKE(&file, "FILE") || LINE_TAKE(&file, "FUNC")))
			continue;
		if (hex_digit(first) >= 0)
			err = take_line(r, l);
		else if (first == 'I' && LINE_TAKE(&l, "INLINE"))
			err = take_inline(r, l);
	}
	return err;
}

/* ---- From line records to rows ---- */

static int compare_lines(const void *a, const void *b)
{
	const struct body_line *x = a, *y = b;
	int c = COMPARE(x->lo, y->lo) ?: COMPARE(x->hi, y->hi);
	return c ?: COMPARE(x->file, y->file) ?: COMPARE(x->line, y->line);
}

static int push_row(struct breakpad_reader *r, uint32_t off, uint32_t file, uint32_t line)
{
	const struct gsym_row *last = r->rows.n ? &r->rows.v[r->rows.n - 1] : NULL;
	if (last && last->file == file && last->line == line)
		return 0;
	return vec_push(&r->rows, (struct gsym_row){off, file, line});
}

static int make_rows(struct breakpad_reader *r, uint32_t *ret_end)
{
	uint32_t reach = 0;
	int err = 0;
	if (r->descends)
		qsort(r->lines.v, r->lines.n, sizeof(*r->lines.v), compare_lines);
	for (size_t i = 0; i < r->lines.n && !err; i++) {
		const struct body_line *b = &r->lines.v[i];
		if (b->lo < reach) {
			warning_count(&r->warnings, WARN_BREAKPAD_OVERLAP, NULL, r->start + b->lo);
			continue;
		}
		if (b->lo > reach && r->rows.n)
			err = push_row(r, reach, 0, 0);
		if (!err)
			err = push_row(r, b->lo, b->file, b->line);
		reach = b->hi;
	}
	*ret_end = reach;
	return err;
}

static void *keep_array(struct arena *arena, const void *v, size_t n, size_t elem)
{
	void *copy = arena_array(arena, n, elem);
	return copy && n ? memcpy(copy, v, n * elem) : copy;
}

static int keep_all(struct breakpad_reader *r, struct arena *arena, struct gsym_func *ret)
{
	ret->rows = keep_array(arena, r->rows.v, r->rows.n, sizeof(*ret->rows));
	ret->inlines = keep_array(arena, r->tree.inlines.v, r->tree.inlines.n, sizeof(*ret->inlines));
	ret->ranges = keep_array(arena, r->tree.out.v, r->tree.out.n, sizeof(*ret->ranges));
	ret->n_rows = r->rows.n;
	ret->n_inlines = r->tree.inlines.n;
	ret->n_ranges = r->tree.out.n;
	return ret->rows && ret->inlines && ret->ranges ? 0 : -ENOMEM;
}

int breakpad_read_function(struct breakpad_reader *r, const struct breakpad_function *f, uint64_t order,
			   struct arena *arena, struct gsym_func *ret)
{
	uint32_t end = 0;
	r->warnings.order = order;
	r->start = f->addr;
	r->size = f->size ? f->size : UINT32_MAX;
	r->descends = false;
	r->lines.n = r->rows.n = r->tree.nodes.n = r->tree.ranges.n = 0;
	int err = take_body(r, f);
	if (!err)
		err = make_rows(r, &end);
	*ret = (struct gsym_func){.start = f->addr, .name = f->strp, .size = f->size ? f->size : end};
	if (!err && r->rows.n && end < ret->size)
		err = push_row(r, end, 0, 0);
	const struct breakpad_rows rows = {r->rows.v, r->rows.n, ret->size};
	if (!f->size) /* no range to clip inlined calls to */
		r->tree.nodes.n = r->tree.ranges.n = 0;
	if (!err)
		err = breakpad_tree_make(&r->tree, &rows, &r->warnings);
	return err ? err : keep_all(r, arena, ret);
}

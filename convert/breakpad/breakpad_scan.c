/*
 * breakpad_scan.c - which functions, files and names a file of Breakpad symbols has, and where.
 *
 * The file is split into chunks that several threads scan; a line belongs to the chunk it begins in. Tables
 * of the chunks are concatenated in file order; records before the first FUNC or PUBLIC of a chunk belong to
 * the last function of an earlier chunk. Linear in the size of the file, without a copy of any text.
 */
#include "convert/breakpad/breakpad.h"

#include "convert/object/breakpad_text.h"
#include "gsym/base/invariant.h"
#include "gsym/base/parallel.h"

#ifdef BREAKPAD_CHUNK_SIZE /* of tests */
enum { CHUNK_SIZE = BREAKPAD_CHUNK_SIZE };
#else
enum { CHUNK_SIZE = 4 << 20 };
#endif

#define NO_FUNCTION     SIZE_MAX
#define NAME_NUMBER_MAX (INT64_MAX >> 4) /* of FILE and INLINE_ORIGIN */

struct scan_chunk {
	struct breakpad_tables tables;
	struct warnings warnings;
	size_t open;         /* function that line records belong to now */
	bool bounded;        /* a FUNC or PUBLIC was met */
	uint64_t before;     /* line records before that, */
	uint64_t before_at;  /* where the first of them begins, */
	uint64_t before_end; /* and where the last one ends */
	int err;
};

struct symbol_scan {
	const struct object_file *object;
	uint64_t base;
	struct scan_chunk *chunks;
};

void breakpad_tables_free(struct breakpad_tables *tables)
{
	vec_free(&tables->functions);
	vec_free(&tables->files);
	vec_free(&tables->origins);
}

/* ---- Records ---- */

/* A line of one chunk. */
struct chunk_line {
	const struct symbol_scan *scan;
	struct scan_chunk *chunk;
	uint64_t off, end; /* of the line in the file */
};

static uint64_t offset(const struct chunk_line *line, const char *at)
{
	return (uint64_t)((const uint8_t *)at - line->scan->object->map);
}

static void damaged(const struct chunk_line *line)
{
	warning_count(&line->chunk->warnings, WARN_BREAKPAD_RECORD, "file", line->off);
}

static bool has_text(struct text_line l)
{
	return l.at < l.end && (size_t)(l.end - l.at) < UINT32_MAX &&
	       !memchr(l.at, 0, (size_t)(l.end - l.at));
}

/* Ends the records of the previous function. */
static void bound(struct scan_chunk *chunk)
{
	chunk->bounded = true;
	chunk->open = NO_FUNCTION;
}

static void take_m(struct text_line *l)
{
	(void)LINE_TAKE(l, "m"); /* "multiple": several symbols share the address, and this is one of them */
}

/* "[m] address size parameters name" */
static int take_func(struct chunk_line *line, struct text_line l)
{
	struct breakpad_function f = {0};
	uint64_t size, parameters, end;
	bound(line->chunk);
	take_m(&l);
	bool whole = line_take_hex(&l, &f.addr) && line_take_hex(&l, &size) &&
		     line_take_hex(&l, &parameters) &&
		     !__builtin_add_overflow(f.addr, line->scan->base, &f.addr) &&
		     !__builtin_add_overflow(f.addr, size, &end);
	if (!whole) {
		damaged(line);
		return 0;
	}
	if (size > UINT32_MAX || !has_text(l)) {
		warning_count(&line->chunk->warnings, size > UINT32_MAX ? WARN_FUNCTION_SIZE : WARN_NO_NAME,
			      "file", line->off);
		return 0;
	}
	f.size = (uint32_t)size;
	f.name_off = offset(line, l.at);
	f.name_size = (uint32_t)(l.end - l.at);
	line->chunk->open = line->chunk->tables.functions.n;
	return vec_push(&line->chunk->tables.functions, f);
}

/* "[m] address parameters name". Address 0 is what dump_syms says of constants of Windows' libraries. */
static int take_public(struct chunk_line *line, struct text_line l)
{
	struct breakpad_function f = {.is_public = true};
	uint64_t parameters;
	bound(line->chunk);
	take_m(&l);
	if (!line_take_hex(&l, &f.addr) || !line_take_hex(&l, &parameters) || !has_text(l) ||
	    __builtin_add_overflow(f.addr, line->scan->base, &f.addr)) {
		damaged(line);
		return 0;
	}
	if (f.addr == line->scan->base)
		return 0;
	f.name_off = offset(line, l.at);
	f.name_size = (uint32_t)(l.end - l.at);
	return vec_push(&line->chunk->tables.functions, f);
}

static int add_name(struct chunk_line *line, struct text_line l, struct breakpad_name *name,
		    breakpad_name_vec *names)
{
	if (!has_text(l)) {
		damaged(line);
		return 0;
	}
	name->off = offset(line, l.at);
	name->size = (uint32_t)(l.end - l.at);
	return vec_push(names, *name);
}

/* "number name" */
static int take_file(struct chunk_line *line, struct text_line l)
{
	struct breakpad_name name = {.file = NO_FILE_NUMBER};
	if (!line_take_number(&l, NAME_NUMBER_MAX, &name.number)) {
		damaged(line);
		return 0;
	}
	return add_name(line, l, &name, &line->chunk->tables.files);
}

/* The file number of an INLINE_ORIGIN of before 2021; -1 is that of artificial functions. */
static void take_origin_file(struct text_line *l, uint32_t *ret)
{
	uint64_t file = NO_FILE_NUMBER;
	struct text_line rest = *l;
	if (!LINE_TAKE(&rest, "-1") && !line_take_number(&rest, NO_FILE_NUMBER - 1, &file))
		return;
	if (rest.at == rest.end)
		return; /* the name is a number */
	*l = rest;
	*ret = (uint32_t)file;
}

/* "number name"; before 2021 "number file name". */
static int take_origin(struct chunk_line *line, struct text_line l)
{
	struct breakpad_name name = {.file = NO_FILE_NUMBER};
	if (!line_take_number(&l, NAME_NUMBER_MAX, &name.number)) {
		damaged(line);
		return 0;
	}
	take_origin_file(&l, &name.file);
	if (l.at < l.end)
		return add_name(line, l, &name, &line->chunk->tables.origins);
	name.off = line->off; /* dump_syms writes functions whose name it did not find without one */
	return vec_push(&line->chunk->tables.origins, name);
}

/* Adds a line or INLINE record to the open function, whose reader parses it. */
static void take_body(struct chunk_line *line)
{
	struct scan_chunk *chunk = line->chunk;
	if (chunk->open == NO_FUNCTION) {
		if (chunk->bounded) {
			warning_count(&chunk->warnings, WARN_BREAKPAD_LOOSE, "file", line->off);
			return;
		}
		if (!chunk->before++)
			chunk->before_at = line->off;
		chunk->before_end = line->end;
		return;
	}
	struct breakpad_function *f = &chunk->tables.functions.v[chunk->open];
	if (line->end - f->name_off > UINT32_MAX)
		warning_count(&chunk->warnings, WARN_BREAKPAD_LIMIT, "file", line->off);
	else
		f->body_size = (uint32_t)(line->end - f->name_off);
}

static bool is_body(struct text_line l)
{
	return l.at < l.end && (hex_digit(*l.at) >= 0 || (*l.at == 'I' && LINE_TAKE(&l, "INLINE")));
}

/* Other records (STACK, INFO, and later additions) have neither names nor lines. */
static int take_line(struct chunk_line *line, struct text_line l)
{
	if (LINE_TAKE(&l, "FUNC"))
		return take_func(line, l);
	if (LINE_TAKE(&l, "PUBLIC"))
		return take_public(line, l);
	if (LINE_TAKE(&l, "FILE"))
		return take_file(line, l);
	if (LINE_TAKE(&l, "INLINE_ORIGIN"))
		return take_origin(line, l);
	if (is_body(l))
		take_body(line);
	return 0;
}

/* ---- Chunks ---- */

/* The first line that begins in [from, to), or @to. */
static const char *first_line(const struct object_file *object, const char *from, const char *to)
{
	if ((const uint8_t *)from == object->map || from[-1] == '\n')
		return from;
	const char *feed = memchr(from, '\n', (size_t)(to - from));
	return feed ? feed + 1 : to;
}

static void scan_one_chunk(void *user, size_t index, unsigned thread)
{
	(void)thread;
	struct symbol_scan *scan = user;
	const struct object_file *object = scan->object;
	struct scan_chunk *chunk = &scan->chunks[index];
	struct chunk_line line = {.scan = scan, .chunk = chunk};
	size_t from = index * CHUNK_SIZE,
	       to = object->map_size - from < CHUNK_SIZE ? object->map_size : from + CHUNK_SIZE;
	const char *all = (const char *)object->map, *end = all + object->map_size, *next;
	chunk->open = NO_FUNCTION;
	for (const char *at = first_line(object, all + from, all + to); at < all + to && !chunk->err;
	     at = next) {
		struct text_line l = line_at(at, end, &next);
		line.off = (uint64_t)(at - all);
		line.end = (uint64_t)(next - all);
		char first = l.at < l.end ? *l.at : 0;
		if (first != 'F' && hex_digit(first) >= 0)
			take_body(&line); /* nearly all lines */
		else
			chunk->err = take_line(&line, l);
	}
	object_release(object, (struct span){object->map, object->map_size}, from, to);
}

/* ---- Putting chunks together ---- */

#define APPEND(to, from)                                                                                 \
	(vec_reserve(to, (from)->n)                                                                      \
		 ? -ENOMEM                                                                               \
		 : ((from)->n ? (void)memcpy((to)->v + (to)->n, (from)->v, (from)->n * sizeof(*(to)->v)) \
			      : (void)0,                                                                 \
		    (to)->n += (from)->n, 0))

/* Adds the records before the chunk's first function to @open; without it they are counted as loose. */
static void give_before(struct breakpad_tables *all, size_t open, struct scan_chunk *chunk)
{
	if (!chunk->before)
		return;
	struct breakpad_function *f = open == NO_FUNCTION ? NULL : &all->functions.v[open];
	if (f && chunk->before_end - f->name_off <= UINT32_MAX) {
		f->body_size = (uint32_t)(chunk->before_end - f->name_off);
		return;
	}
	warning_count(&chunk->warnings, f ? WARN_BREAKPAD_LIMIT : WARN_BREAKPAD_LOOSE, "file",
		      chunk->before_at);
	chunk->warnings.kind[f ? WARN_BREAKPAD_LIMIT : WARN_BREAKPAD_LOOSE].off = chunk->before_at;
	chunk->warnings.kind[f ? WARN_BREAKPAD_LIMIT : WARN_BREAKPAD_LOOSE].count += chunk->before - 1;
}

int breakpad_scan(const struct object_file *object, uint64_t base, unsigned threads,
		  struct breakpad_tables *ret, struct warnings *warnings)
{
	size_t n = (object->map_size + CHUNK_SIZE - 1) / CHUNK_SIZE;
	struct symbol_scan scan = {.object = object, .base = base, .chunks = calloc(n, sizeof(*scan.chunks))};
	if (!scan.chunks)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		scan.chunks[i].warnings.order = i;
	parallel_for(threads, n, scan_one_chunk, &scan);
	size_t open = NO_FUNCTION;
	int err = 0;
	for (size_t i = 0; i < n && !err; i++) {
		struct scan_chunk *chunk = &scan.chunks[i];
		size_t first = ret->functions.n;
		give_before(ret, open, chunk);
		if (chunk->bounded)
			open = chunk->open == NO_FUNCTION ? NO_FUNCTION : first + chunk->open;
		err = chunk->err;
		if (!err && (APPEND(&ret->functions, &chunk->tables.functions) ||
			     APPEND(&ret->files, &chunk->tables.files) ||
			     APPEND(&ret->origins, &chunk->tables.origins)))
			err = -ENOMEM;
		breakpad_tables_free(&chunk->tables);
		warnings_merge(warnings, &chunk->warnings);
	}
	for (size_t i = 1; i < ret->functions.n; i++)
		invariant(ret->functions.v[i - 1].name_off < ret->functions.v[i].name_off);
	for (size_t i = 0; i < n; i++)
		breakpad_tables_free(&scan.chunks[i].tables);
	free(scan.chunks);
	return err;
}

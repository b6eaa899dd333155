/*
 * callsites_file.c - parsing the list of call sites.
 *
 * A recursive-descent parser over libyaml's events: one table of keys for each level of the schema (file,
 * function, call site), and one read_*() function for each key, which consumes its value and leaves its last
 * event current. Results are appended to flat arrays; elements refer to ranges of the next array. Aliases and
 * anchors are rejected, because they could make a small file a huge tree; directives, because libyaml takes
 * quadratic time for them.
 */
#include "convert/finish/callsites.h"

#include "gsym/base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { SHOWN_MAX = 60 }; /* bytes of an invalid value quoted in a message */

struct yaml_reading {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one */
	struct callsites_file *file;
	struct gsym_diag *diag;
	FILE *stream; /* the input; NULL: the memory */
	const uint8_t *memory;
	size_t memory_left;
	size_t taken;  /* bytes of the input */
	uint32_t last; /* its last bytes, the latest one lowest */
	size_t line;   /* they are in, from 0 */
	int input_err; /* 0, -EFBIG, -EINVAL (a directive), or what reading gave */
};

/* A key of a mapping. They are few, so that those seen fit a bit mask. */
struct key {
	const char *name;
	bool required;
	int (*read)(struct yaml_reading *);
};

static const char *const names_of_keys[] = {
	"functions",
	"name, callsites",
	"return_offset, match_regex, flags",
};

/* ---- Messages ---- */

static int bad(struct yaml_reading *r, yaml_mark_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int bad(struct yaml_reading *r, yaml_mark_t at, const char *fmt, ...)
{
	char text[400];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return diag_set(r->diag, -EINVAL, "%s:%zu:%zu: %s", r->file->path, at.line + 1, at.column + 1, text);
}

static int no_memory(struct yaml_reading *r)
{
	return diag_set(r->diag, -ENOMEM, "%s: out of memory", r->file->path);
}

/* Reports the error of the input or of libyaml. Bytes that are not UTF-8 have an offset but no line yet. */
static int parser_error(struct yaml_reading *r)
{
	const yaml_parser_t *p = &r->parser;
	const char *problem = p->problem ? p->problem : "damaged";
	if (r->input_err == -EFBIG)
		return diag_set(r->diag, -EFBIG,
				"%s: larger than %d MiB: list only calls that DWARF does not describe",
				r->file->path, CALLSITES_FILE_MAX >> 20);
	if (r->input_err == -EINVAL)
		return bad(r, (yaml_mark_t){.line = r->line},
			   "directives are not supported: remove the line");
	if (r->input_err)
		return diag_set(r->diag, r->input_err, "%s: %s", r->file->path, strerror(-r->input_err));
	if (p->error == YAML_MEMORY_ERROR)
		return no_memory(r);
	if (p->error == YAML_READER_ERROR)
		return diag_set(r->diag, -EINVAL, "%s: invalid UTF-8 at byte %zu: %s", r->file->path,
				p->problem_offset, problem);
	return bad(r, p->problem_mark, "not YAML: %s", problem);
}

/* ---- Events ---- */

/* Rejects aliases, anchors and tags, which could make a small file a large tree or change its meaning. */
static int check_plain(struct yaml_reading *r)
{
	const yaml_event_t *e = &r->event;
	const yaml_char_t *anchor = NULL, *tag = NULL;
	if (e->type == YAML_ALIAS_EVENT)
		return bad(r, e->start_mark, "aliases are not supported: repeat the value");
	if (e->type == YAML_SCALAR_EVENT) {
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
	} else if (e->type == YAML_SEQUENCE_START_EVENT) {
		anchor = e->data.sequence_start.anchor;
		tag = e->data.sequence_start.tag;
	} else if (e->type == YAML_MAPPING_START_EVENT) {
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
	}
	if (anchor)
		return bad(r, e->start_mark, "anchors are not supported: remove it");
	return tag ? bad(r, e->start_mark, "tags are not supported: remove it") : 0;
}

static int next(struct yaml_reading *r)
{
	yaml_event_delete(&r->event);
	if (!yaml_parser_parse(&r->parser, &r->event))
		return parser_error(r);
	return check_plain(r);
}

static bool is_scalar(const struct yaml_reading *r)
{
	return r->event.type == YAML_SCALAR_EVENT;
}

static const char *scalar(const struct yaml_reading *r)
{
	return (const char *)r->event.data.scalar.value;
}

static bool is_word(const struct yaml_reading *r, const char *word)
{
	return is_scalar(r) && r->event.data.scalar.length == strlen(word) && !strcmp(scalar(r), word);
}

/* A null value: empty, "~" or "null". */
static bool is_null(const struct yaml_reading *r)
{
	return is_scalar(r) && r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (is_word(r, "") || is_word(r, "~") || is_word(r, "null"));
}

/* A scalar that becomes a string of the output, which is NUL-terminated. */
static int take_text(struct yaml_reading *r, const char *what, struct pool_string *ret)
{
	const yaml_mark_t at = r->event.start_mark;
	if (!is_scalar(r))
		return bad(r, at, "%s must be a string, not a list or a mapping", what);
	size_t size = r->event.data.scalar.length;
	if (size > CALLSITES_TEXT_MAX)
		return bad(r, at, "%s of %zu bytes is too long: at most %d are allowed", what, size,
			   CALLSITES_TEXT_MAX);
	if (memchr(scalar(r), 0, size))
		return bad(r, at, "%s contains a NUL byte", what);
	const char *text = arena_strdup(&r->file->arena, scalar(r), size);
	if (!text)
		return no_memory(r);
	*ret = pool_string_of(text, size);
	return 0;
}

/* ---- Lists and mappings ---- */

static int read_list(struct yaml_reading *r, const char *what, int (*item)(struct yaml_reading *))
{
	if (is_null(r))
		return 0;
	if (r->event.type != YAML_SEQUENCE_START_EVENT)
		return bad(r, r->event.start_mark,
			   "%s must be a list: write [...] or lines that begin with '- '", what);
	int err = next(r);
	while (!err && r->event.type != YAML_SEQUENCE_END_EVENT) {
		err = item(r);
		if (!err)
			err = next(r);
	}
	return err;
}

/* @level: of names_of_keys. */
static int read_pair(struct yaml_reading *r, const struct key *keys, unsigned level, unsigned *seen)
{
	const yaml_mark_t at = r->event.start_mark;
	unsigned i = 0;
	if (!is_scalar(r))
		return bad(r, at, "a key must be a string, not a list or a mapping");
	while (keys[i].name && !is_word(r, keys[i].name))
		i++;
	if (!keys[i].name)
		return bad(r, at, "unknown key '%.*s': use one of %s", SHOWN_MAX, scalar(r),
			   names_of_keys[level]);
	if (*seen & 1u << i)
		return bad(r, at, "duplicate key '%s': keep one of them", keys[i].name);
	*seen |= 1u << i;
	int err = next(r);
	return err ? err : keys[i].read(r);
}

static int read_mapping(struct yaml_reading *r, const struct key *keys, unsigned level)
{
	const yaml_mark_t at = r->event.start_mark;
	unsigned seen = 0;
	if (r->event.type != YAML_MAPPING_START_EVENT)
		return bad(r, at, "expected a mapping with the keys %s", names_of_keys[level]);
	int err = next(r);
	while (!err && r->event.type != YAML_MAPPING_END_EVENT) {
		err = read_pair(r, keys, level, &seen);
		if (!err)
			err = next(r);
	}
	for (unsigned i = 0; keys[i].name && !err; i++)
		if (keys[i].required && !(seen & 1u << i))
			err = bad(r, at, "missing key '%s': add it", keys[i].name);
	return err;
}

/* ---- The schema ---- */

static struct listed_function *last_function(struct yaml_reading *r)
{
	return &r->file->functions.v[r->file->functions.n - 1];
}

static struct listed_site *last_site(struct yaml_reading *r)
{
	return &r->file->sites.v[r->file->sites.n - 1];
}

/* "010" is eight for YAML 1.1 and ten for 1.2. */
static bool parse_offset(const char *text, size_t size, uint64_t *ret)
{
	bool hex = size > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	unsigned base = hex ? 16 : 10;
	uint64_t value = 0;
	if (!size || (!hex && size > 1 && text[0] == '0'))
		return false;
	for (size_t i = hex ? 2 : 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i], lower = c | 0x20;
		unsigned digit = c >= '0' && c <= '9'           ? c - '0'
				 : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10u
								: base;
		if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*ret = value;
	return true;
}

static int read_offset(struct yaml_reading *r)
{
	const yaml_mark_t at = r->event.start_mark;
	if (!is_scalar(r))
		return bad(r, at, "return_offset must be a number, not a list or a mapping");
	if (!parse_offset(scalar(r), r->event.data.scalar.length, &last_site(r)->return_off))
		return bad(r, at, "invalid offset '%.*s': write a number below 2^64, such as 24 or 0x18",
			   SHOWN_MAX, scalar(r));
	return 0;
}

static int read_pattern(struct yaml_reading *r)
{
	struct pool_string pattern;
	if (is_word(r, "") && r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return bad(r, r->event.start_mark, "missing pattern: an empty one would match every name");
	int err = take_text(r, "a pattern", &pattern);
	if (err)
		return err;
	last_site(r)->n_patterns++;
	return vec_push(&r->file->patterns, pattern) ? no_memory(r) : 0;
}

static int read_patterns(struct yaml_reading *r)
{
	last_site(r)->first_pattern = (uint32_t)r->file->patterns.n;
	return read_list(r, "match_regex", read_pattern);
}

static int read_flag(struct yaml_reading *r)
{
	if (is_word(r, "InternalCall"))
		last_site(r)->flags |= GSYM_CALLSITE_INTERNAL;
	else if (is_word(r, "ExternalCall"))
		last_site(r)->flags |= GSYM_CALLSITE_EXTERNAL;
	else
		return bad(r, r->event.start_mark, "unknown flag '%.*s': use InternalCall or ExternalCall",
			   SHOWN_MAX, is_scalar(r) ? scalar(r) : "[...]");
	return 0;
}

static int read_flags(struct yaml_reading *r)
{
	return read_list(r, "flags", read_flag);
}

static int read_site(struct yaml_reading *r)
{
	static const struct key keys[] = {
		{"return_offset", true, read_offset},
		{"match_regex", true, read_patterns},
		{"flags", false, read_flags},
		{0},
	};
	struct listed_site site = {
		.line = (uint32_t)r->event.start_mark.line + 1,
		.column = (uint32_t)r->event.start_mark.column + 1,
	};
	last_function(r)->n_sites++;
	return vec_push(&r->file->sites, site) ? no_memory(r) : read_mapping(r, keys, 2);
}

static int read_sites(struct yaml_reading *r)
{
	last_function(r)->first_site = (uint32_t)r->file->sites.n;
	return read_list(r, "callsites", read_site);
}

static int read_name(struct yaml_reading *r)
{
	const yaml_mark_t at = r->event.start_mark;
	int err = take_text(r, "a function name", &last_function(r)->name);
	if (!err && !last_function(r)->name.size)
		err = bad(r, at, "empty function name: write the name in the symbol table");
	last_function(r)->line = (uint32_t)at.line + 1;
	last_function(r)->column = (uint32_t)at.column + 1;
	return err;
}

static int read_function(struct yaml_reading *r)
{
	static const struct key keys[] = {
		{"name", true, read_name},
		{"callsites", false, read_sites},
		{0},
	};
	struct listed_function function = {0};
	return vec_push(&r->file->functions, function) ? no_memory(r) : read_mapping(r, keys, 1);
}

static int read_functions(struct yaml_reading *r)
{
	return read_list(r, "functions", read_function);
}

/* ---- The whole ---- */

static int read_stream(struct yaml_reading *r)
{
	static const struct key keys[] = {{"functions", true, read_functions}, {0}};
	int err = next(r); /* the beginning of the stream */
	if (!err)
		err = next(r);
	if (!err && r->event.type == YAML_STREAM_END_EVENT)
		err = bad(r, r->event.start_mark, "empty file: start it with 'functions:'");
	if (!err)
		err = next(r);
	if (!err)
		err = read_mapping(r, keys, 0);
	if (!err)
		err = next(r); /* the end of the document */
	if (!err)
		err = next(r);
	if (!err && r->event.type != YAML_STREAM_END_EVENT)
		err = bad(r, r->event.start_mark, "more than one document: put all functions into one list");
	return err;
}

/* The line breaks of YAML 1.1. */
static bool ends_with_break(uint32_t last)
{
	return (last & 0xff) == '\n' || (last & 0xff) == '\r' || (last & 0xffff) == 0xc285 ||
	       (last & 0xffffff) == 0xe280a8 || (last & 0xffffff) == 0xe280a9;
}

/*
 * libyaml reads all directives before it reports any, and compares each with all before it. So they are
 * rejected here: no line of an accepted file begins with '%'.
 */
static int check_input(struct yaml_reading *r, const unsigned char *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i] == '%' && ends_with_break(r->last))
			return -EINVAL;
		r->last = r->last << 8 | v[i];
		r->line += v[i] == '\n';
	}
	r->taken += n;
	return r->taken > CALLSITES_FILE_MAX ? -EFBIG : 0;
}

static size_t read_memory(struct yaml_reading *r, unsigned char *into, size_t size)
{
	size_t n = size < r->memory_left ? size : r->memory_left;
	if (!n)
		return 0; /* memory may be NULL */
	memcpy(into, r->memory, n);
	r->memory += n;
	r->memory_left -= n;
	return n;
}

static int read_input(void *user, unsigned char *into, size_t size, size_t *ret_size)
{
	struct yaml_reading *r = user;
	*ret_size = r->stream ? fread(into, 1, size, r->stream) : read_memory(r, into, size);
	if (r->stream && ferror(r->stream))
		r->input_err = errno ? -errno : -EIO;
	else
		r->input_err = check_input(r, into, *ret_size);
	return !r->input_err;
}

static int parse_callsites(struct yaml_reading *r, const char *path, struct callsites_file **ret)
{
	r->last = '\n';
	r->file = calloc(1, sizeof(*r->file));
	if (!r->file || !yaml_parser_initialize(&r->parser)) {
		free(r->file);
		return diag_set(r->diag, -ENOMEM, "%s: out of memory", path);
	}
	r->file->path = path;
	yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input(&r->parser, read_input, r);
	int err = read_stream(r);
	yaml_event_delete(&r->event);
	yaml_parser_delete(&r->parser);
	if (err)
		callsites_file_free(r->file);
	else
		*ret = r->file;
	return err;
}

int callsites_file_parse(const void *data, size_t size, const char *path, struct callsites_file **ret,
			 struct gsym_diag *diag)
{
	return parse_callsites(&(struct yaml_reading){.memory = data, .memory_left = size, .diag = diag},
			       path, ret);
}

int callsites_file_read(const char *path, struct callsites_file **ret, struct gsym_diag *diag)
{
	FILE *stream = fopen(path, "re");
	if (!stream)
		return diag_set(diag, -errno, "%s: cannot open: %s", path, strerror(errno));
	int err = parse_callsites(&(struct yaml_reading){.stream = stream, .diag = diag}, path, ret);
	fclose(stream);
	return err;
}

void callsites_file_free(struct callsites_file *file)
{
	if (!file)
		return;
	vec_free(&file->functions);
	vec_free(&file->sites);
	vec_free(&file->patterns);
	arena_free(&file->arena);
	free(file);
}

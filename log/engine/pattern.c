/*
 * pattern.c - Thompson's construction: a pattern is parsed to a tree, the tree compiled to a program of an
 * NFA, and the matcher advances the set of all its states over the name in lockstep, without backtracking.
 */
#include "log/engine/pattern.h"

#include <string.h>

enum {
	REPEAT_MAX = 255, /* POSIX's RE_DUP_MAX */
	NO_LIMIT = UINT16_MAX,
	EMITTED_MAX = 16 * PATTERN_PROGRAM_MAX,
	NO_NODE = 0, /* node 0 matches the empty string only */
};

/* ---- The tree ---- */

enum pattern_node_kind {
	NODE_EMPTY,
	NODE_BYTE, /* @c */
	NODE_ANY,
	NODE_SET, /* set @a */
	NODE_BEGIN,
	NODE_END,
	NODE_CAT,    /* @a, then @b */
	NODE_OR,     /* @a or @b */
	NODE_REPEAT, /* @a, from @min to @max times */
};

struct pattern_node {
	uint8_t kind;
	uint8_t c;
	uint16_t a, b;
	uint16_t min, max;
};

struct pattern_set {
	uint8_t bits[32];
};

enum op {
	OP_BYTE,
	OP_ANY,
	OP_SET, /* number x */
	OP_BEGIN,
	OP_END,
	OP_SPLIT, /* continues at x and at y */
	OP_JUMP,  /* at x */
	OP_MATCH,
};

struct pattern_step {
	uint8_t op;
	uint8_t c;
	uint16_t x, y;
};

struct pattern_parser {
	struct pattern *p;
	const char *at;
	unsigned depth;
	unsigned emitted; /* nodes, since repeated ones that make no step are not limited by
			     PATTERN_PROGRAM_MAX */
	int err;
};

void pattern_deinit(struct pattern *pattern)
{
	vec_free(&pattern->program);
	vec_free(&pattern->sets);
	vec_free(&pattern->nodes);
	vec_free(&pattern->lists);
}

static uint16_t fail(struct pattern_parser *s, int err)
{
	if (!s->err)
		s->err = err;
	return NO_NODE;
}

static uint16_t add_node(struct pattern_parser *s, struct pattern_node node)
{
	if (s->p->nodes.n >= PATTERN_PROGRAM_MAX)
		return fail(s, -EINVAL);
	if (vec_push(&s->p->nodes, node))
		return fail(s, -ENOMEM);
	return (uint16_t)(s->p->nodes.n - 1);
}

/* ---- Bracket expressions ---- */

static void set_add(struct pattern_set *set, unsigned from, unsigned to)
{
	for (unsigned c = from; c <= to; c++)
		set->bits[c / 8] |= (uint8_t)(1u << c % 8);
}

static bool set_has(const struct pattern_set *set, uint8_t c)
{
	return set->bits[c / 8] >> c % 8 & 1;
}

static void set_invert(struct pattern_set *set)
{
	for (size_t i = 0; i < sizeof(set->bits); i++)
		set->bits[i] = (uint8_t)~set->bits[i];
}

/* Classes as ranges of the C locale. */
static const struct {
	const char *name;
	const char *ranges;
} classes[] = {
	{"alnum", "09AZaz"},   {"alpha", "AZaz"},   {"blank", "\t\t  "}, {"cntrl", "\001\037\177\177"},
	{"digit", "09"},       {"graph", "!~"},     {"lower", "az"},     {"print", " ~"},
	{"punct", "!/:@[`{~"}, {"space", "\t\r  "}, {"upper", "AZ"},     {"xdigit", "09AFaf"},
	{"w", "09AZaz__"},     {"s", "\t\r  "}, /* of \w and \s */
};

static bool add_class(struct pattern_set *set, const char *name, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (strlen(classes[i].name) != size || memcmp(classes[i].name, name, size) != 0)
			continue;
		for (const char *r = classes[i].ranges; *r; r += 2)
			set_add(set, (uint8_t)r[0], (uint8_t)r[1]);
		return true;
	}
	return false;
}

static uint16_t add_set(struct pattern_parser *s, struct pattern_set set)
{
	if (vec_push(&s->p->sets, set))
		return fail(s, -ENOMEM);
	return add_node(s, (struct pattern_node){.kind = NODE_SET, .a = (uint16_t)(s->p->sets.n - 1)});
}

/* "[:name:]", or another of the forms "[.x.]" and "[=x=]" that stand for the byte x. */
static int bracket_class(struct pattern_parser *s, struct pattern_set *set, int *ret_byte)
{
	char kind = s->at[1], close[3] = {kind, ']', 0};
	const char *name = s->at + 2, *end = strstr(name, close);
	*ret_byte = -1;
	if (!end)
		return -EINVAL;
	s->at = end + 2;
	if (kind == ':')
		return end - name > 1 && add_class(set, name, (size_t)(end - name)) ? 0 : -EINVAL;
	if (end - name != 1)
		return -EINVAL;
	*ret_byte = (uint8_t)*name;
	return 0;
}

/* The next byte of a bracket expression; -1 when it was a class, which is in @set now. */
static int bracket_item(struct pattern_parser *s, struct pattern_set *set, int *ret_byte)
{
	if (!*s->at)
		return -EINVAL;
	if (*s->at == '[' && s->at[1] && strchr(".:=", s->at[1]))
		return bracket_class(s, set, ret_byte);
	*ret_byte = (uint8_t)*s->at++;
	return 0;
}

static uint16_t parse_bracket(struct pattern_parser *s)
{
	struct pattern_set set = {{0}};
	bool invert = *s->at == '^', first = true;
	s->at += invert;
	for (; first || *s->at != ']'; first = false) {
		int from, to;
		int err = bracket_item(s, &set, &from);
		to = from;
		if (!err && s->at[0] == '-' && s->at[1] && s->at[1] != ']') {
			s->at++;
			err = bracket_item(s, &set, &to);
			if (from < 0 || to < from)
				err = -EINVAL;
		}
		if (err)
			return fail(s, err);
		if (from >= 0)
			set_add(&set, (unsigned)from, (unsigned)to);
	}
	s->at++;
	if (invert)
		set_invert(&set);
	return add_set(s, set);
}

/* ---- Atoms, repetitions, alternatives ---- */

static uint16_t parse_or(struct pattern_parser *s);

static uint16_t parse_escape(struct pattern_parser *s)
{
	struct pattern_set set = {{0}};
	char c = *s->at++;
	if (c && strchr("wWsS", c)) {
		char name = (char)(c | 0x20);
		add_class(&set, &name, 1);
		if (c != name)
			set_invert(&set);
		return add_set(s, set);
	}
	/* The end of the pattern; a back reference or an assertion of GNU, which are not supported. */
	if (!c || (c >= '1' && c <= '9') || strchr("bB<>`'", c))
		return fail(s, -EINVAL);
	return add_node(s, (struct pattern_node){.kind = NODE_BYTE, .c = (uint8_t)c});
}

static uint16_t parse_group(struct pattern_parser *s)
{
	if (++s->depth > PATTERN_DEPTH_MAX)
		return fail(s, -EINVAL);
	uint16_t node = parse_or(s);
	s->depth--;
	if (*s->at != ')')
		return fail(s, -EINVAL);
	s->at++;
	return node;
}

static uint16_t parse_atom(struct pattern_parser *s)
{
	char c = *s->at++;
	switch (c) {
	case '(': return parse_group(s);
	case '[': return parse_bracket(s);
	case '\\': return parse_escape(s);
	case '.': return add_node(s, (struct pattern_node){.kind = NODE_ANY});
	case '^': return add_node(s, (struct pattern_node){.kind = NODE_BEGIN});
	case '$': return add_node(s, (struct pattern_node){.kind = NODE_END});
	case '*':
	case '+':
	case '?': return fail(s, -EINVAL); /* nothing to repeat */
	default: return add_node(s, (struct pattern_node){.kind = NODE_BYTE, .c = (uint8_t)c});
	}
}

static bool parse_number(const char **at, uint16_t *ret)
{
	unsigned value = 0;
	const char *p = *at;
	for (; *p >= '0' && *p <= '9' && value <= REPEAT_MAX; p++)
		value = value * 10 + (unsigned)(*p - '0');
	if (p == *at || value > REPEAT_MAX)
		return false;
	*ret = (uint16_t)value;
	*at = p;
	return true;
}

/* "{m}", "{m,}", "{m,n}" at s->at. */
static bool parse_interval(struct pattern_parser *s, uint16_t *ret_min, uint16_t *ret_max)
{
	const char *p = s->at + 1;
	if (!parse_number(&p, ret_min))
		return false;
	*ret_max = *ret_min;
	if (*p == ',') {
		p++;
		*ret_max = NO_LIMIT;
		if (*p != '}' && !parse_number(&p, ret_max))
			return false;
	}
	if (*p != '}' || *ret_max < *ret_min)
		return false;
	s->at = p + 1;
	return true;
}

static uint16_t parse_repeated(struct pattern_parser *s)
{
	uint16_t node = parse_atom(s), min, max;
	for (; !s->err;
	     node = add_node(s, (struct pattern_node){NODE_REPEAT, .a = node, .min = min, .max = max})) {
		char c = *s->at;
		min = c == '+';
		max = c == '?' ? 1 : NO_LIMIT;
		if (c == '{') {
			if (!parse_interval(s, &min, &max))
				return fail(s, -EINVAL);
		} else if (c == '*' || c == '+' || c == '?') {
			s->at++;
		} else {
			return node;
		}
	}
	return NO_NODE;
}

static uint16_t parse_cat(struct pattern_parser *s)
{
	uint16_t node = NO_NODE;
	while (!s->err && *s->at && *s->at != '|' && !(*s->at == ')' && s->depth)) {
		uint16_t next = parse_repeated(s);
		node = node == NO_NODE
			       ? next
			       : add_node(s, (struct pattern_node){.kind = NODE_CAT, .a = node, .b = next});
	}
	return node;
}

static uint16_t parse_or(struct pattern_parser *s)
{
	uint16_t node = parse_cat(s);
	while (!s->err && *s->at == '|') {
		s->at++;
		uint16_t next = parse_cat(s);
		node = add_node(s, (struct pattern_node){.kind = NODE_OR, .a = node, .b = next});
	}
	return node;
}

/* ---- The program ---- */

static uint16_t emit(struct pattern_parser *s, struct pattern_step step)
{
	if (s->p->program.n >= PATTERN_PROGRAM_MAX)
		return fail(s, -EINVAL);
	if (vec_push(&s->p->program, step))
		return fail(s, -ENOMEM);
	return (uint16_t)(s->p->program.n - 1);
}

static uint16_t here(const struct pattern_parser *s)
{
	return (uint16_t)s->p->program.n;
}

static void emit_node(struct pattern_parser *s, uint16_t index);

static void emit_or(struct pattern_parser *s, struct pattern_node node)
{
	uint16_t split = emit(s, (struct pattern_step){.op = OP_SPLIT});
	emit_node(s, node.a);
	uint16_t jump = emit(s, (struct pattern_step){.op = OP_JUMP});
	if (s->err)
		return;
	s->p->program.v[split].x = (uint16_t)(split + 1);
	s->p->program.v[split].y = here(s);
	emit_node(s, node.b);
	if (!s->err)
		s->p->program.v[jump].x = here(s);
}

/* @index zero or one time, with @again any number of times. */
static void emit_optional(struct pattern_parser *s, uint16_t index, bool again)
{
	uint16_t split = emit(s, (struct pattern_step){.op = OP_SPLIT});
	emit_node(s, index);
	if (again)
		emit(s, (struct pattern_step){.op = OP_JUMP, .x = split});
	if (s->err)
		return;
	s->p->program.v[split].x = (uint16_t)(split + 1);
	s->p->program.v[split].y = here(s);
}

static void emit_repeat(struct pattern_parser *s, struct pattern_node node)
{
	for (unsigned i = 0; !s->err && i < node.min; i++)
		emit_node(s, node.a);
	if (node.max == NO_LIMIT)
		emit_optional(s, node.a, true);
	for (unsigned i = node.min; !s->err && node.max != NO_LIMIT && i < node.max; i++)
		emit_optional(s, node.a, false);
}

/* A concatenation is a list along its left operands, which is iterated: recursion would be as deep as the
 * pattern is long. */
static void emit_list(struct pattern_parser *s, uint16_t index)
{
	uint16_t parts[PATTERN_SIZE_MAX + 1];
	size_t n = 0;
	for (; s->p->nodes.v[index].kind == NODE_CAT && n < PATTERN_SIZE_MAX; index = s->p->nodes.v[index].a)
		parts[n++] = s->p->nodes.v[index].b;
	emit_node(s, index);
	while (!s->err && n-- > 0)
		emit_node(s, parts[n]);
}

static void emit_node(struct pattern_parser *s, uint16_t index)
{
	if (s->err || s->emitted++ > EMITTED_MAX) {
		fail(s, -EINVAL);
		return;
	}
	struct pattern_node node = s->p->nodes.v[index];
	switch ((enum pattern_node_kind)node.kind) {
	case NODE_EMPTY: break;
	case NODE_BYTE: emit(s, (struct pattern_step){.op = OP_BYTE, .c = node.c}); break;
	case NODE_ANY: emit(s, (struct pattern_step){.op = OP_ANY}); break;
	case NODE_SET: emit(s, (struct pattern_step){.op = OP_SET, .x = node.a}); break;
	case NODE_BEGIN: emit(s, (struct pattern_step){.op = OP_BEGIN}); break;
	case NODE_END: emit(s, (struct pattern_step){.op = OP_END}); break;
	case NODE_CAT: emit_list(s, index); break;
	case NODE_OR: emit_or(s, node); break;
	case NODE_REPEAT: emit_repeat(s, node); break;
	}
}

int pattern_compile(struct pattern *pattern, const char *text)
{
	struct pattern_parser s = {.p = pattern, .at = text};
	pattern->program.n = pattern->sets.n = pattern->nodes.n = 0;
	if (strlen(text) > PATTERN_SIZE_MAX)
		return -EINVAL;
	add_node(&s, (struct pattern_node){.kind = NODE_EMPTY});
	uint16_t root = parse_or(&s);
	if (!s.err && *s.at)
		fail(&s, -EINVAL);
	emit_node(&s, root);
	emit(&s, (struct pattern_step){.op = OP_MATCH});
	if (s.err)
		pattern->program.n = 0;
	return s.err;
}

/* ---- The matcher ---- */

/* A sparse set of steps: its members in order of insertion, and the position of each among them. */
struct state_list {
	uint16_t *steps, *places;
	size_t n;
};

struct search {
	const struct pattern *p;
	struct state_list now, next;
	uint16_t *stack;
	bool at_begin, at_end;
	bool matched;
};

static bool list_add(struct state_list *list, uint16_t step)
{
	uint16_t place = list->places[step];
	if (place < list->n && list->steps[place] == step)
		return false;
	list->places[step] = (uint16_t)list->n;
	list->steps[list->n++] = step;
	return true;
}

/* Adds the epsilon closure of @step. The stack holds at most two entries for each step. */
static void follow_step(struct search *s, struct state_list *list, uint16_t step)
{
	size_t n = 0;
	s->stack[n++] = step;
	while (n) {
		uint16_t i = s->stack[--n];
		if (!list_add(list, i))
			continue;
		const struct pattern_step *p = &s->p->program.v[i];
		if (p->op == OP_MATCH)
			s->matched = true;
		if (p->op == OP_SPLIT)
			s->stack[n++] = p->y;
		if (p->op == OP_SPLIT || p->op == OP_JUMP)
			s->stack[n++] = p->x;
		if ((p->op == OP_BEGIN && s->at_begin) || (p->op == OP_END && s->at_end))
			s->stack[n++] = (uint16_t)(i + 1);
	}
}

static bool accepts(const struct pattern *p, const struct pattern_step *step, uint8_t c)
{
	return step->op == OP_ANY || (step->op == OP_BYTE && step->c == c) ||
	       (step->op == OP_SET && set_has(&p->sets.v[step->x], c));
}

static bool run_search(struct search *s, const char *name, size_t size, uint64_t *budget)
{
	for (size_t at = 0;; at++) {
		s->at_begin = at == 0;
		s->at_end = at == size;
		follow_step(s, &s->now, 0);
		if (s->matched || at == size || *budget < s->now.n)
			break;
		*budget -= s->now.n;
		s->at_begin = false;
		s->at_end = at + 1 == size;
		for (size_t i = 0; i < s->now.n; i++)
			if (accepts(s->p, &s->p->program.v[s->now.steps[i]], (uint8_t)name[at]))
				follow_step(s, &s->next, (uint16_t)(s->now.steps[i] + 1));
		struct state_list consumed = s->now;
		s->now = s->next;
		s->next = consumed;
		s->next.n = 0;
	}
	return s->matched;
}

bool pattern_search(struct pattern *pattern, const char *name, size_t size, uint64_t *budget)
{
	size_t n = pattern->program.n;
	pattern->lists.n = 0;
	if (!n || vec_reserve(&pattern->lists, 6 * n + 2))
		return false;
	uint16_t *v = pattern->lists.v;
	memset(v, 0, (6 * n + 2) * sizeof(*v));
	struct search s = {
		.p = pattern,
		.now = {.steps = v, .places = v + n},
		.next = {.steps = v + 2 * n, .places = v + 3 * n},
		.stack = v + 4 * n,
	};
	return run_search(&s, name, size, budget);
}

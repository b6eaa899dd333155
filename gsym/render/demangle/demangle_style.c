/*
 * demangle_style.c - one pass over the text in place. The differences:
 *
 *   libiberty                       llvm
 *   a<b<c> >, operator<< <x>        a<b<c>>, operator<<<x>
 *   {lambda(int)#1}, #2, #3         'lambda'(int), 'lambda0'(int), 'lambda1'(int)
 *   {unnamed type#1}                'unnamed'
 *   decltype(nullptr)               std::nullptr_t
 *   f() [clone .part.0] [clone .cold]   f() (.part.0.cold)
 *
 * The number of a lambda stands after its parameters and has to move in front of them, so open lambdas wait
 * on a small stack.
 */
#include "gsym/render/demangle/demangle_parts.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_MAX = 32 }; /* braces nested deeper than this keep libiberty's spelling */

enum brace {
	BRACE_OTHER,    /* copied as it is */
	BRACE_NUMBERED, /* ends in #N, which becomes part of the quoted word */
};

struct restyle {
	const char *in, *end;
	char *text, *out;
	struct {
		enum brace kind;
		size_t word; /* where the quoted word ends in the output */
	} open[OPEN_MAX];
	size_t depth; /* braces open; may exceed OPEN_MAX */
};

/* Skips @word if it is next in the input. */
static bool skip(struct restyle *r, const char *word)
{
	size_t size = strlen(word);
	if ((size_t)(r->end - r->in) < size || memcmp(r->in, word, size) != 0)
		return false;
	r->in += size;
	return true;
}

static void put_word(struct restyle *r, const char *word)
{
	size_t size = strlen(word);
	memcpy(r->out, word, size);
	r->out += size;
}

static void open_brace(struct restyle *r)
{
	enum brace kind = BRACE_OTHER;
	if (r->depth >= OPEN_MAX) {
		*r->out++ = *r->in++;
	} else if (skip(r, "{lambda(")) {
		kind = BRACE_NUMBERED;
		put_word(r, "'lambda");
		r->open[r->depth].word = (size_t)(r->out - r->text);
		*r->out++ = '(';
	} else if (skip(r, "{unnamed type")) {
		kind = BRACE_NUMBERED;
		put_word(r, "'unnamed");
		r->open[r->depth].word = (size_t)(r->out - r->text);
	} else {
		*r->out++ = *r->in++;
	}
	if (r->depth < OPEN_MAX)
		r->open[r->depth].kind = kind;
	r->depth++;
}

/*
 * Takes "#N" off the end of the output; @digits: llvm's number, which is none, 0, 1, ... for 1, 2, 3. False
 * if there is none. The byte at r->out may be overwritten, since the closing brace has been read.
 */
static bool take_number(struct restyle *r, char digits[12])
{
	char *hash = memrchr(r->text, '#', (size_t)(r->out - r->text));
	char *end;
	if (!hash)
		return false;
	*r->out = '\0';
	unsigned long number = strtoul(hash + 1, &end, 10);
	if (end != r->out || end == hash + 1 || number > 999999999)
		return false;
	digits[0] = '\0';
	if (number >= 2)
		snprintf(digits, 12, "%lu", number - 2);
	r->out = hash;
	return true;
}

static void close_brace(struct restyle *r)
{
	char digits[12];
	r->in++;
	if (r->depth > 0)
		r->depth--;
	if (r->depth >= OPEN_MAX || r->open[r->depth].kind != BRACE_NUMBERED || !take_number(r, digits)) {
		*r->out++ = '}';
		return;
	}
	char *word = r->text + r->open[r->depth].word;
	size_t size = strlen(digits);
	memmove(word + size + 1, word, (size_t)(r->out - word));
	memcpy(word, digits, size);
	word[size] = '\'';
	r->out += size + 1;
}

/* A blank that only separates two brackets of one kind. */
static bool between_brackets(const struct restyle *r)
{
	if (r->out == r->text || r->end - r->in < 2)
		return false;
	return (r->in[1] == '>' || r->in[1] == '<') && r->out[-1] == r->in[1];
}

size_t demangle_restyle(char *text, size_t size)
{
	struct restyle r = {.in = text, .end = text + size, .text = text, .out = text};
	while (r.in < r.end) {
		if (*r.in == '{')
			open_brace(&r);
		else if (*r.in == '}')
			close_brace(&r);
		else if (*r.in == ' ' && between_brackets(&r))
			r.in++;
		else if (*r.in == ' ' && skip(&r, " [clone ")) {
			put_word(&r, " (");
			do {
				while (r.in < r.end && *r.in != ']')
					*r.out++ = *r.in++;
				if (r.in < r.end)
					r.in++;
			} while (skip(&r, " [clone "));
			*r.out++ = ')';
		} else if (*r.in == 'd' && skip(&r, "decltype(nullptr)"))
			put_word(&r, "std::nullptr_t");
		else
			*r.out++ = *r.in++;
	}
	return (size_t)(r.out - text);
}

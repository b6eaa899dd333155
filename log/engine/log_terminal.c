/* Colours answers and shortens names where people read them. */
#include "log/engine/pending_stack.h"

enum { LONG_NAME = 60 }; /* bytes of a name that is shown whole */

/* ---- Colour ---- */

#define ADDED    "\033[36m" /* cyan */
#define ORIGINAL "\033[39m" /* the terminal's colour; what else the log has set stays */

void log_paint(struct text_buf *out, size_t from)
{
	size_t size = out->n - from;
	if (out->failed || !size)
		return;
	text_lit(out, ADDED ORIGINAL); /* for the room of both */
	if (out->failed)
		return;
	memmove(out->v + from + strlen(ADDED), out->v + from, size);
	memcpy(out->v + from, ADDED, strlen(ADDED));
	memcpy(out->v + out->n - strlen(ORIGINAL), ORIGINAL, strlen(ORIGINAL));
}

/* ---- Template arguments ---- */

/* Returns the bytes at @at that are no bracket although they look like one: "operator<<" and "->". */
static size_t skip_operator(const char *at)
{
	static const char *const operators[] = {"<=>", "<<=", "<<", "<=", "<", ">>=", ">>", ">=", "->", ">"};
	size_t word = strlen("operator");
	if (strncmp(at, "->", 2) == 0)
		return 2;
	if (strncmp(at, "operator", word) != 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (strncmp(at + word, operators[i], strlen(operators[i])) == 0)
			return word + strlen(operators[i]);
	return 0;
}

/* Returns whether the bracket at @at begins arguments: behind a name or Rust's "::", not "<T as U>::f". */
static bool begins_arguments(const char *name, const char *at)
{
	return at > name && (is_word(at[-1]) || at[-1] == ':');
}

void log_name_fold(struct text_buf *out, size_t from)
{
	size_t depth = 0, size = out->n - from;
	if (out->failed || size <= LONG_NAME)
		return;
	text_char(out, 0);
	if (out->failed)
		return;
	out->n--;
	const char *name = out->v + from;
	struct text_buf folded = {0};
	for (const char *at = name; *at;) {
		size_t skipped = skip_operator(at);
		if (!skipped && *at == '>' && depth && --depth == 0)
			text_lit(&folded, "<...>");
		else if (!skipped && *at == '<' && (depth || begins_arguments(name, at)))
			depth++;
		else if (!depth)
			text_bytes(&folded, at, skipped ? skipped : 1);
		at += skipped ? skipped : 1;
	}
	if (!folded.failed && !depth && folded.n < size) {
		memcpy(out->v + from, folded.v, folded.n);
		out->n = from + folded.n;
	}
	text_deinit(&folded);
}

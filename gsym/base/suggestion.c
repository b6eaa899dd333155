#include "gsym/base/suggestion.h"

#include <stdbool.h>
#include <string.h>

enum {
	WORD_MAX = 40,
	LETTERS_PER_EDIT = 3,
	ABBREVIATION_MIN = 3, /* letters */
};

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Of words that have at most WORD_MAX letters: one row of the matrix for each letter of @a. */
static unsigned edit_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
	unsigned rows[3][WORD_MAX + 1];
	unsigned *last = rows[0], *row = rows[1], *next = rows[2];
	for (size_t j = 0; j <= b_size; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= a_size; i++) {
		next[0] = (unsigned)i;
		for (size_t j = 1; j <= b_size; j++) {
			next[j] = least(row[j], next[j - 1]) + 1;
			next[j] = least(next[j], row[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				next[j] = least(next[j], last[j - 2] + 1);
		}
		unsigned *spare = last;
		last = row;
		row = next;
		next = spare;
	}
	return row[b_size];
}

struct suggestion suggestion_begin(const char *given, size_t size)
{
	return (struct suggestion){.given = given, .size = size};
}

void suggestion_try(struct suggestion *suggestion, const char *word)
{
	size_t size = strlen(word), given = suggestion->size;
	if (given > WORD_MAX || size > WORD_MAX)
		return;
	bool abbreviated =
		given >= ABBREVIATION_MIN && given < size && memcmp(suggestion->given, word, given) == 0;
	unsigned distance = abbreviated ? 1 : edit_distance(suggestion->given, given, word, size);
	size_t longer = given > size ? given : size;
	if (distance > longer / LETTERS_PER_EDIT || (suggestion->best && distance >= suggestion->distance))
		return;
	suggestion->best = word;
	suggestion->distance = distance;
}

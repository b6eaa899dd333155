/*
 * suggestion.h - the word that a misspelt one may have meant.
 */
#ifndef GSYM_BASE_SUGGESTION_H
#define GSYM_BASE_SUGGESTION_H

#include <stddef.h>

/* The state of a search among words that are given one after the other. */
struct suggestion {
	const char *given; /* borrowed, need not end at @size */
	size_t size;
	const char *best; /* the most similar word so far, borrowed; NULL: none is similar enough */
	unsigned distance;
};

/* Starts a search for the @size bytes of @given. Words above some length have no suggestion. */
struct suggestion suggestion_begin(const char *given, size_t size);

/*
 * Compares @word: it becomes the best one if it takes fewer edits than those before, and at most one for
 * each three letters. An edit inserts, deletes or replaces a letter, or transposes two neighbours (optimal
 * string alignment). A word that @given abbreviates is as good as one edit.
 */
void suggestion_try(struct suggestion *suggestion, const char *word);

#endif

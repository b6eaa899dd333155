/* Which word a misspelt one may have meant. */
#include "gsym/base/suggestion.h"

#include <string.h>

#include "tests/lib/unit.h"

/* The distance of @word, or -1 if it is not similar enough. */
static int distance(const char *given, const char *word)
{
	struct suggestion s = suggestion_begin(given, strlen(given));
	assert_null(s.best);
	suggestion_try(&s, word);
	assert_true(!s.best || s.best == word);
	return s.best ? (int)s.distance : -1;
}

/* At most one edit for each three letters of the longer word. */
TEST(distances)
{
	static const struct {
		const char *given, *word;
		int distance;
	} rows[] = {
		{"", "", 0},
		{"a", "a", 0},
		{"ab", "ab", 0},
		{"ab", "ac", -1},
		{"ab", "ba", -1},
		{"abc", "abd", 1},
		{"abc", "bac", 1},
		{"abc", "acb", 1},
		{"abc", "cab", -1}, /* two edits */
		{"abc", "xyz", -1},
		{"abc", "bxc", -1},
		{"bxc", "abc", -1},
		{"bc", "abc", 1},
		{"abc", "bc", 1},
		{"abc", "ab", 1},
		{"abcd", "acbd", 1},
		{"abcde", "axcye", -1}, /* two edits of five letters */
		{"abcdef", "axcdyf", 2},
		{"abcdef", "bacdfe", 2},
		{"abcdef", "axcyez", -1},
		{"abcdef", "cdef", 2},
		{"cdef", "abcdef", 2},
		{"abcdef", "abef", 2},
		{"abcdefghi", "xbcdexghx", 3},
		{"abcdefghi", "abcghi", 3},
		{"abcdefghi", "abcdefgh", 1},
		{"kitten", "sitting", -1}, /* three edits of seven letters */
		{"merged", "mereged", 1},
		{"merged", "emrged", 1},
		/* Abbreviations, of three letters at least. */
		{"abc", "abcdefghi", 1},
		{"ab", "abcdefghi", -1},
		{"abx", "abcdefghi", -1},
		{"abcdefghi", "abc", -1},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (distance(rows[i].given, rows[i].word) != rows[i].distance)
			fail_msg("%s, %s: %d", rows[i].given, rows[i].word,
				 distance(rows[i].given, rows[i].word));
}

/* Both words may have so many letters. */
TEST(longest)
{
	enum { MOST = 40 };
	char word[MOST + 2], other[MOST + 2];
	memset(word, 'a', sizeof(word) - 1);
	memset(other, 'a', sizeof(other) - 1);
	word[MOST + 1] = other[MOST + 1] = 0;
	assert_int_equal(distance(word, other), -1);
	word[MOST] = 0;
	assert_int_equal(distance(word, other), -1);
	assert_int_equal(distance(other, word), -1);
	other[MOST] = 0;
	assert_int_equal(distance(word, other), 0);
	other[MOST - 1] = 'b';
	assert_int_equal(distance(word, other), 1);
}

/* Letters before the words are none of theirs. */
TEST(bounds)
{
	static const char given[] = "cabc", word[] = "axbc";
	struct suggestion s = suggestion_begin(given + 1, 3);
	suggestion_try(&s, word + 1);
	assert_ptr_equal(s.best, word + 1);
	assert_int_equal(s.distance, 1);
	s = suggestion_begin(&"bab"[1], 2); /* "ab" and "bx": two edits */
	suggestion_try(&s, &"abx"[1]);
	assert_null(s.best);
}

TEST(the_best_and_first)
{
	const char *const words[] = {"xxxxxx", "abcdyz", "abxdef", "abcdex", "abcdef", "abcdef"};
	/* After each of them. */
	const size_t best[] = {SIZE_MAX, 1, 2, 2, 4, 4};
	/* The given word need not end there. */
	struct suggestion s = suggestion_begin("abcdefgh", 6);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		suggestion_try(&s, words[i]);
		assert_ptr_equal(s.best, best[i] == SIZE_MAX ? NULL : words[best[i]]);
	}
}

/* Regular expressions of call sites: against the C library's, which is not used since files are hostile. */
#include "tests/unit/gsym/sample.h"

#include "log/engine/pattern.h"
#include "tests/lib/unit.h"

#include <regex.h>
#include <string.h>

static const uint64_t plenty = 1 << 30;

static bool matches(const char *pattern, const char *name)
{
	struct pattern p = {.program = {0}};
	uint64_t budget = plenty;
	bool found = !pattern_compile(&p, pattern) && pattern_search(&p, name, strlen(name), &budget);
	pattern_deinit(&p);
	return found;
}

static int compiles(const char *pattern)
{
	struct pattern p = {.program = {0}};
	int err = pattern_compile(&p, pattern);
	pattern_deinit(&p);
	return err;
}

TEST(names)
{
	assert_true(matches("f1", "f10")); /* unanchored */
	assert_false(matches("^f1$", "f10"));
	assert_true(matches("^_ZN.*4nameE", "_ZN5Other4nameEv"));
	assert_false(matches("^_ZN.*4nameE", "_ZN5Other5nameEv"));
	assert_true(matches("\\[.* selector\\]", "-[Class selector]"));
	assert_false(matches("\\[.* selector\\]", "-[Class selector:]"));
	assert_true(matches("^(a|bc){2,3}$", "abca"));
	assert_false(matches("^(a|bc){2,3}$", "abcabca"));
	assert_true(matches("[[:alpha:]_][^]0-9.-]+", "x_y"));
	assert_true(matches("", "anything"));
	assert_true(matches("\\w+\\s\\w", "operator new"));
	assert_true(matches("a||b", "zzz")); /* one alternative is empty */
	assert_true(matches("()a", "a"));
}

TEST(no_patterns)
{
	static const char *const bad[] = {"(",      "a)",         "[",    "[a",   "*",       "+a",
					  "a|*",    "[[:none:]]", "\\",   "a{2",  "a{3,2}",  "a{256}",
					  "(a)\\1", "[b-a]",      "\\ba", "a{x}", "[[=ab=]]"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		/* A ')' alone is a character to POSIX, and to us. */
		if (strcmp(bad[i], "a)") != 0)
			assert_int_equal(compiles(bad[i]), -EINVAL);
	}
	assert_true(matches("a)", "a)"));
}

TEST(limits)
{
	char text[PATTERN_SIZE_MAX + 2];
	assert_int_equal(compiles("((a{255}){255}){255}"), -EINVAL);
	assert_int_equal(compiles("((((((((){255}){255}){255}){255}){255}){255}){255}){255}"), -EINVAL);
	memset(text, '(', sizeof(text));
	text[PATTERN_SIZE_MAX] = 0;
	assert_int_equal(compiles(text), -EINVAL);
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_int_equal(compiles(text), -EINVAL);
	text[PATTERN_SIZE_MAX] = 0;
	assert_int_equal(compiles(text), 0);
	for (size_t i = 1; i < PATTERN_SIZE_MAX; i++)
		text[i] = "*+?|"[i % 4];
	text[PATTERN_SIZE_MAX] = 0;
	compiles(text); /* whatever it is, it is nothing to run on about */
	memset(text, '+', sizeof(text));
	text[0] = 'a';
	text[PATTERN_SIZE_MAX] = 0;
	assert_int_equal(compiles(text), -EINVAL);
}

/* What takes other matchers exponential time. */
TEST(time_is_bounded)
{
	static char name[4000];
	struct pattern p = {.program = {0}};
	uint64_t budget = plenty;
	memset(name, 'a', sizeof(name));
	assert_int_equal(pattern_compile(&p, "^((a*)*)*(a|aa)+(a|a)*b$"), 0);
	assert_false(pattern_search(&p, name, sizeof(name), &budget));
	assert_true(plenty - budget < 100 * sizeof(name));
	budget = 100;
	assert_int_equal(pattern_compile(&p, "a$"), 0);
	assert_false(pattern_search(&p, name, sizeof(name), &budget));
	assert_true(budget <= 100);
	pattern_deinit(&p);
}

/* Random patterns over a few characters, random names: both matchers say the same. */
TEST(as_the_c_library)
{
	static const char *const parts[] = {
		"a",     "b",    "c", ".", "(a",   "(",    ")",     "|",   "*",  "+",    "?",           "{2}",
		"{1,2}", "{0,}", "^", "$", "[ab]", "[^a]", "[a-c]", "\\.", "ab", "[]x]", "[[:digit:]]", "1"};
	unsigned seed = 11, compared = 0;
	for (int round = 0; round < 60000; round++) {
		char text[128] = "", name[16];
		regex_t theirs;
		struct pattern ours = {.program = {0}};
		for (int i = rand_r(&seed) % 8; i >= 0; i--)
			strcat(text, parts[rand_r(&seed) % ARRAY_SIZE(parts)]);
		if (pattern_compile(&ours, text) || regcomp(&theirs, text, REG_EXTENDED | REG_NOSUB)) {
			pattern_deinit(&ours);
			continue;
		}
		for (int k = 0; k < 6; k++) {
			size_t size = (size_t)(rand_r(&seed) % 8);
			for (size_t i = 0; i < size; i++)
				name[i] = "abc1."[rand_r(&seed) % 5];
			name[size] = 0;
			uint64_t budget = plenty;
			bool here = pattern_search(&ours, name, size, &budget);
			if (here != (regexec(&theirs, name, 0, NULL, 0) == 0))
				fail_msg("'%s' in '%s': %d here", text, name, here);
			compared++;
		}
		regfree(&theirs);
		pattern_deinit(&ours);
	}
	assert_true(compared > 100000);
}

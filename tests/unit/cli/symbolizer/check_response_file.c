/* Words of files and of the environment: how they are parted, how deep files nest, how many there may be. */

#include "cli/symbolizer/response_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/unit/temp_directory.h"

static char directory[] = "/tmp/check_response.XXXXXX";

static const char *in_directory(const char *name)
{
	static char path[2][64];
	static unsigned turn;
	turn ^= 1;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", directory, name);
	return path[turn];
}

static void put_file(const char *name, const char *text, size_t size)
{
	FILE *file = fopen(in_directory(name), "we");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void assert_words(const char *text, size_t n, const char *const *want)
{
	struct word_list words = {0};
	assert_int_equal(words_add_text(&words, text), 0);
	assert_int_equal(words.list.n, n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(words.list.v[i], want[i]);
	words_deinit(&words);
}

#define WORDS(text, ...)                                                                \
	assert_words(text, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), \
		     (const char *const[]){__VA_ARGS__})

TEST(words_are_parted)
{
	WORDS("a", "a");
	WORDS("  a\tb\nc\rd\ve\ff  ", "a", "b", "c", "d", "e", "f");
	WORDS("a\x08"
	      "b a\x0e"
	      "b a!b",
	      "a\x08"
	      "b",
	      "a\x0e"
	      "b",
	      "a!b");
	WORDS("'a b' \"c d\"", "a b", "c d");
	WORDS("a' 'b\" \"c", "a b c");
	WORDS("'a\"b' \"c'd\"", "a\"b", "c'd");
	WORDS("'' a \"\"", "", "a", "");
	WORDS("a\\ b \\'c \\\\ '\\''", "a b", "'c", "\\", "'");
	WORDS("a\\", "a\\");
	WORDS("'a b", "a b");
	WORDS("@", "@");
	WORDS("a@b", "a@b");
	assert_words("", 0, NULL);
	assert_words(" \n ", 0, NULL);
}

TEST(files_are_read)
{
	struct word_list words = {0};
	char text[100];
	put_file("plain", "one 'two three'\nfour", 20);
	put_file("empty", "", 0);
	snprintf(text, sizeof(text), "before @%s after", in_directory("plain"));
	WORDS(text, "before", "one", "two three", "four", "after");
	snprintf(text, sizeof(text), "@%s", in_directory("empty"));
	assert_words(text, 0, NULL);
	/* What cannot be read, or is no file, is a word. */
	snprintf(text, sizeof(text), "@%s", in_directory("nowhere"));
	WORDS(text, text);
	snprintf(text, sizeof(text), "@%s", directory);
	WORDS(text, text);
	WORDS("@/dev/zero", "@/dev/zero");
	/* One word, whatever is in it. */
	assert_int_equal(words_add(&words, "a 'b"), 0);
	snprintf(text, sizeof(text), "@%s", in_directory("plain"));
	assert_int_equal(words_add(&words, text), 0);
	assert_int_equal(words.list.n, 4);
	assert_string_equal(words.list.v[0], "a 'b");
	assert_string_equal(words.list.v[3], "four");
	words_deinit(&words);
}

TEST(large_files)
{
	struct word_list words = {0};
	char word[100];
	put_file("large", "word", 4);
	snprintf(word, sizeof(word), "@%s", in_directory("large"));
	for (off_t more = 0; more < 2; more++) {
		words_deinit(&words);
		words = (struct word_list){0};
		assert_int_equal(truncate(in_directory("large"), (16 << 20) + more), 0);
		assert_int_equal(words_add(&words, word), 0);
		assert_int_equal(words.list.n, 1);
		assert_string_equal(words.list.v[0], more ? word : "word");
	}
	words_deinit(&words);
}

/* As many files in each other as there may be, and one more. */
TEST(nested_files)
{
	char name[16], text[100];
	struct word_list words = {0};
	for (int i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		int size = i ? snprintf(text, sizeof(text), "@%s/f%d", directory, i - 1)
			     : snprintf(text, sizeof(text), "end");
		put_file(name, text, (size_t)size);
	}
	snprintf(text, sizeof(text), "@%s", in_directory("f15"));
	WORDS(text, "end");
	assert_int_equal(words_add(&words, text), 0);
	assert_int_equal(words.list.n, 1);
	put_file("f16", text, strlen(text));
	snprintf(text, sizeof(text), "@%s", in_directory("f16"));
	assert_int_equal(words_add(&words, text), -ELOOP);
	assert_int_equal(words_add_text(&words, text), -ELOOP);
	put_file("self", text, 0);
	snprintf(text, sizeof(text), "a @%s", in_directory("self"));
	put_file("self", text, strlen(text));
	assert_int_equal(words_add(&words, text + 2), -ELOOP);
	words_deinit(&words);
}

TEST(many_words)
{
	enum { MOST = 1 << 20 };
	char *text = malloc(2 * MOST + 3);
	struct word_list words = {0};
	for (size_t i = 0; i <= MOST; i++)
		memcpy(text + 2 * i, "a ", 2);
	text[2 * MOST] = 0;
	assert_int_equal(words_add_text(&words, text), 0);
	assert_int_equal(words.list.n, MOST);
	assert_int_equal(words_add(&words, "a"), -EFBIG);
	assert_int_equal(words.list.n, MOST);
	words_deinit(&words);
	free(text);
}

static int remove_directory(void **state)
{
	(void)state;
	return remove_tree(directory);
}

ALL_TESTS(NULL, remove_directory)

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	return unit_run();
}

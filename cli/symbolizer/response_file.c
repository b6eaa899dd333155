#include "cli/symbolizer/response_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gsym/base/file_io.h"
#include "gsym/base/text_buf.h"

enum {
	DEPTH_MAX = 16,
	WORDS_MAX = 1 << 20,
	FILE_MAX = 16 << 20, /* bytes */
};

static int add_copy(struct word_list *words, const char *text, size_t size)
{
	if (words->list.n >= WORDS_MAX)
		return -EFBIG;
	char *copy = strndup(text, size);
	if (!copy || vec_push(&words->list, copy)) {
		free(copy);
		return -ENOMEM;
	}
	return 0;
}

static bool is_separator(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Appends the word at @at to @word without what protects it; returns its end. */
static const char *take_word(const char *at, struct text_buf *word)
{
	char quote = 0;
	for (; *at && (quote || !is_separator(*at)); at++) {
		if (quote ? *at == quote : *at == '"' || *at == '\'')
			quote = quote ? 0 : *at;
		else if (*at == '\\' && at[1])
			text_char(word, *++at);
		else
			text_char(word, *at);
	}
	return at;
}

static int add_word(struct word_list *words, const char *word, unsigned depth);

static int add_text(struct word_list *words, const char *text, unsigned depth)
{
	struct text_buf word = {0};
	int err = 0;
	while (!err) {
		while (is_separator(*text))
			text++;
		if (!*text)
			break;
		text_reset(&word);
		text = take_word(text, &word);
		text_char(&word, 0);
		err = word.failed ? -ENOMEM : add_word(words, word.v, depth);
	}
	text_deinit(&word);
	return err;
}

static int read_text(int fd, char **ret)
{
	struct stat st;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return -ENOENT;
	char *text = calloc(1, (size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	if (read_all(fd, text, (size_t)st.st_size, 0)) {
		free(text);
		return -ENOENT;
	}
	*ret = text;
	return 0;
}

/* The content as a string: 0; -ENOENT if it cannot be read; -ENOMEM. */
static int read_file(const char *path, char **ret)
{
	int fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -ENOENT;
	int err = read_text(fd, ret);
	close(fd);
	return err;
}

static int add_word(struct word_list *words, const char *word, unsigned depth)
{
	char *text;
	if (word[0] == '@' && depth == DEPTH_MAX)
		return -ELOOP;
	int err = word[0] == '@' ? read_file(word + 1, &text) : -ENOENT;
	if (err)
		return err == -ENOENT ? add_copy(words, word, strlen(word)) : err;
	err = add_text(words, text, depth + 1);
	free(text);
	return err;
}

int words_add(struct word_list *words, const char *word)
{
	return add_word(words, word, 0);
}

int words_add_text(struct word_list *words, const char *text)
{
	return add_text(words, text, 0);
}

void words_deinit(struct word_list *words)
{
	for (size_t i = 0; i < words->list.n; i++)
		free(words->list.v[i]);
	vec_free(&words->list);
}

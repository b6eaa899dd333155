/* response_file.h - words of the command line that stand in files and in the environment. */
#ifndef CLI_SYMBOLIZER_RESPONSE_FILE_H
#define CLI_SYMBOLIZER_RESPONSE_FILE_H

#include "gsym/base/vec.h"

/* The strings are the list's own. Zero-initialised is empty. */
struct word_list {
	VEC(char *) list;
};

/*
 * Appends a copy of @word; of "@FILE" the words in FILE, likewise expanded, unless it cannot be read. Words
 * are separated by white space; quotation marks and backslashes protect. 0; -ELOOP if files are nested too
 * deep; -EFBIG if there are too many words; -ENOMEM.
 */
int words_add(struct word_list *words, const char *word);

/* Appends the words in @text, expanded. The errnos of words_add(). */
int words_add_text(struct word_list *words, const char *text);

void words_deinit(struct word_list *words);

#endif

#include "work/options/option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_row(const struct option_row *row)
{
	return row->name || row->letter;
}

static bool is_of(const struct option_row *row, unsigned group)
{
	return !group || (row->groups & group);
}

/* ---- Values ---- */

static void store_number(const struct option_row *row, void *to, uint64_t value)
{
	switch (row->size) {
	case 1: *(uint8_t *)to = (uint8_t)value; break;
	case 2: *(uint16_t *)to = (uint16_t)value; break;
	case 4: *(uint32_t *)to = (uint32_t)value; break;
	case 8: *(uint64_t *)to = value; break;
	}
}

int option_value(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	(void)value, (void)diag;
	store_number(row, to, row->least);
	return 0;
}

int option_string(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	(void)row, (void)diag;
	*(const char **)to = value;
	return 0;
}

int option_list(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	struct option_list *list = to;
	(void)row;
	if (list->n == OPTION_LIST_MAX)
		return diag_set(diag, -E2BIG, "given more than %d times", OPTION_LIST_MAX);
	list->v[list->n++] = value;
	return 0;
}

/* Parses decimal digits up to @ret_end. False if there are none, or too many. */
static bool parse_digits(const char *text, char **ret_end, uint64_t *ret)
{
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, ret_end, 10);
	return !errno;
}

static int parse_number(const struct option_row *row, const char *value, void *to, const char *of,
			struct gsym_diag *diag)
{
	char *end;
	uint64_t number;
	if (!parse_digits(value, &end, &number) || *end || number < row->least || number > row->most)
		return diag_set(diag, -EDOM, "a number%s from %llu to %llu", of,
				(unsigned long long)row->least, (unsigned long long)row->most);
	store_number(row, to, number);
	return 0;
}

int option_number(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	return parse_number(row, value, to, "", diag);
}

int option_seconds(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	return parse_number(row, value, to, " of seconds", diag);
}

int option_bytes(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	return parse_number(row, value, to, " of bytes", diag);
}

/* Suffixes are powers of 1024. */
static bool parse_size(const char *text, uint64_t *ret)
{
	static const char suffixes[] = "KMGT";
	char *end;
	uint64_t value;
	if (!parse_digits(text, &end, &value))
		return false;
	if (*end) {
		const char *at = strchr(suffixes, *end >= 'a' ? *end - 'a' + 'A' : *end);
		if (!at || end[1])
			return false;
		unsigned shift = 10 * (unsigned)(at - suffixes + 1);
		if (value > UINT64_MAX >> shift)
			return false;
		value <<= shift;
	}
	*ret = value;
	return true;
}

int option_size(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	uint64_t size;
	if (parse_size(value, &size) && size >= row->least) {
		*(uint64_t *)to = size;
		return 0;
	}
	if (row->least > 1)
		return diag_set(diag, -EDOM, "at least %llu bytes, such as 512M or 10G",
				(unsigned long long)row->least);
	return diag_set(diag, -EDOM, "a number of bytes%s, such as 512M or 10G",
			row->least ? " above 0" : "");
}

/* Finds @value in "a|b|c", or in the same in brackets; if it is none of them, says "a, b or c". */
static int find_word(const char *words, const char *value, unsigned *ret_index, struct gsym_diag *diag)
{
	char allowed[128];
	size_t n = 0;
	unsigned index = 0;
	for (const char *at = words + (*words == '[');; index++) {
		size_t length = strcspn(at, "|]");
		if (strlen(value) == length && memcmp(value, at, length) == 0) {
			*ret_index = index;
			return 0;
		}
		const char *rest = at + length;
		const char *after = *rest != '|' ? "" : strchr(rest + 1, '|') ? ", " : " or ";
		n += (size_t)snprintf(allowed + n, sizeof(allowed) - n, "%.*s%s", (int)length, at, after);
		if (*rest != '|' || n >= sizeof(allowed))
			return diag_set(diag, -EDOM, "%s", allowed);
		at = rest + 1;
	}
}

int option_choice(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	unsigned index;
	int err = value ? find_word(row->argument, value, &index, diag) : 0;
	if (!err)
		store_number(row, to, value ? row->least + index : row->most);
	return err;
}

int option_yes_no(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	unsigned index;
	int err = find_word(row->argument, value, &index, diag);
	if (!err)
		*(bool *)to = index == 0;
	return err;
}

int option_ignored(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	(void)row, (void)value, (void)to, (void)diag;
	return 0;
}

int option_set(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	return row->parse(row, value, (char *)to + row->member, diag);
}

/* ---- Rows ---- */

const struct option_row *option_named(const struct option_row *rows, unsigned group, const char *name,
				      size_t size)
{
	for (const struct option_row *row = rows; is_row(row); row++)
		if (is_of(row, group) && row->name && strncmp(row->name, name, size) == 0 && !row->name[size])
			return row;
	return NULL;
}

const struct option_row *option_lettered(const struct option_row *rows, unsigned group, char letter)
{
	for (const struct option_row *row = rows; is_row(row); row++)
		if (is_of(row, group) && row->letter == letter)
			return row;
	return NULL;
}

void option_suggest(struct suggestion *meant, const struct option_row *rows, unsigned group)
{
	for (const struct option_row *row = rows; is_row(row); row++)
		if (is_of(row, group) && row->name)
			suggestion_try(meant, row->name);
}

/* ---- Command lines ---- */

/* Sets the row whose name begins with the @size bytes of @name. */
static enum option_event find_abbreviated(struct option_words *words, const char *name, size_t size)
{
	for (const struct option_row *row = words->rows; is_row(row); row++) {
		if (!is_of(row, words->group) || !row->name || strncmp(row->name, name, size) != 0)
			continue;
		if (words->row)
			return OPTION_AMBIGUOUS;
		words->row = row;
	}
	return words->row ? OPTION_GIVEN : OPTION_UNKNOWN;
}

static bool may_lack_argument(const struct option_row *row)
{
	return !row->argument || row->argument[0] == '[';
}

/* The argument that does not follow in the word of the option is the next word. */
static enum option_event take_argument(struct option_words *words)
{
	if (words->value || may_lack_argument(words->row))
		return OPTION_GIVEN;
	if (words->at == words->n)
		return OPTION_LACKS_ARGUMENT;
	words->value = words->v[words->at++];
	return OPTION_GIVEN;
}

static enum option_event take_name(struct option_words *words)
{
	const char *name = words->word + 2;
	size_t size = strcspn(name, "=");
	words->row = option_named(words->rows, words->group, name, size);
	if (!words->row) {
		enum option_event event =
			words->as_llvm || !size ? OPTION_UNKNOWN : find_abbreviated(words, name, size);
		if (event != OPTION_GIVEN)
			return event;
	}
	words->value = name[size] ? name + size + 1 : NULL;
	return words->value && !words->row->argument ? OPTION_TAKES_NONE : take_argument(words);
}

/* "-fCi", "-eFILE", and as LLVM has it "-e=FILE", "-f=short" */
static enum option_event take_letter(struct option_words *words)
{
	words->letter = *words->letters++;
	words->row = option_lettered(words->rows, words->group, words->letter);
	if (!words->row)
		return OPTION_UNKNOWN;
	bool has_equals = words->as_llvm && *words->letters == '=';
	if (words->row->argument && *words->letters && (has_equals || !may_lack_argument(words->row))) {
		words->value = words->letters + has_equals;
		words->letters = NULL;
	}
	return take_argument(words);
}

const char *option_spelling(const struct option_words *words, const char *word)
{
	for (const struct option_synonym *s = words->synonyms; s && s->word; s++)
		if (is_of(&(struct option_row){.groups = s->groups}, words->group) && !strcmp(s->word, word))
			return s->means;
	return word;
}

enum option_event option_next(struct option_words *words)
{
	words->row = NULL;
	words->value = NULL;
	words->letter = 0;
	if (words->letters && *words->letters)
		return take_letter(words);
	while (words->at < words->n) {
		char *given = words->v[words->at++];
		words->word = option_spelling(words, given);
		if (words->ended || words->word[0] != '-' || !words->word[1]) {
			if (words->as_llvm && !given[0])
				continue;
			/* They change places, so that an owner of the words loses none. */
			words->v[words->at - 1] = words->v[words->n_operands];
			words->v[words->n_operands++] = given;
		} else if (words->word[1] != '-') {
			words->letters = words->word + 1;
			return take_letter(words);
		} else if (words->word[2] || words->as_llvm) {
			return take_name(words);
		} else {
			words->ended = true;
		}
	}
	return OPTION_END;
}

/* ---- Help ---- */

void option_print(FILE *file, const struct option_row *row, const struct option_look *look)
{
	bool is_optional = row->argument && may_lack_argument(row);
	if (row->section)
		fprintf(file, "\n%s:\n", row->section);
	int width = fprintf(file, "%s", look->indent);
	if (row->letter)
		width += fprintf(file, "-%c%s", row->letter, row->name ? ", --" : "");
	width += fprintf(file, "%s%s", row->letter ? "" : look->prefix, row->name ? row->name : "");
	if (row->argument)
		width += fprintf(file, "%s%s", is_optional ? "[=" : "=", row->argument + is_optional);
	if (width >= look->column) {
		fputs(look->one_line ? " " : "\n", file);
		width = look->one_line ? look->column : 0;
	}
	fprintf(file, "%*s", look->column - width, "");
	const char *text = row->help;
	for (const char *end; (end = strchr(text, '\n')); text = end + 1)
		fprintf(file, "%.*s\n%*s", (int)(end - text), text, look->column, "");
	fprintf(file, row->initial ? "%s (default %s)\n" : "%s\n", text, row->initial);
}

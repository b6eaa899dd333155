#include "fs/answer/notes_show.h"

#include <stdbool.h>
#include <stdio.h>

#include "gsym/base/ascii.h"
#include "gsym/base/escape.h"

enum { NUMBER_DIGITS_MAX = 19 /* fits 64 bits */ };

void notes_to_lines(struct kv_writer *kv, const char *notes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char c = notes[i];
		text_char(&kv->out, c == '\t' || c == '\n' || (c >= 0x20 && c < 0x7f) ? c : '?');
	}
}

/* ---- Lines ---- */

struct text {
	const char *v;
	size_t n;
};

/* Consumes the next line of @rest that has a value; false at the end. */
static bool next_line(struct text *rest, struct text *ret_key, struct text *ret_value)
{
	while (rest->n) {
		const char *end = memchr(rest->v, '\n', rest->n);
		size_t n = end ? (size_t)(end - rest->v) : rest->n;
		const char *tab = memchr(rest->v, '\t', n);
		struct text line = {rest->v, n};
		rest->v += n + (end != NULL);
		rest->n -= n + (end != NULL);
		if (!tab)
			continue;
		*ret_key = (struct text){line.v, (size_t)(tab - line.v)};
		*ret_value = (struct text){tab + 1, line.n - ret_key->n - 1};
		return true;
	}
	return false;
}

static bool is(struct text text, const char *word)
{
	return text.n == strlen(word) && memcmp(text.v, word, text.n) == 0;
}

/* ---- Values ---- */

/* Undoes ESCAPE_TSV. */
static void unescape(struct text_buf *out, struct text value)
{
	for (size_t i = 0; i < value.n; i++) {
		char c = value.v[i], next = i + 1 < value.n ? value.v[i + 1] : 0;
		int high = i + 3 < value.n ? hex_value(value.v[i + 2]) : -1;
		int low = i + 3 < value.n ? hex_value(value.v[i + 3]) : -1;
		if (c == '\\' && next == 'x' && high >= 0 && low >= 0) {
			text_char(out, (char)(high << 4 | low));
			i += 3;
		} else if (c == '\\' && (next == 't' || next == 'n' || next == '\\')) {
			text_char(out, next == 't' ? '\t' : next == 'n' ? '\n' : '\\');
			i++;
		} else {
			text_char(out, c);
		}
	}
}

static void put_texts(struct kv_writer *kv, struct text notes, const char *key)
{
	struct text name, value;
	while (next_line(&notes, &name, &value)) {
		struct text_buf plain = {0};
		if (!is(name, key))
			continue;
		unescape(&plain, value);
		kv_item(kv, key, plain.v ? plain.v : "", plain.n);
		kv->out.failed |= plain.failed;
		text_deinit(&plain);
	}
}

/* Whether @text is a number of @base, 10 or 16, without leading zeros (10) or with "0x" (16). */
static bool is_number(struct text text, int base)
{
	if (base == 16 && (text.n < 2 || text.v[0] != '0' || text.v[1] != 'x'))
		return false;
	size_t first = base == 16 ? 2 : 0;
	if (text.n <= first || text.n - first > NUMBER_DIGITS_MAX)
		return false;
	for (size_t i = first; i < text.n; i++)
		if (hex_value(text.v[i]) < 0 || hex_value(text.v[i]) >= base)
			return false;
	return base == 16 || text.n == 1 || text.v[0] != '0';
}

static void put_number(struct kv_writer *kv, struct text notes, const char *key)
{
	struct text name, value;
	while (next_line(&notes, &name, &value)) {
		if (!is(name, key) || !is_number(value, 10))
			continue;
		uint64_t number = 0;
		for (size_t i = 0; i < value.n; i++)
			number = number * 10 + (uint64_t)(value.v[i] - '0');
		kv_number(kv, key, number);
		return;
	}
}

static void put_address(struct kv_writer *kv, struct text notes, const char *key)
{
	struct text name, value;
	char text[24];
	while (next_line(&notes, &name, &value)) {
		if (!is(name, key) || !is_number(value, 16) || value.n >= sizeof(text))
			continue;
		snprintf(text, sizeof(text), "%.*s", (int)value.n, value.v);
		kv_text(kv, key, text);
		return;
	}
}

/* ---- Sections: "name address size"; the name may contain spaces ---- */

/* Removes the last word of @text and returns it. */
static struct text last_word(struct text *text)
{
	size_t n = text->n;
	while (n && text->v[n - 1] != ' ')
		n--;
	struct text word = {text->v + n, text->n - n};
	text->n = n ? n - 1 : 0;
	return word;
}

static void put_section(struct kv_writer *kv, struct text value)
{
	struct text_buf name = {0};
	struct text size = last_word(&value), addr = last_word(&value);
	if (!is_number(size, 10) || !is_number(addr, 16))
		return;
	unescape(&name, value);
	kv_item_begin(kv, "section");
	text_lit(&kv->out, "{\"name\":\"");
	escape_bytes(&kv->out, name.v ? name.v : "", name.n, ESCAPE_JSON);
	text_lit(&kv->out, "\",\"address\":\"");
	text_bytes(&kv->out, addr.v, addr.n);
	text_lit(&kv->out, "\",\"size\":");
	text_bytes(&kv->out, size.v, size.n);
	text_char(&kv->out, '}');
	kv->out.failed |= name.failed;
	text_deinit(&name);
}

static void put_sections(struct kv_writer *kv, struct text notes)
{
	struct text name, value;
	while (next_line(&notes, &name, &value))
		if (is(name, "section"))
			put_section(kv, value);
}

void notes_to_json(struct kv_writer *kv, const char *notes, size_t size)
{
	static const char *const numbers[] = {"units", "functions_dwarf", "functions_symbols"};
	static const char *const lists[] = {"addresses", "bounded_by", "language",   "skipped", "missing",
					    "uses",      "denied",     "debuginfod", "segment"};
	struct text all = {notes, size};
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		put_number(kv, all, numbers[i]);
	put_address(kv, all, "image_base");
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		put_texts(kv, all, lists[i]);
	put_sections(kv, all);
}

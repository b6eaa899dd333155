#include "cli/symbolizer/symbol_query.h"

#include <string.h>

#include "gsym/base/ascii.h"

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct text_part trimmed(const char *text, size_t size)
{
	for (; size && is_space(text[size - 1]);)
		size--;
	for (; size && is_space(*text); text++)
		size--;
	return (struct text_part){text, size};
}

/* Reads digits of base @base: how many. A number that is too large becomes the largest. */
static size_t take_digits(struct text_part part, unsigned base, uint64_t *ret, bool *ret_overflow)
{
	size_t i = 0;
	*ret = 0;
	*ret_overflow = false;
	for (int digit; i < part.size && (digit = hex_value(part.text[i])) >= 0 && digit < (int)base; i++)
		*ret_overflow |= __builtin_mul_overflow(*ret, base, ret) ||
				 __builtin_add_overflow(*ret, (unsigned)digit, ret);
	if (*ret_overflow)
		*ret = UINT64_MAX;
	return i;
}

static bool has_prefix(struct text_part part, const char *letters)
{
	return part.size > 2 && part.text[0] == '0' && strchr(letters, part.text[1]);
}

static struct text_part after(struct text_part part, size_t n)
{
	return (struct text_part){part.text + n, part.size - n};
}

/* The base that the prefix of a number tells, as in C; @skip: the size of the prefix. */
static unsigned base_of(struct text_part part, size_t *skip)
{
	*skip = 2;
	if (has_prefix(part, "xX"))
		return 16;
	if (has_prefix(part, "bB"))
		return 2;
	if (has_prefix(part, "o"))
		return 8;
	*skip = 0;
	return part.size > 1 && part.text[0] == '0' ? 8 : 10;
}

/* ---- addr2line ---- */

/* Hexadecimal as far as it goes, else 0. */
static uint64_t leading_hex(struct text_part part, bool *ret_is_all)
{
	uint64_t value;
	bool overflow;
	part = after(part, has_prefix(part, "xX") ? 2 : 0);
	size_t n = take_digits(part, 16, &value, &overflow);
	*ret_is_all = n > 0 && n == part.size;
	return value;
}

/* Reads what follows the "+" of a symbol, as far as it goes; it may have a sign of its own. */
static uint64_t leading_number(struct text_part part)
{
	uint64_t value;
	size_t skip;
	bool overflow;
	part = trimmed(part.text, part.size);
	part = after(part, part.size && *part.text == '+');
	unsigned base = base_of(part, &skip);
	if (skip && base != 16) {
		base = 8; /* as in C before C23: "0b1" is 0 */
		skip = 0;
	}
	take_digits(after(part, skip), base, &value, &overflow);
	return value;
}

/* An address, unless it is a symbol: "main", "main+0x10". Without a symbol, "+0x10" is an address. */
static void parse_binutils(const char *line, size_t size, struct symbol_query *ret)
{
	struct text_part all = trimmed(line, size);
	const char *plus = memchr(all.text, '+', all.size);
	bool is_all;
	ret->addr = leading_hex(all, &is_all);
	ret->may_be_address = true;
	if (is_all)
		return;
	if (plus && plus == all.text) {
		ret->addr = leading_number(after(all, 1));
		return;
	}
	ret->kind = QUERY_SYMBOL;
	ret->symbol = all;
	if (!plus)
		return;
	ret->symbol = trimmed(all.text, (size_t)(plus - all.text));
	ret->offset = leading_number(after(all, (size_t)(plus + 1 - all.text)));
}

/* ---- LLVM ---- */

/* A whole number: base 16 in llvm-addr2line, which takes "+0x10", too; else as in C. */
static bool parse_number(const struct symbolizer_options *options, struct text_part part, uint64_t *ret)
{
	size_t skip;
	bool overflow, is_hex = options->dialect == DIALECT_LLVM_ADDR2LINE;
	if (is_hex && part.size && *part.text == '+' && has_prefix(after(part, 1), "xX"))
		part = after(part, 1);
	unsigned base = base_of(part, &skip);
	if (is_hex && base != 16) {
		base = 16;
		skip = 0;
	}
	part = after(part, skip);
	size_t n = take_digits(part, base, ret, &overflow);
	return n > 0 && n == part.size && !overflow;
}

static bool skip_word(struct text_part *rest, const char *word)
{
	size_t size = strlen(word);
	if (rest->size < size || memcmp(rest->text, word, size) != 0)
		return false;
	*rest = after(*rest, size);
	return true;
}

static enum query_kind take_kind(struct text_part *rest)
{
	if (skip_word(rest, "CODE "))
		return QUERY_CODE;
	if (skip_word(rest, "DATA "))
		return QUERY_DATA;
	return skip_word(rest, "FRAME ") ? QUERY_FRAME : QUERY_CODE;
}

static void invalid(struct symbol_query *ret, const char *why)
{
	ret->kind = QUERY_INVALID;
	ret->why = why;
	if (ret->by_id)
		ret->module = (struct text_part){"", 0};
}

static bool is_hex(struct text_part part)
{
	for (size_t i = 0; i < part.size; i++)
		if (hex_value(part.text[i]) < 0)
			return false;
	return part.size > 0;
}

/* Takes the prefixes that say what the first word is; false if there is more than one. */
static bool take_prefix(struct text_part *rest, struct symbol_query *ret, bool *ret_has_prefix)
{
	unsigned n = 0;
	for (;; n++) {
		*rest = trimmed(rest->text, rest->size);
		if (skip_word(rest, "BUILDID:"))
			ret->by_id = true;
		else if (!skip_word(rest, "FILE:"))
			break;
	}
	*ret_has_prefix = n > 0;
	return n <= 1;
}

/* Takes the next word, which may be quoted. False if there is none, or if the quotation does not end. */
static bool take_word(struct text_part *rest, struct text_part *ret)
{
	char quote = rest->size && (*rest->text == '"' || *rest->text == '\'') ? *rest->text : 0;
	if (quote)
		*rest = after(*rest, 1);
	const char *end = rest->size ? memchr(rest->text, quote ? quote : ' ', rest->size) : NULL;
	if (quote && !end)
		return false;
	*ret = (struct text_part){rest->text, end ? (size_t)(end - rest->text) : rest->size};
	*rest = after(*rest, ret->size + (end != NULL));
	return ret->size > 0;
}

/* Takes the file or build ID of the line: NULL, or what is wrong. */
static const char *take_module(const struct symbolizer_options *options, struct text_part *rest,
			       struct symbol_query *ret)
{
	bool has_prefix, is_given = options->object || options->build_id;
	if (!take_prefix(rest, ret, &has_prefix))
		return "duplicate input file specification prefix";
	if (has_prefix && !rest->size)
		return ret->by_id ? "must be followed by a hash" : "must be followed by an input file";
	if (has_prefix && is_given)
		return "input file has already been specified";
	if (!is_given && !take_word(rest, &ret->module))
		return has_prefix ? "unbalanced quotes in input file name"
				  : "no input filename has been specified";
	return ret->by_id && !is_hex(ret->module) ? "wrong format of build-id" : NULL;
}

/* "main", "main+0x10"; what follows the "+" is part of the name unless it is a number. */
static void set_symbol(struct symbol_query *ret, struct text_part part)
{
	size_t skip;
	bool overflow;
	const char *plus = memchr(part.text, '+', part.size);
	ret->kind = QUERY_SYMBOL;
	ret->symbol = part;
	if (!plus || plus == part.text)
		return;
	struct text_part number = after(part, (size_t)(plus + 1 - part.text));
	unsigned base = base_of(number, &skip);
	number = after(number, skip);
	uint64_t offset;
	size_t n = take_digits(number, base, &offset, &overflow);
	if (!n || n != number.size || overflow)
		return;
	ret->symbol.size = (size_t)(plus - part.text);
	ret->offset = offset;
}

static void parse_llvm(const struct symbolizer_options *options, const char *line, size_t size,
		       struct symbol_query *ret)
{
	struct text_part rest = {line, size};
	if (!trimmed(line, size).size) {
		invalid(ret, NULL);
		return;
	}
	ret->kind = take_kind(&rest);
	const char *why = take_module(options, &rest, ret);
	if (why) {
		invalid(ret, why);
		return;
	}
	rest = trimmed(rest.text, rest.size);
	const char *end = rest.size ? memchr(rest.text, ' ', rest.size) : NULL;
	rest.size = end ? (size_t)(end - rest.text) : rest.size;
	if (!rest.size)
		invalid(ret, "no module offset has been specified");
	else if (parse_number(options, rest, &ret->addr))
		return;
	else if (rest.text[0] >= '0' && rest.text[0] <= '9')
		invalid(ret, "expected a number as module offset");
	else
		set_symbol(ret, rest);
}

void symbol_query_parse(const struct symbolizer_options *options, const char *line, size_t size,
			struct symbol_query *ret)
{
	*ret = (struct symbol_query){.kind = QUERY_CODE};
	if (options->dialect == DIALECT_BINUTILS)
		parse_binutils(line, size, ret);
	else
		parse_llvm(options, line, size, ret);
	bool is_blank_line = ret->kind == QUERY_INVALID && !ret->why;
	if (!ret->module.text && options->object && !is_blank_line)
		ret->module = (struct text_part){options->object, strlen(options->object)};
	if (!ret->module.text && options->build_id && !is_blank_line) {
		ret->module = (struct text_part){options->build_id, strlen(options->build_id)};
		ret->by_id = true;
	}
	if (!ret->module.text)
		ret->module.text = "";
}

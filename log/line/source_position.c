#include "log/line/source_position.h"

#include "gsym/base/vec.h"

enum { EXTENSION_MAX = 5 };

static const char *const extensions[] = {
	"c",  "h",   "cc", "cpp", "cxx",  "c++",  "hh",  "hpp", "hxx", "h++", "inc", "inl", "ipp",   "tcc",
	"m",  "mm",  "s",  "S",   "asm",  "rs",   "go",  "d",   "adb", "ads", "f",   "F",   "f90",   "F90",
	"cu", "cuh", "y",  "l",   "zig",  "nim",  "pas", "hs",  "ml",  "cl",  "js",  "py",  "swift", "kt",
	"pp", "def", "td", "v",   "vala", "java", "C",   "H",   "f95", "rb",  "lua",
};

/* Whether the word that ends at @to is a file of a source language. */
static bool is_source(const char *begin, const char *to)
{
	const char *from = to;
	while (from > begin && (is_word(from[-1]) || from[-1] == '+') && to - from <= EXTENSION_MAX)
		from--;
	if (from == to || from - begin < 2 || from[-1] != '.' || is_blank(from[-2]))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(extensions); i++)
		if (strlen(extensions[i]) == (size_t)(to - from) &&
		    memcmp(extensions[i], from, (size_t)(to - from)) == 0)
			return true;
	return false;
}

/* "[d:\\src\\a.cpp @ 12]" or "... @ 12 + 0x3]", as WinDbg writes. */
static bool has_bracketed_position(struct text_scan text)
{
	const char *at = find_text(text.at, text.end, " @ ");
	struct text_scan s = scan_from(at ? at + strlen(" @ ") : text.end, text.end);
	uint64_t line;
	return at && is_source(text.at, at) && scan_decimal(&s, &line) &&
	       (scan_lit(&s, "]") || scan_lit(&s, " + 0x"));
}

/* "d:\\src\\a.cpp(12)", as compilers of Microsoft write. */
static bool has_position_in_parentheses(struct text_scan text)
{
	uint64_t line;
	for (const char *p = text.at; (p = memchr(p, '(', (size_t)(text.end - p))); p++) {
		struct text_scan s = scan_from(p + 1, text.end);
		if (scan_decimal(&s, &line) && scan_lit(&s, ")") && is_source(text.at, p))
			return true;
	}
	return false;
}

bool has_source_position(struct text_scan text)
{
	if (has_bracketed_position(text) || has_position_in_parentheses(text))
		return true;
	for (const char *p = text.at; p < text.end && (p = memchr(p, ':', (size_t)(text.end - p))); p++) {
		struct text_scan s = scan_from(p + 1, text.end);
		scan_blanks(&s);
		if (s.at < s.end && is_digit(*s.at) &&
		    is_source(text.at, p[-(p > text.at)] == ' ' ? p - 1 : p))
			return true;
	}
	return false;
}

bool ends_with_source_position(struct text_scan text)
{
	while (text.end > text.at && is_blank(text.end[-1]))
		text.end--;
	if (text.end > text.at && text.end[-1] == ']')
		return false; /* of the program that writes the log */
	const char *from = text.end;
	while (from > text.at && !is_blank(from[-1]))
		from--;
	return has_source_position(scan_from(from, text.end));
}

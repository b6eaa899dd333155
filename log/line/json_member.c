#include "log/line/json_member.h"

static void skip_space(struct text_scan *s)
{
	while (s->at < s->end && (is_blank(*s->at) || *s->at == '\n' || *s->at == '\r' || *s->at == ','))
		s->at++;
}

/* A string, with its quotes. */
static bool scan_string(struct text_scan *s)
{
	if (!scan_lit(s, "\""))
		return false;
	while (s->at < s->end && *s->at != '"')
		s->at += *s->at == '\\' && scan_left(s) > 1 ? 2 : 1;
	return scan_lit(s, "\"");
}

/* Up to the comma after the value, or the end. */
static bool skip_value(struct text_scan *s)
{
	size_t depth = 0;
	for (; s->at < s->end && (depth || *s->at != ','); s->at++) {
		depth += *s->at == '{' || *s->at == '[';
		depth -= (*s->at == '}' || *s->at == ']') && depth;
		if (*s->at != '"')
			continue;
		if (!scan_string(s))
			return false;
		s->at--;
	}
	return true;
}

bool json_member_next(struct text_scan *s, struct json_member *ret)
{
	skip_space(s);
	const char *from = s->at;
	if (!scan_string(s))
		return false;
	ret->key = scan_from(from + 1, s->at - 1);
	skip_space(s);
	if (!scan_lit(s, ":"))
		return false;
	skip_space(s);
	from = s->at;
	if (!skip_value(s))
		return false;
	ret->value = scan_from(from, s->at);
	while (ret->value.end > from &&
	       (is_blank(ret->value.end[-1]) || ret->value.end[-1] == '\n' || ret->value.end[-1] == '\r'))
		ret->value.end--;
	return true;
}

bool json_is_line(struct text_scan line)
{
	scan_blanks(&line);
	while (line.end > line.at && memchr(" \t\r\n,", line.end[-1], 5))
		line.end--;
	if (scan_lit(&line, "{")) {
		scan_blanks(&line);
		return line.at < line.end && *line.at == '"' && line.end[-1] == '}';
	}
	if (!scan_string(&line))
		return false;
	scan_blanks(&line);
	return scan_lit(&line, ":");
}

bool json_piece_next(struct text_scan *s, bool *in_string, struct text_scan *ret)
{
	if (!*in_string) {
		const char *quote = memchr(s->at, '"', scan_left(s));
		if (!quote)
			return false;
		s->at = quote + 1;
		*in_string = true;
	}
	if (s->at >= s->end)
		return false;
	*ret = scan_from(s->at, s->end);
	for (; s->at < s->end; s->at++) {
		if (*s->at == '"') {
			*in_string = false;
			break;
		}
		if (*s->at == '\\' && scan_left(s) > 1 && memchr("nrt", s->at[1], 3))
			break;
		s->at += *s->at == '\\' && scan_left(s) > 1;
	}
	ret->end = s->at;
	s->at += s->at < s->end;
	s->at += *in_string && s->at < s->end; /* "\\n" */
	return true;
}

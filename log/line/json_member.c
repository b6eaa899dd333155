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

/* json_member.h - the members of a JSON object one after the other, in text that was parsed before. */
#ifndef LOG_LINE_JSON_MEMBER_H
#define LOG_LINE_JSON_MEMBER_H

#include "log/line/text_scan.h"

/* A member: its key without quotes, and its value as it is written. */
struct json_member {
	struct text_scan key, value;
};

/* Takes the next member from what is between the braces of an object. False after the last. */
bool json_member_next(struct text_scan *s, struct json_member *ret);

/* Returns whether the line is an object, or a member of one, as programs write that log in JSON. */
bool json_is_line(struct text_scan line);

/*
 * Takes the next piece of a string from a line that is JSON: what is between quotes, line ends and tabs.
 * @in_string: at first false
 * False after the last.
 */
bool json_piece_next(struct text_scan *s, bool *in_string, struct text_scan *ret);

static inline bool json_is(struct text_scan text, const char *word)
{
	return scan_left(&text) == strlen(word) && memcmp(text.at, word, strlen(word)) == 0;
}

#endif

#include "log/maps/map_line.h"

/* "rwx", each of which may be '-'. */
static bool scan_access(struct text_scan *s, bool *ret_executable)
{
	static const char letters[] = "rwx";
	if (scan_left(s) < strlen(letters))
		return false;
	for (size_t i = 0; i < strlen(letters); i++)
		if (s->at[i] != '-' && s->at[i] != letters[i])
			return false;
	*ret_executable = s->at[2] == 'x';
	s->at += strlen(letters);
	return true;
}

static bool scan_sharing(struct text_scan *s)
{
	return (scan_lit(s, "p") || scan_lit(s, "s")) && scan_lit(s, " ");
}

/* ---- /proc/PID/maps ---- */

static bool parse_process(struct text_scan s, struct map_line *ret)
{
	uint64_t major, minor, inode;
	if (!scan_digits(&s, 1, &ret->start) || !scan_lit(&s, "-") || !scan_digits(&s, 1, &ret->end) ||
	    !scan_lit(&s, " ") || !scan_access(&s, &ret->executable) || !scan_sharing(&s) ||
	    !scan_digits(&s, 1, &ret->offset) || !scan_blanks(&s) || !scan_digits(&s, 1, &major) ||
	    !scan_lit(&s, ":") || !scan_digits(&s, 1, &minor) || !scan_blanks(&s) ||
	    !scan_decimal(&s, &inode))
		return false;
	scan_blanks(&s);
	ret->path = s;
	return true;
}

/* ---- Tombstones ---- */

/* "00000073'd2a00000", or on 32-bit machines "aa3d6000". */
static bool scan_halves(struct text_scan *s, uint64_t *ret)
{
	uint64_t low;
	if (!scan_digits(s, 8, ret) || *ret > UINT32_MAX)
		return false;
	if (!scan_lit(s, "'"))
		return true;
	if (!scan_digits(s, 8, &low) || low > UINT32_MAX)
		return false;
	*ret = *ret << 32 | low;
	return true;
}

/* Cuts " (NAME: VALUE)" or " (NAME VALUE)" off the end of the path, unless that does not end so. */
static void cut_note(struct text_scan *path, const char *name, struct text_scan *ret)
{
	const char *at = find_text(path->at, path->end, name);
	if (!at || path->end[-1] != ')')
		return;
	*ret = scan_from(at + strlen(name), path->end - 1);
	path->end = at;
}

static bool parse_tombstone(struct text_scan s, struct map_line *ret)
{
	uint64_t last, size;
	struct text_scan bias;
	if (!scan_halves(&s, &ret->start) || !scan_lit(&s, "-") || !scan_halves(&s, &last) ||
	    !scan_lit(&s, " ") || !scan_access(&s, &ret->executable) || !scan_blanks(&s) ||
	    !scan_digits(&s, 1, &ret->offset) || !scan_blanks(&s) || !scan_digits(&s, 1, &size) ||
	    last - ret->start + 1 != size || last == UINT64_MAX)
		return false;
	ret->end = last + 1;
	if (!scan_blanks(&s) && s.at < s.end)
		return false;
	ret->path = s;
	cut_note(&ret->path, " (load bias ", &bias);
	cut_note(&ret->path, " (BuildId: ", &ret->id);
	return true;
}

/* ---- perf ---- */

/* A number after "@ ", which is without "0x" if it is 0. */
static bool scan_offset(struct text_scan *s, uint64_t *ret)
{
	return scan_hex(s, ret) || scan_digits(s, 1, ret);
}

/* " fe:00 11059266 2624152902" or " <0123...>", up to the bracket. */
static bool scan_file(struct text_scan *s, struct text_scan *ret_id)
{
	const char *close = find_text(s->at, s->end, "]: ");
	if (!close)
		return false;
	if (scan_lit(s, " <") && close > s->at && close[-1] == '>')
		*ret_id = scan_from(s->at, close - 1);
	s->at = close + strlen("]: ");
	return true;
}

static bool parse_event(struct text_scan s, struct map_line *ret)
{
	uint64_t thread, size;
	bool second = scan_lit(&s, "2");
	ret->is_event = true;
	if (!scan_lit(&s, " ") || !scan_decimal(&s, &ret->process) || !scan_lit(&s, "/") ||
	    !scan_decimal(&s, &thread) || !scan_lit(&s, ": [") || !scan_hex(&s, &ret->start) ||
	    !scan_lit(&s, "(") || !scan_offset(&s, &size) || !scan_lit(&s, ") @ ") ||
	    !scan_offset(&s, &ret->offset) || !scan_file(&s, &ret->id) ||
	    __builtin_add_overflow(ret->start, size, &ret->end))
		return false;
	if (second) {
		if (!scan_access(&s, &ret->executable) || !scan_sharing(&s))
			return false;
	} else {
		ret->executable = scan_lit(&s, "x ");
		if (!ret->executable && !scan_lit(&s, "r "))
			return false;
	}
	ret->path = s;
	return true;
}

bool map_line_parse(struct text_scan line, struct map_line *ret)
{
	static const char event[] = " PERF_RECORD_MMAP";
	struct text_scan s = line;
	*ret = (struct map_line){.id = scan_from(line.end, line.end)};
	scan_blanks(&s);
	scan_lit(&s, "--->"); /* of a tombstone: the fault is in it */
	bool found = parse_process(s, ret) || parse_tombstone(s, ret);
	const char *at = found ? NULL : find_text(line.at, line.end, event);
	if (at)
		found = parse_event(scan_from(at + strlen(event), line.end), ret);
	return found && ret->start < ret->end;
}

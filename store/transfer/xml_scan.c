#include "store/transfer/xml_scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gsym/base/ascii.h"
#include "gsym/base/vec.h"

/* ---- Texts ---- */

static void add_text(struct xml_scan *scan, char c)
{
	if (scan->n_text + 1 < XML_TEXT_SIZE)
		scan->text[scan->n_text++] = c;
	else
		scan->is_long = true;
}

static void reset_text(struct xml_scan *scan)
{
	scan->n_text = 0;
	scan->is_long = false;
}

/* The byte of an entity, after its "&". 0: it is none, or not of ASCII. */
static char entity_byte(const char *name, size_t n)
{
	static const struct {
		const char *name;
		char byte;
	} entities[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
	if (n > 1 && n < 8 && name[0] == '#') {
		unsigned long code =
			name[1] == 'x' ? strtoul(name + 2, NULL, 16) : strtoul(name + 1, NULL, 10);
		return code < 0x80 ? (char)code : 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
		if (strlen(entities[i].name) == n && memcmp(entities[i].name, name, n) == 0)
			return entities[i].byte;
	return 0;
}

/* Replaces entities in place, and terminates the text; other entities than those above stay as they are. */
static const char *finish_text(struct xml_scan *scan)
{
	size_t to = 0;
	scan->text[scan->is_long ? 0 : scan->n_text] = 0;
	for (char *c = scan->text; *c; c++) {
		size_t n = *c == '&' ? strcspn(c, ";") : 0;
		char byte = n && c[n] ? entity_byte(c + 1, n - 1) : 0;
		scan->text[to++] = byte ? byte : *c;
		if (byte)
			c += n;
	}
	scan->text[to] = 0;
	return scan->text;
}

/* ---- Tags ---- */

static const char *local_name(const char *name)
{
	const char *colon = strchr(name, ':');
	return colon ? colon + 1 : name;
}

static int begin_element(struct xml_scan *scan, const char *name)
{
	if (!scan->depth++) {
		snprintf(scan->root, sizeof(scan->root), "%s", scan->has_ended ? "" : name);
		scan->has_ended = false;
	}
	return scan->begin(scan->user, name);
}

static int end_element(struct xml_scan *scan, const char *name, const char *text)
{
	if (!scan->depth)
		return -EBADMSG;
	scan->has_ended = !--scan->depth;
	return scan->end(scan->user, name, text);
}

static int end_tag(struct xml_scan *scan)
{
	scan->state = XML_IN_TEXT;
	scan->tag[scan->n_tag] = 0;
	if (scan->n_tag == 0)
		return -EBADMSG;
	if (scan->tag[0] == '/') {
		int err = end_element(scan, local_name(scan->tag + 1), finish_text(scan));
		reset_text(scan);
		return err;
	}
	reset_text(scan);
	int err = begin_element(scan, local_name(scan->tag));
	if (err || !scan->ends_itself)
		return err;
	return end_element(scan, local_name(scan->tag), "");
}

static int in_tag(struct xml_scan *scan, char c)
{
	if (c == '>')
		return end_tag(scan);
	if (scan->n_tag == 0 && (c == '!' || c == '?')) {
		scan->state = c == '!' ? XML_IN_MARK : XML_IN_INSTRUCTION;
		memset(scan->last, 0, sizeof(scan->last));
		return 0;
	}
	if (c == '"' || c == '\'') {
		scan->quote = c;
		scan->state = XML_IN_QUOTES;
		scan->has_name = true;
	}
	scan->has_name |= is_line_padding(c) || c == '\n' || (c == '/' && scan->n_tag > 0);
	scan->ends_itself = c == '/' && scan->n_tag > 0;
	if (scan->has_name)
		return 0;
	if (scan->n_tag + 1 >= XML_NAME_SIZE)
		return -EBADMSG;
	scan->tag[scan->n_tag++] = c;
	return 0;
}

/* "<!--" or "<![CDATA["; what has been seen of it is kept as the name. */
static int in_mark(struct xml_scan *scan, char c)
{
	static const char comment[] = "--", data[] = "[CDATA[";
	scan->tag[scan->n_tag++] = c;
	if (scan->n_tag == sizeof(comment) - 1 && memcmp(scan->tag, comment, scan->n_tag) == 0)
		scan->state = XML_IN_COMMENT;
	else if (scan->n_tag == sizeof(data) - 1 && memcmp(scan->tag, data, scan->n_tag) == 0)
		scan->state = XML_IN_CDATA;
	else if (scan->n_tag >= sizeof(data) - 1 ||
		 (memcmp(scan->tag, data, scan->n_tag) != 0 && scan->tag[0] != '-'))
		return -EBADMSG;
	return 0;
}

/* Whether @c is the last of the three bytes that end something, or of two if @first is 0. */
static bool ends_with(struct xml_scan *scan, char c, char first, char second)
{
	bool found = c == '>' && scan->last[1] == second && (!first || scan->last[0] == first);
	scan->last[0] = scan->last[1];
	scan->last[1] = c;
	return found;
}

static void in_cdata(struct xml_scan *scan, char c)
{
	add_text(scan, c);
	if (!ends_with(scan, c, ']', ']'))
		return;
	scan->n_text -= scan->is_long ? 0 : 3;
	scan->state = XML_IN_TEXT;
}

static void in_text(struct xml_scan *scan, char c)
{
	if (c != '<') {
		add_text(scan, c);
		return;
	}
	scan->state = XML_IN_TAG;
	scan->n_tag = 0;
	scan->has_name = scan->ends_itself = false;
}

static int scan_byte(struct xml_scan *scan, char c)
{
	switch (scan->state) {
	case XML_IN_TEXT: in_text(scan, c); return 0;
	case XML_IN_TAG: return in_tag(scan, c);
	case XML_IN_QUOTES:
		if (c == scan->quote)
			scan->state = XML_IN_TAG;
		return 0;
	case XML_IN_MARK: return in_mark(scan, c);
	case XML_IN_COMMENT:
		if (ends_with(scan, c, '-', '-'))
			scan->state = XML_IN_TEXT;
		return 0;
	case XML_IN_CDATA: in_cdata(scan, c); return 0;
	case XML_IN_INSTRUCTION:
		if (ends_with(scan, c, 0, '?'))
			scan->state = XML_IN_TEXT;
		return 0;
	}
	return -EBADMSG;
}

int xml_scan(struct xml_scan *scan, const char *bytes, size_t size)
{
	int err = 0;
	for (size_t i = 0; i < size && !err; i++)
		err = bytes[i] ? scan_byte(scan, bytes[i]) : -EBADMSG;
	return err;
}

bool xml_scan_is_whole(const struct xml_scan *scan, const char *root)
{
	return scan->has_ended && strcmp(scan->root, root) == 0;
}

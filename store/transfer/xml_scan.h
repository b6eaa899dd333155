/*
 * xml_scan.h - the elements of an XML document that arrives in pieces, as lists of WebDAV and S3 are.
 *
 * Memory is constant: names of elements and texts have a limit, and no tree is built. Name spaces are left
 * out: "D:href" is "href". A document type is refused, so that there are no entities but the five of XML and
 * those by number.
 */
#ifndef STORE_TRANSFER_XML_SCAN_H
#define STORE_TRANSFER_XML_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum { XML_NAME_SIZE = 64, XML_TEXT_SIZE = 4096 };

struct xml_scan {
	/* An element begins, or ends with the text that stood before its end and after any other tag. */
	int (*begin)(void *user, const char *name);
	int (*end)(void *user, const char *name, const char *text);
	void *user;

	/* Private. */
	enum {
		XML_IN_TEXT,
		XML_IN_TAG,
		XML_IN_QUOTES, /* in a value of an attribute */
		XML_IN_MARK,   /* <! and what follows, until it is known what it is */
		XML_IN_COMMENT,
		XML_IN_CDATA,
		XML_IN_INSTRUCTION, /* <? */
	} state;
	char quote;
	char tag[XML_NAME_SIZE]; /* from its slash on, if it has one */
	size_t n_tag;
	bool has_name;    /* the name of the tag has ended */
	bool ends_itself; /* the last byte of the tag was a slash */
	char text[XML_TEXT_SIZE];
	size_t n_text;
	bool is_long; /* the text, which is then given as "" */
	char last[2]; /* bytes, in a comment, CDATA or instruction */
	char root[XML_NAME_SIZE];
	size_t depth;   /* of elements that have begun */
	bool has_ended; /* the root */
};

/* 0; -EBADMSG if it is no XML; or what the functions return if that is not 0. */
int xml_scan(struct xml_scan *scan, const char *bytes, size_t size);

/* Whether all of a document has come whose root is the element @root. */
bool xml_scan_is_whole(const struct xml_scan *scan, const char *root);

#endif

/* The elements of a list in XML: names, texts, entities, sections, limits, and what is no XML. */
#include "store/transfer/xml_scan.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

enum { EVENTS_SIZE = 8192 };

struct xml_log {
	char text[EVENTS_SIZE]; /* "<name" for each begin, ">name=text" for each end */
	size_t n;
	const char *refused; /* element at which the functions return an error, or NULL */
};

static void add_event(struct xml_log *events, const char *mark, const char *name, const char *text)
{
	int n = snprintf(events->text + events->n, EVENTS_SIZE - events->n, "%s%s%s%s", mark, name,
			 text ? "=" : "", text ? text : "");
	assert_in_range(n, 1, EVENTS_SIZE - events->n - 1);
	events->n += (size_t)n;
}

static int note_begin(void *user, const char *name)
{
	struct xml_log *events = user;
	add_event(events, "<", name, NULL);
	return events->refused && strcmp(name, events->refused) == 0 ? -ENOMEM : 0;
}

static int note_end(void *user, const char *name, const char *text)
{
	struct xml_log *events = user;
	add_event(events, ">", name, text);
	return events->refused && events->refused[0] == '/' && strcmp(name, events->refused + 1) == 0 ? -EFBIG
												      : 0;
}

/* In pieces of @step bytes. */
static int scan(const char *bytes, size_t size, size_t step, struct xml_log *events)
{
	struct xml_scan xml = {.begin = note_begin, .end = note_end, .user = events};
	int err = 0;
	events->n = 0;
	events->text[0] = 0;
	for (size_t off = 0; off < size && !err; off += step)
		err = xml_scan(&xml, bytes + off, size - off < step ? size - off : step);
	return err;
}

static struct xml_log events;

static void expect(const char *document, int err, const char *want)
{
	const size_t n = strlen(document), steps[] = {n, 1, 2, 3};
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		assert_int_equal(scan(document, n, steps[i], &events), err);
		assert_string_equal(events.text, want);
	}
}

TEST(elements)
{
	expect("<a>x</a>", 0, "<a>a=x");
	expect("<D:a>x</D:a>", 0, "<a>a=x");
	expect("<a:b:c/>", 0, "<b:c>b:c=");
	expect("<a><b>x</b><c>y</c>z</a>", 0, "<a<b>b=x<c>c=y>a=z");
	expect("<a>x<b/>y</a>", 0, "<a<b>b=>a=y");
	expect("<a/>", 0, "<a>a=");
	expect("<a />", 0, "<a>a=");
	expect("<a\t/>", 0, "<a>a=");
	expect("<a\r\nb/>", 0, "<a>a=");
	expect("<a\nb/>", 0, "<a>a=");
	expect("<a / >", 0, "<a"); /* the slash is not the last byte */
	expect("<a></a\n>", 0, "<a>a=");
	expect("", 0, "");
	expect("<a", 0, "");
}

TEST(attributes)
{
	expect("<a b='1'>x</a>", 0, "<a>a=x");
	expect("<a b='/'>x</a>", 0, "<a>a=x");
	expect("<a b='>' c=\">\"/>", 0, "<a>a=");
	expect("<a b=\"'>\" c='\">'>x</a>", 0, "<a>a=x");
	expect("<a'>'b>x</a>", 0, "<a>a=x");
	expect("<a!b?c>x</a!b?c>", 0, "<a!b?c>a!b?c=x");
}

TEST(entities)
{
	expect("<a>&amp;&lt;&gt;&quot;&apos;</a>", 0, "<a>a=&<>\"'");
	expect("<a>1&lt;2&amp;3</a>", 0, "<a>a=1<2&3");
	expect("<a>&amp;lt;</a>", 0, "<a>a=&lt;");
	expect("<a>&#65;&#x42;&#x7f;&#1;</a>", 0, "<a>a=AB\x7f\x01");
	expect("<a>&#000067;</a>", 0, "<a>a=C"); /* seven bytes */
}

/* Others stay as they are. */
TEST(other_entities)
{
	expect("<a>&nbsp;&am;&ampp;&AMP;</a>", 0, "<a>a=&nbsp;&am;&ampp;&AMP;");
	expect("<a>&;&#;&#x;&#0;</a>", 0, "<a>a=&;&#;&#x;&#0;");
	expect("<a>&#128;&#x80;&#xe4;</a>", 0, "<a>a=&#128;&#x80;&#xe4;");
	expect("<a>&#0000068;</a>", 0, "<a>a=&#0000068;"); /* eight bytes */
	expect("<a>&amp</a>", 0, "<a>a=&amp");
	expect("<a>&</a>", 0, "<a>a=&");
	expect("<a>;amp;</a>", 0, "<a>a=;amp;");
}

TEST(left_out)
{
	expect("<?xml version=\"1.0\"?><a>x</a>", 0, "<a>a=x");
	expect("<?\?><a>x</a>", 0, "<a>a=x");
	expect("<?a > b?c?><a>x</a>", 0, "<a>a=x");
	expect("<a>x<?b c?>y</a>", 0, "<a>a=xy");
	expect("<a>x<!-- - -> <b/> ->-- -->y</a>", 0, "<a>a=xy");
	expect("<a>x<!---->y</a>", 0, "<a>a=xy");
	expect("<a><!-- ]]> --!> -->y</a>", 0, "<a>a=y");
	expect("<?b --> ]]>?><a/>", 0, "<a>a=");
}

TEST(sections)
{
	expect("<a>x<![CDATA[y]]>z</a>", 0, "<a>a=xyz");
	expect("<a><![CDATA[]]></a>", 0, "<a>a=");
	expect("<a><![CDATA[<b>]>]] >]]]></a>", 0, "<a>a=<b>]>]] >]");
	expect("<a><![CDATA[]]>]]></a>", 0, "<a>a=]]>");
}

TEST(no_xml)
{
	expect("<>", -EBADMSG, "");
	expect("<a>< ></a>", -EBADMSG, "<a");
	expect("<!DOCTYPE a><a/>", -EBADMSG, "");
	expect("<![CDATB[x]]>", -EBADMSG, "");
	expect("<!-x-><a/>", -EBADMSG, "");
	expect("<!x", -EBADMSG, "");
	expect("<![x", -EBADMSG, "");
	assert_int_equal(scan("<a>\0</a>", 8, 8, &events), -EBADMSG);
	assert_int_equal(scan("<a>x</a>\0", 9, 9, &events), -EBADMSG);
}

/* What the functions return ends it. */
TEST(refused)
{
	events.refused = "b";
	expect("<a><b><c/>", -ENOMEM, "<a<b");
	expect("<a><b/>", -ENOMEM, "<a<b");
	events.refused = "/b";
	expect("<b></b><c>", -EFBIG, "<b>b=");
	expect("<b/><c>", -EFBIG, "<b>b=");
	events.refused = NULL;
}

TEST(long_names)
{
	char document[2 * XML_NAME_SIZE], want[2 * XML_NAME_SIZE];
	for (int n = XML_NAME_SIZE - 2; n <= XML_NAME_SIZE + 1; n++) {
		const bool fits = n < XML_NAME_SIZE;
		snprintf(document, sizeof(document), "<%0*d>", n, 7);
		snprintf(want, sizeof(want), "<%0*d", n, 7);
		if (!fits)
			want[0] = 0;
		expect(document, fits ? 0 : -EBADMSG, want);
		/* An attribute is no part of it. */
		snprintf(document, sizeof(document), "<%0*d %s>", n, 7, "attribute");
		expect(document, fits ? 0 : -EBADMSG, want);
	}
}

/* A text that is too long is given as none, and the next is whole. */
TEST(long_texts)
{
	static char document[2 * XML_TEXT_SIZE], want[2 * XML_TEXT_SIZE];
	for (int n = XML_TEXT_SIZE - 2; n <= XML_TEXT_SIZE + 1; n++) {
		snprintf(document, sizeof(document), "<a>%0*d</a><b>x</b>", n, 7);
		if (n < XML_TEXT_SIZE)
			snprintf(want, sizeof(want), "<a>a=%0*d<b>b=x", n, 7);
		else
			snprintf(want, sizeof(want), "<a>a=<b>b=x");
		expect(document, 0, want);
	}
	snprintf(document, sizeof(document), "<a><![CDATA[%0*d]]>y</a><b>x</b>", XML_TEXT_SIZE, 7);
	expect(document, 0, "<a>a=<b>b=x");
	/* Before a tag, too: it is not what stands before the end. */
	snprintf(document, sizeof(document), "<a>%0*d<b/>x</a>", XML_TEXT_SIZE, 7);
	expect(document, 0, "<a<b>b=>a=x");
}

/* The root has begun and ended, and nothing comes after it. */
TEST(whole_documents)
{
	static const struct {
		const char *document;
		bool whole;
	} rows[] = {
		{"", false},
		{"<list>", false},
		{"<list></list>", true},
		{"<?xml version='1.0'?><!-- x --> <d:list a='b'><item/><item>x</item></d:list>\n", true},
		{"<list/>", true},
		{"<list><item></list>", false}, /* one is still open, whichever */
		{"<list><list></list>", false},
		{"<lists></lists>", false},
		{"<other><list></list></other>", false},
		{"<list></list><list>", false},
		{"<list></list><list></list>", false},
		{"<other/><list></list>", false},
		{"<list></list", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct xml_scan xml = {.begin = note_begin, .end = note_end, .user = &events};
		events.n = 0;
		assert_int_equal(xml_scan(&xml, rows[i].document, strlen(rows[i].document)), 0);
		if (xml_scan_is_whole(&xml, "list") != rows[i].whole)
			fail_msg("%s", rows[i].document);
	}
	expect("</a>", -EBADMSG, "");
	expect("<a></a></a>", -EBADMSG, "<a>a=");
}

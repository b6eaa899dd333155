/* Lists of call sites: what is taken from them, and where each kind of mistake is reported. */

#include "convert/finish/callsites.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITE(rest) "functions: [{name: f, callsites: [{" rest "}]}]"

static struct callsites_file *accepted(const char *text, size_t size)
{
	struct callsites_file *file = NULL;
	struct gsym_diag diag = {""};
	int err = callsites_file_parse(text, size, "list", &file, &diag);
	if (err)
		fail_msg("%d: %s: %s", err, diag.text, text);
	return file;
}

static void assert_refused(const char *text, size_t size, int err, const char *message)
{
	struct callsites_file *file = NULL;
	struct gsym_diag diag = {""};
	assert_int_equal(callsites_file_parse(text, size, "list", &file, &diag), err);
	if (strcmp(diag.text, message) != 0)
		fail_msg("'%s', not '%s', for: %s", diag.text, message, text);
	assert_null(file);
}

TEST(everything)
{
	static const char text[] = "%not a directive\nfunctions:\n- name: first\n"
				   "  callsites:\n  - return_offset: 24\n    match_regex: [a, 'b.*', \"\"]\n"
				   "    flags: [InternalCall, ExternalCall]\n"
				   "  - {match_regex: [], return_offset: 0X1f, flags: [ExternalCall]}\n"
				   "- name: second\n- callsites: ~\n  name: third\n"
				   "- {name: last, callsites: [{return_offset: 0, match_regex: null}]}\n";
	/* Without its first line, which begins like a directive. */
	struct callsites_file *file = accepted(strchr(text, '\n'), strlen(strchr(text, '\n')));
	assert_int_equal(file->functions.n, 4);
	assert_int_equal(file->sites.n, 3);
	assert_int_equal(file->patterns.n, 3);
	static const struct {
		const char *name;
		uint32_t first_site, n_sites, line, column;
	} functions[] = {{"first", 0, 2, 3, 9},
			 {"second", 0, 0, 9, 9},
			 {"third", 2, 0, 11, 9},
			 {"last", 2, 1, 12, 10}};
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const struct listed_function *f = &file->functions.v[i];
		assert_string_equal(f->name.text, functions[i].name);
		assert_int_equal(f->name.size, strlen(functions[i].name));
		assert_int_equal(f->n_sites, functions[i].n_sites);
		if (f->n_sites)
			assert_int_equal(f->first_site, functions[i].first_site);
		assert_int_equal(f->line, functions[i].line);
		assert_int_equal(f->column, functions[i].column);
	}
	static const struct {
		uint64_t off;
		uint32_t first, n, line, column;
		uint8_t flags;
	} sites[] = {{24, 0, 3, 5, 5, GSYM_CALLSITE_INTERNAL | GSYM_CALLSITE_EXTERNAL},
		     {0x1f, 3, 0, 8, 5, GSYM_CALLSITE_EXTERNAL},
		     {0, 3, 0, 12, 28, 0}};
	for (size_t i = 0; i < ARRAY_SIZE(sites); i++) {
		const struct listed_site *s = &file->sites.v[i];
		assert_int_equal(s->return_off, sites[i].off);
		assert_int_equal(s->n_patterns, sites[i].n);
		assert_int_equal(s->first_pattern, sites[i].first);
		assert_int_equal(s->flags, sites[i].flags);
		assert_int_equal(s->line, sites[i].line);
		assert_int_equal(s->column, sites[i].column);
	}
	assert_string_equal(file->patterns.v[1].text, "b.*");
	assert_string_equal(file->patterns.v[2].text, "");
	callsites_file_free(file);
	callsites_file_free(NULL);
}

static void assert_offset(const char *number, uint64_t expected)
{
	char text[200];
	int size = snprintf(text, sizeof(text), SITE("return_offset: %s, match_regex: []"), number);
	struct callsites_file *file = accepted(text, (size_t)size);
	assert_int_equal(file->sites.v[0].return_off, expected);
	callsites_file_free(file);
}

TEST(offsets)
{
	static const char *const wrong[] = {"010",
					    "0x",
					    "''",
					    "-1",
					    "+1",
					    "1a",
					    "0xg",
					    "0x1G",
					    "0x1@",
					    "1/",
					    "1:1",
					    "0x`",
					    "18446744073709551616",
					    "18446744073709551620",
					    "0x10000000000000000",
					    "'1 '",
					    "99999999999999999999999"};
	assert_offset("0", 0);
	assert_offset("9", 9);
	assert_offset("10", 10);
	assert_offset("'18446744073709551615'", UINT64_MAX);
	assert_offset("0xffffffffffffffff", UINT64_MAX);
	assert_offset("0x0123456789", 0x0123456789);
	assert_offset("0xabcdef", 0xabcdef);
	assert_offset("0XABCDEF", 0xabcdef);
	assert_offset("0x00", 0);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char text[200], message[200];
		int size = snprintf(text, sizeof(text), SITE("return_offset: %s, match_regex: []"), wrong[i]);
		const char *bare = *wrong[i] == '\'' ? wrong[i] + 1 : wrong[i];
		int shown = (int)strcspn(bare, "'");
		snprintf(message, sizeof(message),
			 "list:1:51: invalid offset '%.*s': write a number below 2^64, such as 24 or 0x18",
			 shown, bare);
		assert_refused(text, (size_t)size, -EINVAL, message);
	}
}

TEST(mistakes)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "list:1:1: empty file: start it with 'functions:'"},
		{"# nothing\n", "list:2:1: empty file: start it with 'functions:'"},
		{"[]", "list:1:1: expected a mapping with the keys functions"},
		{"{}", "list:1:1: missing key 'functions': add it"},
		{"functions: {}",
		 "list:1:12: functions must be a list: write [...] or lines that begin with '- '"},
		{"functions: word",
		 "list:1:12: functions must be a list: write [...] or lines that begin with '- '"},
		{"functions: 'null'",
		 "list:1:12: functions must be a list: write [...] or lines that begin with '- '"},
		{"functions: [word]", "list:1:13: expected a mapping with the keys name, callsites"},
		{"functions: [{}]", "list:1:13: missing key 'name': add it"},
		{"functions: [{callsites: []}]", "list:1:13: missing key 'name': add it"},
		{"functions: [{name: []}]",
		 "list:1:20: a function name must be a string, not a list or a mapping"},
		{"functions: [{name: ''}]",
		 "list:1:20: empty function name: write the name in the symbol table"},
		{"functions: [{name: \"a\\0b\"}]", "list:1:20: a function name contains a NUL byte"},
		{"functions: [{name: f, size: 1}]",
		 "list:1:23: unknown key 'size': use one of name, callsites"},
		{"functions: [{name: f, name: g}]", "list:1:23: duplicate key 'name': keep one of them"},
		{"functions: [{[name]: f}]", "list:1:14: a key must be a string, not a list or a mapping"},
		{"functions: []\nother: []", "list:2:1: unknown key 'other': use one of functions"},
		{"functions: []\nfunctions: []", "list:2:1: duplicate key 'functions': keep one of them"},
		{"functions: [{name: f, callsites: 1}]",
		 "list:1:34: callsites must be a list: write [...] or lines that begin with '- '"},
		{SITE("match_regex: []"), "list:1:35: missing key 'return_offset': add it"},
		{SITE("return_offset: 1"), "list:1:35: missing key 'match_regex': add it"},
		{SITE("return_offset: [1], match_regex: []"),
		 "list:1:51: return_offset must be a number, not a list or a mapping"},
		{SITE("return_offset: 1, match_regex: a"),
		 "list:1:67: match_regex must be a list: write [...] or lines that begin with '- '"},
		{SITE("return_offset: 1, match_regex: [[a]]"),
		 "list:1:68: a pattern must be a string, not a list or a mapping"},
		{SITE("return_offset: 1, match_regex: [a, ~, !!str a]"),
		 "list:1:74: tags are not supported: remove it"},
		{"functions:\n- name: f\n  callsites:\n  - return_offset: 1\n    match_regex:\n    -\n",
		 "list:6:6: missing pattern: an empty one would match every name"},
		{SITE("return_offset: 1, match_regex: [\"a\\0\"]"),
		 "list:1:68: a pattern contains a NUL byte"},
		{SITE("return_offset: 1, match_regex: [], flags: [Tail]"),
		 "list:1:79: unknown flag 'Tail': use InternalCall or ExternalCall"},
		{SITE("return_offset: 1, match_regex: [], flags: [[Tail]]"),
		 "list:1:79: unknown flag '[...]': use InternalCall or ExternalCall"},
		{SITE("return_offset: 1, match_regex: [], more: 1"),
		 "list:1:71: unknown key 'more': use one of return_offset, match_regex, flags"},
		{"functions: &a []", "list:1:12: anchors are not supported: remove it"},
		{"&a functions: []", "list:1:1: anchors are not supported: remove it"},
		{"&a {functions: []}", "list:1:1: anchors are not supported: remove it"},
		{"functions: !!seq []", "list:1:12: tags are not supported: remove it"},
		{"!!map {functions: []}", "list:1:1: tags are not supported: remove it"},
		{"functions: *a", "list:1:12: aliases are not supported: repeat the value"},
		{"functions: []\n---\nfunctions: []\n",
		 "list:2:1: more than one document: put all functions into one list"},
		{"functions: [", "list:2:1: not YAML: did not find expected node content"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_refused(cases[i].text, strlen(cases[i].text), -EINVAL, cases[i].message);
}

/* A directive is a line that begins with '%', after any of YAML's line breaks. */
TEST(directives)
{
	static const struct {
		const char *text;
		unsigned line;
	} cases[] = {{"%YAML 1.1\n---\nfunctions: []\n", 1},
		     {"# a\n%YAML", 2},
		     {"# a\r%YAML", 1},
		     {"\n# a\r\n%YAML", 3},
		     {"# a\xc2\x85%YAML", 1},
		     {"# a\xe2\x80\xa8%YAML", 1},
		     {"# a\xe2\x80\xa9%YAML", 1}};
	static const char *const fine[] = {
		" %",        "\xe2\x80\xaa%", "\xe2\x81\xa9%", "\xe3\x80\xa8%", "\xe1\x80\xa9%",
		"\xc3\x85%", "\xc2\xa5%"};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[100];
		snprintf(message, sizeof(message), "list:%u:1: directives are not supported: remove the line",
			 cases[i].line);
		assert_refused(cases[i].text, strlen(cases[i].text), -EINVAL, message);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fine); i++) {
		char text[100];
		int size = snprintf(text, sizeof(text), "functions: []\n# a%s\n", fine[i]);
		callsites_file_free(accepted(text, (size_t)size));
	}
}

TEST(sizes)
{
	char *text = malloc(CALLSITES_FILE_MAX + 100);
	if (!text)
		abort();
	for (size_t more = 0; more < 2; more++) {
		size_t size = (size_t)sprintf(text, "functions: [{name: ");
		memset(text + size, 'x', CALLSITES_TEXT_MAX + more);
		size += CALLSITES_TEXT_MAX + more;
		size += (size_t)sprintf(text + size, "}]");
		if (more)
			assert_refused(text, size, -EINVAL,
				       "list:1:20: a function name of 1048577 bytes is too long: at most "
				       "1048576 are allowed");
		else
			callsites_file_free(accepted(text, size));
		size = (size_t)sprintf(text, "functions: []\n#");
		memset(text + size, 'x', CALLSITES_FILE_MAX + more - size);
		if (more)
			assert_refused(
				text, CALLSITES_FILE_MAX + more, -EFBIG,
				"list: larger than 64 MiB: list only calls that DWARF does not describe");
		else
			callsites_file_free(accepted(text, CALLSITES_FILE_MAX));
	}
	free(text);
	assert_refused(NULL, 0, -EINVAL, "list:1:1: empty file: start it with 'functions:'");
}

TEST(encodings)
{
	struct callsites_file *file = NULL;
	struct gsym_diag diag = {""};
	callsites_file_free(accepted("\xef\xbb\xbf"
				     "functions: []",
				     16));
	assert_int_equal(callsites_file_parse("functions: [\xff]", 14, "list", &file, &diag), -EINVAL);
	assert_memory_equal(diag.text, "list: invalid UTF-8 at byte 12: ", 32);
	assert_int_equal(callsites_file_parse("\xff\xfe"
					      "f\0",
					      4, "list", &file, &diag),
			 -EINVAL);
}

TEST(from_a_file)
{
	char path[] = "/tmp/callsites_XXXXXX";
	int fd = mkstemp(path);
	struct callsites_file *file = NULL;
	struct gsym_diag diag = {""};
	assert_true(fd >= 0);
	dprintf(fd, "functions:\n");
	for (int i = 0; i < 3000; i++) /* longer than any buffer */
		dprintf(fd, "- name: function_%d\n", i);
	close(fd);
	assert_int_equal(callsites_file_read(path, &file, &diag), 0);
	assert_int_equal(file->functions.n, 3000);
	assert_string_equal(file->functions.v[2999].name.text, "function_2999");
	assert_int_equal(file->functions.v[2999].line, 3001);
	assert_string_equal(file->path, path);
	callsites_file_free(file);
	unlink(path);
	assert_int_equal(callsites_file_read(path, &file, &diag), -ENOENT);
	assert_non_null(strstr(diag.text, path));
	assert_int_equal(callsites_file_read("/", &file, &diag), -EISDIR);
}

/* What lines ask for, in the grammar of each dialect. */

#include "cli/symbolizer/symbol_query.h"
#include "gsym/base/text_buf.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line, and what it asks for, as describe() has it. */
struct line {
	const char *text, *expected;
};

static void describe_part(struct text_buf *out, const char *what, struct text_part part)
{
	text_str(out, what);
	text_bytes(out, part.text, part.size);
}

/* "code of a.o at 10", "symbol main of a.o + 4" */
static void describe(struct text_buf *out, const struct symbol_query *q)
{
	static const char *const kinds[] = {"code", "data", "frame", "symbol ", "invalid"};
	text_reset(out);
	text_str(out, kinds[q->kind]);
	if (q->kind == QUERY_SYMBOL)
		describe_part(out, "", q->symbol);
	if (q->module.size)
		describe_part(out, q->by_id ? " of id " : " of ", q->module);
	if (q->kind == QUERY_INVALID) {
		text_str(out, q->why ? ": " : "");
		text_str(out, q->why ? q->why : "");
		return;
	}
	if (q->kind != QUERY_SYMBOL || q->may_be_address) {
		text_str(out, q->may_be_address && q->kind == QUERY_SYMBOL ? " or at " : " at ");
		text_hex(out, q->addr, 1);
	}
	if (q->offset) {
		text_lit(out, " + ");
		text_hex(out, q->offset, 1);
	}
}

static const struct line binutils_lines[] = {
	{"0x10", "code at 10"},
	{"10", "code at 10"},
	{"  0X1f  ", "code at 1f"},
	{"\t0x10\r", "code at 10"},
	{"ffffffffffffffff", "code at ffffffffffffffff"},
	{"10000000000000000", "code at ffffffffffffffff"},
	{"1ffffffffffffffff", "code at ffffffffffffffff"},
	{"0x", "symbol 0x or at 0"},
	{"0", "code at 0"},
	{"g", "symbol g or at 0"},
	{"12g", "symbol 12g or at 12"},
	{"main", "symbol main or at 0"},
	{"main+0x10", "symbol main or at 0 + 10"},
	{"main+10", "symbol main or at 0 + a"},
	{"main+010", "symbol main or at 0 + 8"},
	{"main+0b11", "symbol main or at 0"},
	{"main+0o17", "symbol main or at 0"},
	{"main+0B1", "symbol main or at 0"},
	{"main+0O7", "symbol main or at 0"},
	{"main+0X1F", "symbol main or at 0 + 1f"},
	{"main+ 12", "symbol main or at 0 + c"},
	{"main+12x", "symbol main or at 0 + c"},
	{"main+", "symbol main or at 0"},
	{" main + 4", "symbol main or at 0 + 4"},
	{"+4", "code at 4"},
	{"+0x1153", "code at 1153"},
	{" +12", "code at c"},
	{"++0X1Fz", "code at 1f"},
	{"+ 0x1f+1", "code at 1f"},
	{"+main", "code at 0"},
	{"+", "code at 0"},
	{"add", "code at add"},
	{"abcx", "symbol abcx or at abc"},
	{"a+0x99999999999999999999", "symbol a or at a + ffffffffffffffff"},
	{"main+08", "symbol main or at 0"},
	{"main+a", "symbol main or at 0"},
	{"a b", "symbol a b or at a"},
};

static const struct line llvm_addr2line_lines[] = {
	{"a.o 10", "code of a.o at 10"},
	{"a.o 0x10", "code of a.o at 10"},
	{"a.o 0X10", "code of a.o at 10"},
	{"a.o 0b1", "code of a.o at b1"},
	{"a.o +0x10", "code of a.o at 10"},
	{"a.o +0X1f", "code of a.o at 1f"},
	{"a.o +10", "symbol +10 of a.o"},
	{"a.o 0o7", "invalid of a.o: expected a number as module offset"},
	{"a.o 010", "code of a.o at 10"},
	{"a.o 0", "code of a.o at 0"},
	{"a.o 1g", "invalid of a.o: expected a number as module offset"},
	{"a.o ffffffffffffffff", "code of a.o at ffffffffffffffff"},
	{"a.o 10000000000000000", "invalid of a.o: expected a number as module offset"},
	{"a.o main+10", "symbol main of a.o + a"},
	{"a.o main+0x10", "symbol main of a.o + 10"},
	{"a.o main+8", "symbol main of a.o + 8"},
	{"a.o main+08", "symbol main+08 of a.o"},
};

static const struct line llvm_lines[] = {
	{"a.o 0x10", "code of a.o at 10"},
	{"a.o 16", "code of a.o at 10"},
	{"a.o 010", "code of a.o at 8"},
	{"a.o 0b101", "code of a.o at 5"},
	{"a.o 0B101", "code of a.o at 5"},
	{"a.o 0o17", "code of a.o at f"},
	{"a.o 0O17", "invalid of a.o: expected a number as module offset"},
	{"a.o +0x10", "symbol +0x10 of a.o"},
	{"a.o main+0O7", "symbol main+0O7 of a.o"},
	{"a.o 0X1F", "code of a.o at 1f"},
	{"a.o 0", "code of a.o at 0"},
	{"a.o 0x", "invalid of a.o: expected a number as module offset"},
	{"a.o 08", "invalid of a.o: expected a number as module offset"},
	{"a.o 0b2", "invalid of a.o: expected a number as module offset"},
	{"a.o 1x", "invalid of a.o: expected a number as module offset"},
	{"a.o 18446744073709551615", "code of a.o at ffffffffffffffff"},
	{"a.o 18446744073709551616", "invalid of a.o: expected a number as module offset"},
	{"a.o main", "symbol main of a.o"},
	{"a.o main+0x10", "symbol main of a.o + 10"},
	{"a.o main+16", "symbol main of a.o + 10"},
	{"a.o main+010", "symbol main of a.o + 8"},
	{"a.o main+", "symbol main+ of a.o"},
	{"a.o main+x", "symbol main+x of a.o"},
	{"a.o main+1x", "symbol main+1x of a.o"},
	{"a.o +1", "symbol +1 of a.o"},
	{"a.o main+18446744073709551616", "symbol main+18446744073709551616 of a.o"},
	{"a.o main+0x10+0x20", "symbol main+0x10+0x20 of a.o"},
	{"a.o 0x10 more", "code of a.o at 10"},
	{"a.o main more", "symbol main of a.o"},
	{"a.o", "invalid of a.o: no module offset has been specified"},
	{"a.o ", "invalid of a.o: no module offset has been specified"},
	{" a.o   0x10  ", "code of a.o at 10"},
	{"", "invalid"},
	{"   ", "invalid"},
	{"CODE a.o 0x10", "code of a.o at 10"},
	{"DATA a.o 0x10", "data of a.o at 10"},
	{"FRAME a.o 0x10", "frame of a.o at 10"},
	{"CODE  a.o 0x10", "code of a.o at 10"},
	{"DATAa.o 0x10", "code of DATAa.o at 10"},
	{"FRAME", "invalid of FRAME: no module offset has been specified"},
	{"CODE DATA 0x10", "code of DATA at 10"},
	{"FILE:a.o 0x10", "code of a.o at 10"},
	{"FILE: 0x10", "invalid of 0x10: no module offset has been specified"},
	{"FILE:", "invalid: must be followed by an input file"},
	{"FILE:FILE:a 1", "invalid: duplicate input file specification prefix"},
	{"BUILDID:FILE:a 1", "invalid: duplicate input file specification prefix"},
	{"BUILDID:", "invalid: must be followed by a hash"},
	{"BUILDID:\"0a", "invalid: unbalanced quotes in input file name"},
	{"BUILDID:g0 0x10", "invalid: wrong format of build-id"},
	{"BUILDID:a 0x10", "code of id a at 10"},
	{"a.o 9x", "invalid of a.o: expected a number as module offset"},
	{"BUILDID:0aF9 0x10", "code of id 0aF9 at 10"},
	{"BUILDID: 0x10", "invalid: wrong format of build-id"},
	{"BUILDID:0g 0x10", "invalid: wrong format of build-id"},
	{"BUILDID:0a", "invalid: no module offset has been specified"},
	{"BUILDID:\"0a\" 0x10", "code of id 0a at 10"},
	{"DATA BUILDID:0a 0x10", "data of id 0a at 10"},
	{"'a b.o' 0x10", "code of a b.o at 10"},
	{"\"a b.o\" 0x10", "code of a b.o at 10"},
	{"\"a'b.o\" 0x10", "code of a'b.o at 10"},
	{"\"a b.o 0x10", "invalid: no input filename has been specified"},
	{"'a b.o\" 0x10", "invalid: no input filename has been specified"},
	{"FILE:\"a b.o\"0x10", "code of a b.o at 10"},
	{"\"\" 0x10", "invalid: no input filename has been specified"},
	{"\"", "invalid: no input filename has been specified"},
	{"'a'", "invalid of a: no module offset has been specified"},
};

static const struct line object_lines[] = {
	{"0x10", "code of o.so at 10"},
	{"DATA 0x10", "data of o.so at 10"},
	{"main+4", "symbol main of o.so + 4"},
	{"a.o 0x10", "symbol a.o of o.so"},
	{"", "invalid"},
	{" ", "invalid"},
	{"1x", "invalid of o.so: expected a number as module offset"},
	{"CODE", "symbol CODE of o.so"},
	{"BUILDID:0a 0x10", "invalid: input file has already been specified"},
	{"FILE:", "invalid of o.so: must be followed by an input file"},
};

static const struct line build_id_lines[] = {
	{"0x10", "code of id 0a at 10"},
	{"main", "symbol main of id 0a"},
	{"", "invalid"},
	{"x 0x10", "symbol x of id 0a"},
};

static const struct {
	struct symbolizer_options options;
	const struct line *lines;
	size_t n;
} inputs[] = {
	{{.dialect = DIALECT_BINUTILS}, binutils_lines, ARRAY_SIZE(binutils_lines)},
	{{.dialect = DIALECT_LLVM_ADDR2LINE}, llvm_addr2line_lines, ARRAY_SIZE(llvm_addr2line_lines)},
	{{.dialect = DIALECT_LLVM}, llvm_lines, ARRAY_SIZE(llvm_lines)},
	{{.dialect = DIALECT_LLVM, .object = "o.so"}, object_lines, ARRAY_SIZE(object_lines)},
	{{.dialect = DIALECT_LLVM, .build_id = "0a"}, build_id_lines, ARRAY_SIZE(build_id_lines)},
};

TEST(lines)
{
	struct text_buf out = {0};
	size_t row = 0;
	for (size_t i = 0; i < ARRAY_SIZE(inputs); i++) {
		for (size_t k = 0; k < inputs[i].n; k++, row++) {
			/* Its own memory, so that sanitizers see what is read beside it. */
			size_t size = strlen(inputs[i].lines[k].text);
			char *line = malloc(size + !size);
			struct symbol_query query;
			memcpy(line, inputs[i].lines[k].text, size);
			symbol_query_parse(&inputs[i].options, line, size, &query);
			describe(&out, &query);
			text_char(&out, '\0');
			free(line);
			if (strcmp(out.v, inputs[i].lines[k].expected) != 0)
				print_error("%s\n", inputs[i].lines[k].text);
			assert_string_equal(out.v, inputs[i].lines[k].expected);
			assert_non_null(query.module.text);
		}
	}
	text_deinit(&out);
	assert_true(row > 0);
}

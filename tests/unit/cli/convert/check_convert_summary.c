/* A conversion tells in its summary what it has found. */

#include "cli/convert/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/unit.h"

static void check(const struct convert_summary *summary, const char *expected)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	assert_non_null(file);
	summary_print(file, "in", "out", summary);
	assert_int_equal(fclose(file), 0);
	assert_string_equal(text, expected);
	free(text);
}

/* The line that tells where functions come from. */
TEST(sources)
{
	static const struct {
		struct convert_summary summary;
		const char *expected;
	} rows[] = {
		{{.functions_dwarf = 5, .units = 2, .functions_symbols = 3, .functions = 6},
		 "functions: 5 from the DWARF of 2 units, 3 from symbols\nwritten: 6; the other 2 describe "
		 "the same code\n"},
		{{.functions_symbols = 3, .functions = 3},
		 "functions: 0 from the DWARF of 0 units, 3 from symbols\nwritten: 3\n"},
		{{.functions_symbols = 3, .functions = 4},
		 "functions: 0 from the DWARF of 0 units, 3 from symbols\nwritten: 4\n"},
		{{.functions_gsym = 5, .functions = 5}, "functions: 5 copied from GSYM\nwritten: 5\n"},
		{{.functions_text = 5, .functions_symbols = 3, .functions = 7},
		 "functions: 5 with lines, 3 from symbols\nwritten: 7; the other 1 describe the same code\n"},
		{{.functions_pdb = 5, .modules = 2, .functions_symbols = 3, .functions = 8},
		 "functions: 5 from the PDB of 2 modules, 3 from symbols\nwritten: 8\n"},
		{{.functions_pdb = 5, .modules = 2, .functions_dwarf = 1, .units = 1, .functions = 6},
		 "functions: 1 from the DWARF of 1 units, 0 from symbols\n"
		 "functions: 5 more from the PDB of 2 modules\nwritten: 6\n"},
		{{.functions_go = 5, .functions_dwarf = 1, .units = 1, .functions = 4},
		 "functions: 1 from the DWARF of 1 units, 0 from symbols\n"
		 "functions: 5 more from Go's function table\nwritten: 4; the other 2 describe the same "
		 "code\n"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char expected[500];
		snprintf(expected, sizeof(expected), "input: in\noutput: out, 0 bytes\n%s", rows[i].expected);
		check(&rows[i].summary, expected);
	}
}

#define FUNCTIONS "functions: 0 from the DWARF of 0 units, 0 from symbols\nwritten: 0\n"

TEST(heads)
{
	const struct convert_summary summary = {.arch = "x86_64", .output_size = 77, .widened = true};
	check(&summary, "input: in (x86_64)\n"
			"output: out, 77 bytes of GSYM version 2: version 1 cannot hold them\n" FUNCTIONS);
}

TEST(warnings)
{
	struct convert_warning odd[] = {{"one", "none", 2, ".debug_info at 0x4"}, {"two", "lines", 5, ""}};
	static char missing[] = "a.debug\0b\nc";
	const struct convert_summary summary = {
		.warnings = odd, .n_warnings = 2, .missing = missing, .missing_size = sizeof(missing)};
	check(&summary,
	      "input: in\noutput: out, 0 bytes\n" FUNCTIONS
	      "warnings of the input: 7\n  one: 2, first: .debug_info at 0x4; none\n  two: 5; lines\n"
	      "missing files that the input refers to:\n  a.debug\n  b\\x0ac\n");
}

/* Sections with code, up to a number of them. */
TEST(layout)
{
	enum { SECTIONS = 20, PRINTED = 16 };
	struct convert_section sections[SECTIONS];
	for (size_t n = PRINTED; n <= PRINTED + 1; n++) {
		char expected[2000] = "input: in\noutput: out, 0 bytes\n" FUNCTIONS
				      "relocatable file: addresses are those of its sections laid out "
				      "consecutively from 0\n";
		for (size_t i = 0; i < n; i++) {
			sections[i] = (struct convert_section){.addr = 0x10 * i, .size = i, .code = true};
			snprintf(sections[i].name, sizeof(sections[i].name), ".text%zu", i);
			if (i < PRINTED)
				sprintf(expected + strlen(expected), "  .text%zu at 0x%zx, %zu bytes\n", i,
					0x10 * i, i);
		}
		struct convert_summary summary = {.sections = sections, .n_sections = n};
		if (n > PRINTED)
			strcat(expected, "  and 1 more\n");
		check(&summary, expected);
		/* Data is counted, and what was left out before. */
		sections[n] = (struct convert_section){.name = ".data"};
		summary.n_sections++;
		summary.sections_left_out = 3;
		char *more = strstr(expected, "  and");
		sprintf(more ? more : expected + strlen(expected), "  and %zu more\n", n - PRINTED + 4);
		check(&summary, expected);
	}
}

TEST(json)
{
	char path[] = "/tmp/check_summary.XXXXXX", text[1000];
	struct convert_warning odd[] = {{"\"one\"", "\"a\"", 2, "x"}, {"two", "b", 5, ""}};
	struct convert_section sections[] = {{0x10, 4, true, ".text"}, {0x20, 8, false, ".\"data"}};
	static const struct {
		size_t n;
		const char *expected;
	} rows[] = {
		{0, "{\"error-categories\":{},\"error-count\":0,\"work\":9}\n"},
		{1, "{\"error-categories\":{\"\\\"one\\\"\":{\"count\":2,\"effect\":\"\\\"a\\\"\"}},\"error-"
		    "count\":2,\"work\":9,"
		    "\"sections\":"
		    "[{\"name\":\".text\",\"address\":\"0x10\",\"size\":4,\"code\":true}]}\n"},
		{2, "{\"error-categories\":{\"\\\"one\\\"\":{\"count\":2,\"effect\":\"\\\"a\\\"\"},\"two\":{"
		    "\"count\":5,\"effect\":\"b\"}},\"error-"
		    "count\":7,"
		    "\"work\":9,\"sections\":[{\"name\":\".text\",\"address\":\"0x10\",\"size\":4,\"code\":"
		    "true},"
		    "{\"name\":\".\\\"data\",\"address\":\"0x20\",\"size\":8,\"code\":false}]}\n"},
	};
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < 3; i++) {
		const struct convert_summary summary = {.warnings = odd,
							.n_warnings = rows[i].n,
							.sections = sections,
							.n_sections = rows[i].n,
							.work = 9};
		assert_int_equal(summary_write_json(path, &summary, NULL), 0);
		FILE *file = fopen(path, "re");
		assert_non_null(file);
		text[fread(text, 1, sizeof(text) - 1, file)] = 0;
		fclose(file);
		assert_string_equal(text, rows[i].expected);
	}
	assert_int_equal(unlink(path), 0);
	/* A path without its directory, and a device that is full. */
	const struct convert_summary summary = {.work = 9};
	struct gsym_diag diag = {""};
	assert_int_equal(summary_write_json("/none/x", &summary, &diag), -ENOENT);
	assert_string_equal(diag.text, "/none/x: No such file or directory");
	assert_int_equal(summary_write_json("/dev/full", &summary, &diag), -ENOSPC);
	assert_string_equal(diag.text, "/dev/full: No space left on device");
}

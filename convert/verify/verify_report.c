#include "convert/verify/verify_report.h"

#include <stdio.h>

static const char *const class_names[VERIFY_CLASSES] = {
	[VERIFY_SAME] = "the same",
	[VERIFY_QUALIFIED] = "the same, name qualified in GSYM",
	[VERIFY_SYMBOL_NAME] = "the same, named by the symbol table",
	[VERIFY_DECLARED] = "without a line, shown by their declaration",
	[VERIFY_OTHER_OWNER] = "answered by another function there",
	[VERIFY_MISSING] = "DIFFERENT: not in GSYM",
	[VERIFY_FRAMES] = "DIFFERENT: number of frames",
	[VERIFY_NAME] = "DIFFERENT: name",
	[VERIFY_POSITION] = "DIFFERENT: file or line",
	[VERIFY_CALL] = "DIFFERENT: file or line of a call",
	[VERIFY_LINE_LOST] = "DIFFERENT: GSYM has no line",
	[VERIFY_LINE_ADDED] = "DIFFERENT: GSYM has a line the DWARF has not",
	[VERIFY_DAMAGED] = "DIFFERENT: the lookup failed",
};

const char *verify_class_name(enum verify_class class)
{
	return class_names[class];
}

void verify_add_example(struct verify_report *report, enum verify_class class, const char *text)
{
	uint64_t n = report->classes[class].n_examples;
	if (n == VERIFY_EXAMPLES || !text[0])
		return;
	snprintf(report->classes[class].examples[n], sizeof(verify_example), "%s", text);
	report->classes[class].n_examples++;
}

uint64_t verify_differences(const struct verify_report *report)
{
	uint64_t count = 0;
	for (int class = VERIFY_DIFFERENT; class < VERIFY_CLASSES; class ++)
		count += report->classes[class].count;
	return count;
}

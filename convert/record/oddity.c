#include "convert/record/oddity.h"

#include "work/types/convert_types.h"
#include "gsym/base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_text[ODD_COUNT] = {
	[ODD_UNIT_HEADER] = "unit skipped: damaged header",
	[ODD_UNIT_VERSION] = "unit skipped: unknown DWARF version",
	[ODD_UNIT_TYPE] = "unit skipped: unknown unit type",
	[ODD_UNIT_ABBREV] = "unit skipped: damaged abbreviations",
	[ODD_UNIT_DIE] = "unit cut short: damaged entry",
	[ODD_UNIT_DEPTH] = "unit cut short: entries nested too deep",
	[ODD_UNIT_BUDGET] = "unit cut short: shared parts would multiply its size",
	[ODD_ABBREV_READS] = "unit skipped: abbreviations overlap those of too many units",
	[ODD_FORM] = "attribute ignored: form not possible here",
	[ODD_STRING] = "string ignored: offset outside its section",
	[ODD_ADDRESS_INDEX] = "address ignored: index outside .debug_addr",
	[ODD_RANGES] = "range list damaged",
	[ODD_REFERENCE] = "reference to no entry",
	[ODD_REFERENCE_DEPTH] = "chain of references too long",
	[ODD_ALTERNATE_FILE] = "name is in an alternate file that is not here",
	[ODD_SPLIT_UNIT] = "unit is in a split file that is not here",
	[ODD_NO_NAME] = "function without a name",
	[ODD_FUNCTION_SIZE] = "function larger than 4 GiB",
	[ODD_NOT_IN_TEXT] = "function outside the code sections",
	[ODD_LINE_HEADER] = "line table ignored: damaged header",
	[ODD_LINE_VERSION] = "line table ignored: unknown version",
	[ODD_LINE_PROGRAM] = "line table cut short: damaged program",
	[ODD_LINE_FILE] = "line row ignored: no such file",
	[ODD_LINE_ORDER] = "line rows ignored: addresses descend",
	[ODD_LINE_BEFORE_FUNCTION] = "function starts between two line rows",
	[ODD_LINE_SEQUENCES] = "several line sequences describe one function",
	[ODD_LINE_SEQUENCE] = "line sequence that a function names does not describe it",
	[ODD_LINE_READS] = "line table ignored: too many units name it in turn with others",
	[ODD_DECL_FILE] = "declaration ignored: no such file",
	[ODD_CALL_FILE] = "inlined call dropped: no such file",
	[ODD_INLINE_RANGE] = "inlined call dropped: outside its function",
	[ODD_SECTION_DAMAGED] = "section ignored: damaged",
	[ODD_SECTION_LIMIT] = "section ignored: too large when decompressed",
	[ODD_RELOCATION] = "section with relocations of unknown type or place",
	[ODD_SYMBOL_TABLE] = "symbol table ignored: damaged",
	[ODD_NAMES] = "names ignored: overlapping strings would multiply their size",
	[ODD_GO_TABLE] = "Go's function table ignored: where its code begins is not known",
	[ODD_GO_FUNCTION] = "function of Go's table ignored: damaged entry",
	[ODD_GO_VALUES] = "lines of a Go function cut short: damaged values",
	[ODD_GO_CALL] = "inlined call of a Go function dropped: damaged tree",
	[ODD_GO_LIMIT] = "functions of Go's table left out or cut short: too much for its size",
	[ODD_CV_TYPES] = "types of a PDB cut short: damaged stream",
	[ODD_CV_LINES] = "lines of a module cut short: damaged subsection",
	[ODD_CV_C11] = "lines of a module ignored: in the format of C11",
	[ODD_CV_VERSION] = "module skipped: unknown version of CodeView",
	[ODD_CV_SYMBOL] = "symbol of a module ignored: damaged",
	[ODD_CV_FUNCTION] = "function of a module ignored: it has no code",
	[ODD_CV_ITEM] = "inlined call without a name: no such item",
	[ODD_CV_CHUNK] = "inlined call cut short: code apart from its function",
	[ODD_CV_BUDGET] = "module cut short: shared parts would multiply its size",
	[ODD_BREAKPAD_RECORD] = "record ignored: damaged",
	[ODD_BREAKPAD_LOOSE] = "line record ignored: belongs to no function",
	[ODD_BREAKPAD_OUTSIDE] = "line record ignored: outside its function",
	[ODD_BREAKPAD_OVERLAP] = "line record ignored: overlaps the one before",
	[ODD_BREAKPAD_ORIGIN] = "inlined call dropped: no such origin",
	[ODD_BREAKPAD_PARENT] = "inlined call dropped: not within a call one level up",
	[ODD_BREAKPAD_NUMBER] = "file or origin ignored: its number is taken",
	[ODD_BREAKPAD_LIMIT] = "function cut short: too many records",
	[ODD_GSYM_RECORD] = "function skipped: damaged record of GSYM",
	[ODD_GSYM_UUID] = "section with GSYM ignored: its UUID is not that of the file",
	[ODD_SAME_RANGE] = "functions with equal range, different content",
	[ODD_OVERLAP] = "functions overlap",
};

void oddity_count(struct oddities *odd, enum oddity kind, const char *section, uint64_t off)
{
	if (odd->kind[kind].count++)
		return;
	odd->kind[kind].order = odd->order;
	odd->kind[kind].section = section;
	odd->kind[kind].off = off;
}

void oddities_merge(struct oddities *into, const struct oddities *from)
{
	for (size_t i = 0; i < ODD_COUNT; i++) {
		if (!from->kind[i].count)
			continue;
		uint64_t sum = into->kind[i].count + from->kind[i].count;
		if (!into->kind[i].count || from->kind[i].order < into->kind[i].order)
			into->kind[i] = from->kind[i];
		into->kind[i].count = sum;
	}
}

static int compare_kind(const void *a, const void *b)
{
	return strcmp(((const struct convert_oddity *)a)->kind, ((const struct convert_oddity *)b)->kind);
}

int oddities_report(const struct oddities *odd, struct convert_summary *summary)
{
	summary->oddities = calloc(ODD_COUNT, sizeof(*summary->oddities));
	if (!summary->oddities)
		return -ENOMEM;
	for (size_t i = 0; i < ODD_COUNT; i++) {
		if (!odd->kind[i].count)
			continue;
		struct convert_oddity *o = &summary->oddities[summary->n_oddities++];
		o->kind = kind_text[i];
		o->count = odd->kind[i].count;
		if (odd->kind[i].section)
			snprintf(o->first, sizeof(o->first), "%s+0x%" PRIx64, odd->kind[i].section,
				 odd->kind[i].off);
		else
			snprintf(o->first, sizeof(o->first), "0x%" PRIx64, odd->kind[i].off);
	}
	qsort(summary->oddities, summary->n_oddities, sizeof(*summary->oddities), compare_kind);
	return 0;
}

void convert_summary_deinit(struct convert_summary *summary)
{
	free(summary->oddities);
	free(summary->missing);
	free(summary->sections);
	free(summary->segments);
	summary->segments = NULL;
	summary->n_segments = 0;
	summary->missing = NULL;
	summary->sections = NULL;
	summary->n_sections = 0;
	summary->oddities = NULL;
	summary->n_oddities = 0;
}

#include "convert/record/warning.h"

#include "work/types/convert_types.h"
#include "gsym/base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_text[WARN_COUNT] = {
	[WARN_UNIT_HEADER] = "unit skipped: damaged header",
	[WARN_UNIT_VERSION] = "unit skipped: unknown DWARF version",
	[WARN_UNIT_TYPE] = "unit skipped: unknown unit type",
	[WARN_UNIT_ABBREV] = "unit skipped: damaged abbreviations",
	[WARN_UNIT_DIE] = "unit cut short: damaged entry",
	[WARN_UNIT_DEPTH] = "entries skipped: nested too deep",
	[WARN_UNIT_BUDGET] = "unit cut short: shared parts would multiply its size",
	[WARN_ABBREV_CUT] = "abbreviations of a unit cut short: damaged",
	[WARN_ABBREV_READS] = "unit skipped: abbreviations overlap those of too many units",
	[WARN_FORM] = "attribute ignored: form not possible here",
	[WARN_STRING] = "string ignored: offset outside its section",
	[WARN_ADDRESS_INDEX] = "address ignored: index outside .debug_addr",
	[WARN_RANGES] = "range list damaged",
	[WARN_REFERENCE] = "reference to no entry",
	[WARN_REFERENCE_DEPTH] = "chain of references too long",
	[WARN_ALTERNATE_FILE] = "name is in an alternate file that is not here",
	[WARN_SPLIT_UNIT] = "unit is in a split file that is not here",
	[WARN_SPLIT_PART] = "part of a unit lost: its split file is damaged",
	[WARN_NO_NAME] = "function without a name",
	[WARN_FUNCTION_SIZE] = "function larger than 4 GiB",
	[WARN_NOT_IN_TEXT] = "function outside the code sections",
	[WARN_LINE_HEADER] = "line table ignored: damaged header",
	[WARN_LINE_VERSION] = "line table ignored: unknown version",
	[WARN_LINE_PROGRAM] = "line table cut short: damaged program",
	[WARN_LINE_FILE] = "line row ignored: no such file",
	[WARN_LINE_ORDER] = "line rows ignored: addresses descend",
	[WARN_LINE_BEFORE_FUNCTION] = "function starts between two line rows",
	[WARN_LINE_SEQUENCES] = "several line sequences describe one function",
	[WARN_LINE_SEQUENCE] = "line sequence that a function names does not describe it",
	[WARN_LINE_READS] = "line table ignored: too many units name it in turn with others",
	[WARN_DECL_FILE] = "declaration ignored: no such file",
	[WARN_CALL_FILE] = "inlined call dropped: no such file",
	[WARN_INLINE_RANGE] = "inlined call dropped: outside its function",
	[WARN_INLINE_DEPTH] = "inlined call dropped: nested too deep",
	[WARN_SECTION_DAMAGED] = "section ignored: damaged",
	[WARN_SECTION_LIMIT] = "section ignored: too large when decompressed",
	[WARN_SECTION_OUTSIDE] = "section ignored: outside the file",
	[WARN_SECTION_NAMES] = "sections without names: their table is damaged",
	[WARN_SECTION_PLACE] = "section of code outside the executable segments, which tell where code is",
	[WARN_RELOCATION] = "section with relocations of unknown type or place",
	[WARN_LOAD_COMMAND] = "load command ignored or cut short: damaged",
	[WARN_SYMBOL_TABLE] = "symbol table ignored: damaged",
	[WARN_BOUNDS] = "bounds of a function not known: damaged entry of a table of functions",
	[WARN_EXPORTS] = "exports of a Mach-O file ignored: damaged, or too many",
	[WARN_NAMES] = "names ignored: overlapping strings would multiply their size",
	[WARN_GO_TABLE] = "Go's function table ignored: where its code begins is not known",
	[WARN_GO_TREES] = "inlined calls of Go functions ignored: no trees that are possible",
	[WARN_GO_FUNCTION] = "function of Go's table ignored: damaged entry",
	[WARN_GO_VALUES] = "lines of a Go function cut short: damaged values",
	[WARN_GO_CALL] = "inlined call of a Go function dropped: damaged tree",
	[WARN_GO_OUTSIDE] = "inlined call of a Go function cut short: beyond the function",
	[WARN_GO_LIMIT] = "functions of Go's table left out or cut short: too much for its size",
	[WARN_CV_MODULES] = "list of modules cut short: damaged",
	[WARN_CV_TYPES] = "types of a PDB cut short: damaged stream",
	[WARN_CV_LINES] = "lines of a module cut short: damaged subsection",
	[WARN_CV_C11] = "lines of a module ignored: in the format of C11",
	[WARN_CV_VERSION] = "module skipped: unknown version of CodeView",
	[WARN_CV_SYMBOL] = "symbol of a module ignored: damaged",
	[WARN_CV_FUNCTION] = "function of a module ignored: it has no code",
	[WARN_CV_ITEM] = "inlined call without a name: no such item",
	[WARN_CV_CHUNK] = "inlined call cut short: code apart from its function",
	[WARN_CV_BUDGET] = "module cut short: shared parts would multiply its size",
	[WARN_BREAKPAD_RECORD] = "record ignored: damaged",
	[WARN_BREAKPAD_LOOSE] = "line record ignored: belongs to no function",
	[WARN_BREAKPAD_OUTSIDE] = "line record ignored: outside its function",
	[WARN_BREAKPAD_OVERLAP] = "line record ignored: overlaps the one before",
	[WARN_BREAKPAD_ORIGIN] = "inlined call without a name: no such origin",
	[WARN_BREAKPAD_PARENT] = "inlined call dropped: not within a call one level up",
	[WARN_BREAKPAD_NUMBER] = "file or origin ignored: its number is taken",
	[WARN_BREAKPAD_LIMIT] = "function cut short: too many records",
	[WARN_GSYM_RECORD] = "function skipped: damaged record of GSYM",
	[WARN_GSYM_PART] = "part of a function left out: damaged block of GSYM",
	[WARN_GSYM_UUID] = "section with GSYM ignored: its UUID is not that of the file",
	[WARN_MERGED_LIMIT] = "functions merged with another left out: too many",
	[WARN_PART_LINES] = "lines of a function left out: not in order, or outside it",
	[WARN_PART_INLINES] = "inlined calls of a function left out: not nested in each other",
	[WARN_PART_MERGED] = "functions merged with another left out: one is damaged",
	[WARN_PART_CALLSITES] = "call sites of a function left out: not in order, or outside it",
	[WARN_SAME_RANGE] = "functions with equal range, different content",
	[WARN_OVERLAP] = "functions overlap",
};

void warning_count_all(struct warnings *warnings, enum warning kind, uint64_t n, const char *section,
		       uint64_t off)
{
	if (n && !warnings->kind[kind].count) {
		warnings->kind[kind].order = warnings->order;
		warnings->kind[kind].section = section;
		warnings->kind[kind].off = off;
	}
	warnings->kind[kind].count += n;
}

void warning_count(struct warnings *warnings, enum warning kind, const char *section, uint64_t off)
{
	warning_count_all(warnings, kind, 1, section, off);
}

void warnings_merge(struct warnings *into, const struct warnings *from)
{
	for (size_t i = 0; i < WARN_COUNT; i++) {
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
	return strcmp(((const struct convert_warning *)a)->kind, ((const struct convert_warning *)b)->kind);
}

int warnings_report(const struct warnings *warnings, struct convert_summary *summary)
{
	summary->warnings = calloc(WARN_COUNT, sizeof(*summary->warnings));
	if (!summary->warnings)
		return -ENOMEM;
	for (size_t i = 0; i < WARN_COUNT; i++) {
		if (!warnings->kind[i].count)
			continue;
		struct convert_warning *o = &summary->warnings[summary->n_warnings++];
		o->kind = kind_text[i];
		o->count = warnings->kind[i].count;
		if (warnings->kind[i].section)
			snprintf(o->first, sizeof(o->first), "%s+0x%" PRIx64, warnings->kind[i].section,
				 warnings->kind[i].off);
		else
			snprintf(o->first, sizeof(o->first), "0x%" PRIx64, warnings->kind[i].off);
	}
	qsort(summary->warnings, summary->n_warnings, sizeof(*summary->warnings), compare_kind);
	return 0;
}

void convert_summary_deinit(struct convert_summary *summary)
{
	free(summary->warnings);
	free(summary->missing);
	free(summary->sections);
	free(summary->segments);
	summary->segments = NULL;
	summary->n_segments = 0;
	summary->missing = NULL;
	summary->missing_size = 0;
	summary->sections = NULL;
	summary->n_sections = 0;
	summary->warnings = NULL;
	summary->n_warnings = 0;
}

#include "convert/record/warning.h"

#include "work/types/convert_types.h"
#include "gsym/base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* How answers at the place of a warning suffer. */
enum effect {
	EFFECT_NOTHING,
	EFFECT_FUNCTIONS,
	EFFECT_NAMES,
	EFFECT_LINES,
	EFFECT_INLINES,
	EFFECT_CALLERS,
	EFFECT_CHOICE,
};

static const char *const effect_text[] = {
	[EFFECT_NOTHING] = "no answer is affected",
	[EFFECT_FUNCTIONS] = "functions there may be missing or have no lines",
	[EFFECT_NAMES] = "names there may be missing",
	[EFFECT_LINES] = "lines there may be missing",
	[EFFECT_INLINES] = "inlined calls there may be missing",
	[EFFECT_CALLERS] = "callers there are not told apart",
	[EFFECT_CHOICE] = "one of the possible answers is given there",
};

static const struct {
	const char *text;
	enum effect effect;
} kinds[WARN_COUNT] = {
	[WARN_UNIT_HEADER] = {"unit skipped: damaged header", EFFECT_FUNCTIONS},
	[WARN_UNIT_VERSION] = {"unit skipped: unknown DWARF version", EFFECT_FUNCTIONS},
	[WARN_UNIT_TYPE] = {"unit skipped: unknown unit type", EFFECT_FUNCTIONS},
	[WARN_UNIT_ABBREV] = {"unit skipped: damaged abbreviations", EFFECT_FUNCTIONS},
	[WARN_UNIT_DIE] = {"unit cut short: damaged entry", EFFECT_FUNCTIONS},
	[WARN_UNIT_DEPTH] = {"entries skipped: nested too deep", EFFECT_FUNCTIONS},
	[WARN_UNIT_BUDGET] = {"unit cut short: shared parts would multiply its size", EFFECT_FUNCTIONS},
	[WARN_ABBREV_CUT] = {"abbreviations of a unit cut short: damaged", EFFECT_FUNCTIONS},
	[WARN_ABBREV_READS] = {"unit skipped: abbreviations overlap those of too many units",
			       EFFECT_FUNCTIONS},
	[WARN_FORM] = {"attribute ignored: form not possible here", EFFECT_FUNCTIONS},
	[WARN_STRING] = {"string ignored: offset outside its section", EFFECT_NAMES},
	[WARN_ADDRESS_INDEX] = {"address ignored: index outside .debug_addr", EFFECT_FUNCTIONS},
	[WARN_RANGES] = {"range list damaged", EFFECT_FUNCTIONS},
	[WARN_REFERENCE] = {"reference to no entry", EFFECT_NAMES},
	[WARN_REFERENCE_DEPTH] = {"chain of references too long", EFFECT_NAMES},
	[WARN_ALTERNATE_FILE] = {"name is in an alternate file that is not here", EFFECT_NAMES},
	[WARN_SPLIT_UNIT] = {"unit is in a split file that is not here", EFFECT_FUNCTIONS},
	[WARN_SPLIT_PART] = {"part of a unit lost: its split file is damaged", EFFECT_FUNCTIONS},
	[WARN_NO_NAME] = {"function without a name", EFFECT_FUNCTIONS},
	[WARN_FUNCTION_SIZE] = {"function larger than 4 GiB", EFFECT_FUNCTIONS},
	[WARN_NOT_IN_TEXT] = {"function outside the code sections", EFFECT_NOTHING},
	[WARN_LINE_HEADER] = {"line table ignored: damaged header", EFFECT_LINES},
	[WARN_LINE_VERSION] = {"line table ignored: unknown version", EFFECT_LINES},
	[WARN_LINE_PROGRAM] = {"line table cut short: damaged program", EFFECT_LINES},
	[WARN_LINE_FILE] = {"line row ignored: no such file", EFFECT_LINES},
	[WARN_LINE_ORDER] = {"line rows ignored: addresses descend", EFFECT_LINES},
	[WARN_LINE_BEFORE_FUNCTION] = {"function starts between two line rows", EFFECT_NOTHING},
	[WARN_LINE_SEQUENCES] = {"several line sequences describe one function", EFFECT_CHOICE},
	[WARN_LINE_SEQUENCE] = {"line sequence that a function names does not describe it", EFFECT_LINES},
	[WARN_LINE_READS] = {"line table ignored: too many units name it in turn with others", EFFECT_LINES},
	[WARN_DECL_FILE] = {"declaration ignored: no such file", EFFECT_LINES},
	[WARN_CALL_FILE] = {"inlined call dropped: no such file", EFFECT_INLINES},
	[WARN_INLINE_RANGE] = {"inlined call dropped: outside its function", EFFECT_INLINES},
	[WARN_INLINE_DEPTH] = {"inlined call dropped: nested too deep", EFFECT_INLINES},
	[WARN_SECTION_DAMAGED] = {"section ignored: damaged", EFFECT_FUNCTIONS},
	[WARN_SECTION_LIMIT] = {"section ignored: too large when decompressed", EFFECT_FUNCTIONS},
	[WARN_SECTION_OUTSIDE] = {"section ignored: outside the file", EFFECT_FUNCTIONS},
	[WARN_SECTION_NAMES] = {"sections without names: their table is damaged", EFFECT_FUNCTIONS},
	[WARN_SECTION_PLACE] = {"section of code outside the executable segments, which tell where code is",
				EFFECT_FUNCTIONS},
	[WARN_RELOCATION] = {"section with relocations of unknown type or place", EFFECT_FUNCTIONS},
	[WARN_LOAD_COMMAND] = {"load command ignored or cut short: damaged", EFFECT_FUNCTIONS},
	[WARN_SYMBOL_TABLE] = {"symbol table ignored: damaged", EFFECT_FUNCTIONS},
	[WARN_BOUNDS] = {"bounds of a function not known: damaged entry of a table of functions",
			 EFFECT_CHOICE},
	[WARN_EXPORTS] = {"exports of a Mach-O file ignored: damaged, or too many", EFFECT_FUNCTIONS},
	[WARN_NAMES] = {"names ignored: overlapping strings would multiply their size", EFFECT_NAMES},
	[WARN_GO_TABLE] = {"Go's function table ignored: where its code begins is not known",
			   EFFECT_FUNCTIONS},
	[WARN_GO_TREES] = {"inlined calls of Go functions ignored: no trees that are possible",
			   EFFECT_INLINES},
	[WARN_GO_FUNCTION] = {"function of Go's table ignored: damaged entry", EFFECT_FUNCTIONS},
	[WARN_GO_VALUES] = {"lines of a Go function cut short: damaged values", EFFECT_LINES},
	[WARN_GO_CALL] = {"inlined call of a Go function dropped: damaged tree", EFFECT_INLINES},
	[WARN_GO_OUTSIDE] = {"inlined call of a Go function cut short: beyond the function", EFFECT_INLINES},
	[WARN_GO_LIMIT] = {"functions of Go's table left out or cut short: too much for its size",
			   EFFECT_FUNCTIONS},
	[WARN_CV_MODULES] = {"list of modules cut short: damaged", EFFECT_FUNCTIONS},
	[WARN_CV_TYPES] = {"types of a PDB cut short: damaged stream", EFFECT_NAMES},
	[WARN_CV_LINES] = {"lines of a module cut short: damaged subsection", EFFECT_LINES},
	[WARN_CV_C11] = {"lines of a module ignored: in the format of C11", EFFECT_LINES},
	[WARN_CV_VERSION] = {"module skipped: unknown version of CodeView", EFFECT_FUNCTIONS},
	[WARN_CV_SYMBOL] = {"symbol of a module ignored: damaged", EFFECT_FUNCTIONS},
	[WARN_CV_FUNCTION] = {"function of a module ignored: it has no code", EFFECT_NOTHING},
	[WARN_CV_ITEM] = {"inlined call without a name: no such item", EFFECT_NAMES},
	[WARN_CV_CHUNK] = {"inlined call cut short: code apart from its function", EFFECT_INLINES},
	[WARN_CV_BUDGET] = {"module cut short: shared parts would multiply its size", EFFECT_FUNCTIONS},
	[WARN_BREAKPAD_RECORD] = {"record ignored: damaged", EFFECT_FUNCTIONS},
	[WARN_BREAKPAD_LOOSE] = {"line record ignored: belongs to no function", EFFECT_LINES},
	[WARN_BREAKPAD_OUTSIDE] = {"line record ignored: outside its function", EFFECT_LINES},
	[WARN_BREAKPAD_OVERLAP] = {"line record ignored: overlaps the one before", EFFECT_LINES},
	[WARN_BREAKPAD_ORIGIN] = {"inlined call without a name: no such origin", EFFECT_NAMES},
	[WARN_BREAKPAD_PARENT] = {"inlined call dropped: not within a call one level up", EFFECT_INLINES},
	[WARN_BREAKPAD_NUMBER] = {"file or origin ignored: its number is taken", EFFECT_NAMES},
	[WARN_BREAKPAD_LIMIT] = {"function cut short: too many records", EFFECT_FUNCTIONS},
	[WARN_GSYM_RECORD] = {"function skipped: damaged record of GSYM", EFFECT_FUNCTIONS},
	[WARN_GSYM_PART] = {"part of a function left out: damaged block of GSYM", EFFECT_FUNCTIONS},
	[WARN_GSYM_UUID] = {"section with GSYM ignored: its UUID is not that of the file", EFFECT_FUNCTIONS},
	[WARN_MERGED_LIMIT] = {"functions merged with another left out: too many", EFFECT_NAMES},
	[WARN_PART_LINES] = {"lines of a function left out: not in order, or outside it", EFFECT_LINES},
	[WARN_PART_INLINES] = {"inlined calls of a function left out: not nested in each other",
			       EFFECT_INLINES},
	[WARN_PART_MERGED] = {"functions merged with another left out: one is damaged", EFFECT_NAMES},
	[WARN_PART_CALLSITES] = {"call sites of a function left out: not in order, or outside it",
				 EFFECT_CALLERS},
	[WARN_SAME_RANGE] = {"functions with equal range, different content", EFFECT_CHOICE},
	[WARN_OVERLAP] = {"functions overlap", EFFECT_CHOICE},
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
		o->kind = kinds[i].text;
		o->effect = effect_text[kinds[i].effect];
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

/*
 * warning.h - counting defects of the input instead of failing.
 *
 * An input may have thousands of small defects, each of some kind (LLVM's OutputAggregator is similar). Every
 * thread counts its own, and the counts are merged in a fixed order, so that the summary does not depend on
 * the number of threads.
 */
#ifndef CONVERT_RECORD_WARNING_H
#define CONVERT_RECORD_WARNING_H

#include <stddef.h>
#include <stdint.h>

struct convert_summary;

enum warning {
	WARN_UNIT_HEADER,
	WARN_UNIT_VERSION,
	WARN_UNIT_TYPE,
	WARN_UNIT_ABBREV,
	WARN_UNIT_DIE,
	WARN_UNIT_DEPTH,
	WARN_UNIT_BUDGET,
	WARN_ABBREV_CUT,
	WARN_ABBREV_READS,
	WARN_FORM,
	WARN_STRING,
	WARN_ADDRESS_INDEX,
	WARN_RANGES,
	WARN_REFERENCE,
	WARN_REFERENCE_DEPTH,
	WARN_ALTERNATE_FILE,
	WARN_SPLIT_UNIT,
	WARN_SPLIT_PART,
	WARN_NO_NAME,
	WARN_FUNCTION_SIZE,
	WARN_NOT_IN_TEXT,
	WARN_LINE_HEADER,
	WARN_LINE_VERSION,
	WARN_LINE_PROGRAM,
	WARN_LINE_FILE,
	WARN_LINE_ORDER,
	WARN_LINE_BEFORE_FUNCTION,
	WARN_LINE_SEQUENCES,
	WARN_LINE_SEQUENCE,
	WARN_LINE_READS,
	WARN_DECL_FILE,
	WARN_CALL_FILE,
	WARN_INLINE_RANGE,
	WARN_INLINE_DEPTH,
	WARN_SECTION_DAMAGED,
	WARN_SECTION_LIMIT,
	WARN_SECTION_OUTSIDE,
	WARN_SECTION_NAMES,
	WARN_SECTION_PLACE,
	WARN_RELOCATION,
	WARN_LOAD_COMMAND,
	WARN_SYMBOL_TABLE,
	WARN_BOUNDS,
	WARN_EXPORTS,
	WARN_NAMES,
	WARN_GO_TABLE,
	WARN_GO_TREES,
	WARN_GO_FUNCTION,
	WARN_GO_VALUES,
	WARN_GO_CALL,
	WARN_GO_OUTSIDE,
	WARN_GO_LIMIT,
	WARN_CV_MODULES,
	WARN_CV_TYPES,
	WARN_CV_LINES,
	WARN_CV_C11,
	WARN_CV_VERSION,
	WARN_CV_SYMBOL,
	WARN_CV_FUNCTION,
	WARN_CV_ITEM,
	WARN_CV_CHUNK,
	WARN_CV_BUDGET,
	WARN_BREAKPAD_RECORD,
	WARN_BREAKPAD_LOOSE,
	WARN_BREAKPAD_OUTSIDE,
	WARN_BREAKPAD_OVERLAP,
	WARN_BREAKPAD_ORIGIN,
	WARN_BREAKPAD_PARENT,
	WARN_BREAKPAD_NUMBER,
	WARN_BREAKPAD_LIMIT,
	WARN_GSYM_RECORD,
	WARN_GSYM_PART,
	WARN_GSYM_UUID,
	WARN_MERGED_LIMIT,
	WARN_PART_LINES,
	WARN_PART_INLINES,
	WARN_PART_MERGED,
	WARN_PART_CALLSITES,
	WARN_SAME_RANGE,
	WARN_OVERLAP,
	WARN_COUNT,
};

/* The counts of one thread or unit. Zero-initialised is empty. */
struct warnings {
	struct {
		uint64_t count;
		uint64_t order; /* position of the first one, for merging: the lowest wins */
		uint64_t off;
		const char *section;
	} kind[WARN_COUNT];
	uint64_t order; /* position of what is being read */
};

/* Counts one warning at @off of @section, which lives until warnings_report(); NULL: @off is an address. */
void warning_count(struct warnings *warnings, enum warning kind, const char *section, uint64_t off);

/* Counts @n of them, the first of which is at @off. */
void warning_count_all(struct warnings *warnings, enum warning kind, uint64_t n, const char *section,
		       uint64_t off);

/* Adds the counts of @from to @into. */
void warnings_merge(struct warnings *into, const struct warnings *from);

/* Fills the summary's list, sorted by kind: 0 or -ENOMEM. */
int warnings_report(const struct warnings *warnings, struct convert_summary *summary);

#endif

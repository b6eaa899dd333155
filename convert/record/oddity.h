/*
 * oddity.h - counting defects of the input instead of failing.
 *
 * An input may have thousands of small defects, each of some kind (LLVM's OutputAggregator is similar). Every
 * thread counts its own, and the counts are merged in a fixed order, so that the summary does not depend on
 * the number of threads.
 */
#ifndef CONVERT_RECORD_ODDITY_H
#define CONVERT_RECORD_ODDITY_H

#include <stddef.h>
#include <stdint.h>

struct convert_summary;

enum oddity {
	ODD_UNIT_HEADER,
	ODD_UNIT_VERSION,
	ODD_UNIT_TYPE,
	ODD_UNIT_ABBREV,
	ODD_UNIT_DIE,
	ODD_UNIT_DEPTH,
	ODD_UNIT_BUDGET,
	ODD_ABBREV_READS,
	ODD_FORM,
	ODD_STRING,
	ODD_ADDRESS_INDEX,
	ODD_RANGES,
	ODD_REFERENCE,
	ODD_REFERENCE_DEPTH,
	ODD_ALTERNATE_FILE,
	ODD_SPLIT_UNIT,
	ODD_NO_NAME,
	ODD_FUNCTION_SIZE,
	ODD_NOT_IN_TEXT,
	ODD_LINE_HEADER,
	ODD_LINE_VERSION,
	ODD_LINE_PROGRAM,
	ODD_LINE_FILE,
	ODD_LINE_ORDER,
	ODD_LINE_BEFORE_FUNCTION,
	ODD_LINE_SEQUENCES,
	ODD_LINE_SEQUENCE,
	ODD_LINE_READS,
	ODD_DECL_FILE,
	ODD_CALL_FILE,
	ODD_INLINE_RANGE,
	ODD_SECTION_DAMAGED,
	ODD_SECTION_LIMIT,
	ODD_RELOCATION,
	ODD_SYMBOL_TABLE,
	ODD_NAMES,
	ODD_GO_TABLE,
	ODD_GO_FUNCTION,
	ODD_GO_VALUES,
	ODD_GO_CALL,
	ODD_GO_LIMIT,
	ODD_CV_TYPES,
	ODD_CV_LINES,
	ODD_CV_C11,
	ODD_CV_VERSION,
	ODD_CV_SYMBOL,
	ODD_CV_FUNCTION,
	ODD_CV_ITEM,
	ODD_CV_CHUNK,
	ODD_CV_BUDGET,
	ODD_BREAKPAD_RECORD,
	ODD_BREAKPAD_LOOSE,
	ODD_BREAKPAD_OUTSIDE,
	ODD_BREAKPAD_OVERLAP,
	ODD_BREAKPAD_ORIGIN,
	ODD_BREAKPAD_PARENT,
	ODD_BREAKPAD_NUMBER,
	ODD_BREAKPAD_LIMIT,
	ODD_GSYM_RECORD,
	ODD_GSYM_UUID,
	ODD_SAME_RANGE,
	ODD_OVERLAP,
	ODD_COUNT,
};

/* The counts of one thread or unit. Zero-initialised is empty. */
struct oddities {
	struct {
		uint64_t count;
		uint64_t order; /* position of the first one, for merging: the lowest wins */
		uint64_t off;
		const char *section;
	} kind[ODD_COUNT];
	uint64_t order; /* position of what is being read */
};

/* Counts one oddity at @off of @section (a static string; NULL: @off is an address). */
void oddity_count(struct oddities *odd, enum oddity kind, const char *section, uint64_t off);

/* Adds the counts of @from to @into. */
void oddities_merge(struct oddities *into, const struct oddities *from);

/* Fills the summary's list, sorted by kind: 0 or -ENOMEM. */
int oddities_report(const struct oddities *odd, struct convert_summary *summary);

#endif

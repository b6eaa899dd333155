/*
 * verify_libdwarf.h - one interface to libdwarf 20210528 (Debian 12) and to releases since 0.1.
 *
 * Releases since 0.1 define DW_LIBDWARF_VERSION_MAJOR; 20210528 and older do not.
 */
#ifndef CONVERT_VERIFY_VERIFY_LIBDWARF_H
#define CONVERT_VERIFY_VERIFY_LIBDWARF_H

#if __has_include(<libdwarf/libdwarf.h>)
#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>
#else
#include <dwarf.h>
#include <libdwarf.h>
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* An object file opened by libdwarf. */
struct dw {
	Dwarf_Debug dbg;
	uint64_t mode_bits; /* of addresses of code that are no part of the place: see struct dwarf */
	uint64_t skipped;   /* entries it reported an error for */
	char reason[128];   /* the first of these errors */
	bool no_memory;     /* one was that it had no memory: what it read is not all there is */
};

/* Without memory for the error itself there may be none, or one that says so. */
static inline bool dw_is_no_memory(Dwarf_Unsigned number)
{
	return number == DW_DLE_ALLOC_FAIL || number == DW_DLE_DF_ALLOC_FAIL ||
	       number == DW_DLE_FAILSAFE_ERRVAL;
}

/*
 * The third state of libdwarf's results, "no such entry", is an ordinary answer: this is true for a result,
 * false for none, and false with a count for an error, whose details are released. @error: where the call
 * that gave @result leaves them; its address, since arguments are evaluated in any order.
 */
static inline bool dw_ok(struct dw *dw, int result, Dwarf_Error *error)
{
	if (result == DW_DLV_ERROR) {
		if (dw->skipped++ == 0)
			snprintf(dw->reason, sizeof(dw->reason), "%s",
				 *error ? dwarf_errmsg(*error) : "no reason given");
		dw->no_memory |= !*error || dw_is_no_memory(dwarf_errno(*error));
		dwarf_dealloc_error(dw->dbg, *error);
		*error = NULL;
	}
	return result == DW_DLV_OK;
}

/* The type of section numbers. */
#if defined(DW_LIBDWARF_VERSION_MAJOR) && (DW_LIBDWARF_VERSION_MAJOR > 0 || DW_LIBDWARF_VERSION_MINOR >= 7)
typedef Dwarf_Unsigned dw_section_index;
#else
typedef Dwarf_Half dw_section_index;
#endif

/* How libdwarf gets at the sections of an object file. */
struct dw_access {
#ifdef DW_LIBDWARF_VERSION_MAJOR
	Dwarf_Obj_Access_Interface_a interface;
#else
	Dwarf_Obj_Access_Interface interface;
#endif
};

static inline void dw_object_finish(Dwarf_Debug dbg)
{
#ifdef DW_LIBDWARF_VERSION_MAJOR
	dwarf_object_finish(dbg);
#else
	dwarf_object_finish(dbg, NULL);
#endif
}

static inline void dw_free_ranges(Dwarf_Debug dbg, Dwarf_Ranges *ranges, Dwarf_Signed count)
{
#ifdef DW_LIBDWARF_VERSION_MAJOR
	dwarf_dealloc_ranges(dbg, ranges, count);
#else
	dwarf_ranges_dealloc(dbg, ranges, count);
#endif
}

/*
 * Two faults of the line table reader of 2021. It begins a DWARF 5 program with file 0 rather than 1 (6.2.2),
 * so that a 0 may stand for either; and it marks a row with DW_LNS_set_epilogue_begin as an end of sequence.
 */
#ifdef DW_LIBDWARF_VERSION_MAJOR
enum { DW_FILE_ZERO_IS_SURE = 1, DW_EPILOGUE_ENDS_SEQUENCE = 0 };
#else
enum { DW_FILE_ZERO_IS_SURE = 0, DW_EPILOGUE_ENDS_SEQUENCE = 1 };
#endif

/* Whether @line ends a sequence. */
static inline bool dw_end_sequence(struct dw *dw, Dwarf_Line line)
{
	Dwarf_Bool end = 0, prologue = 0, epilogue = 0;
	Dwarf_Unsigned isa, discriminator;
	Dwarf_Error error = NULL;
	if (!dw_ok(dw, dwarf_lineendsequence(line, &end, &error), &error) || !end)
		return false;
	if (DW_EPILOGUE_ENDS_SEQUENCE)
		dw_ok(dw, dwarf_prologue_end_etc(line, &prologue, &epilogue, &isa, &discriminator, &error),
		      &error);
	return !epilogue;
}

#endif

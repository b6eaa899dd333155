/*
 * dwarf_stream.h - units of a compressed .debug_info, found and read while the rest of it is inflated.
 *
 * Reading such a section whole takes as much memory as it has bytes, and one thread the time to inflate it
 * before any other has something to do. Where no unit refers to another one, a unit can be read as soon as
 * its last byte is there, and its bytes are not needed any more when that is done.
 */
#ifndef CONVERT_DWARF_DWARF_STREAM_H
#define CONVERT_DWARF_DWARF_STREAM_H

#include "convert/dwarf/dwarf.h"

/*
 * As dwarf_load_sections() for a file that is not split. If .debug_info can be read while it is inflated,
 * dwarf->stream is set, and dwarf->units is empty until dwarf_stream_end(). Then no string that is in
 * .debug_info itself may be kept, see dwarf_is_transient(). Else dwarf_find_units() comes next.
 */
int dwarf_stream_load(struct dwarf *dwarf, struct object_file *object, unsigned threads,
		      struct warnings *warnings);

/* Inflates some more, one thread at a time: 0, -EBADMSG when .debug_info is damaged, or -ENOMEM. */
int dwarf_stream_inflate(struct dwarf_stream *stream, uint64_t *ret_ready);

/*
 * Inflates until the unit that begins at @off is there, before any thread reads units. 0, -EBADMSG when
 * .debug_info is damaged before its end, or there is none, or -ENOMEM.
 */
int dwarf_stream_reach(struct dwarf_stream *stream, uint64_t off);

/* The number of bytes inflated so far. */
uint64_t dwarf_stream_ready(const struct dwarf_stream *stream);

/*
 * The next unit, if it lies in the @ready bytes inflated so far. One thread at a time, which may be another
 * one than that which inflates.
 *
 * 1 and the unit, -EAGAIN when more must be inflated first, -ENOENT after the last one.
 */
int dwarf_stream_unit(struct dwarf_stream *stream, uint64_t ready, struct unit_header *ret);

/* No unit is read before @to in .debug_info any more. By any thread. */
void dwarf_stream_release(struct dwarf_stream *stream, uint64_t to);

/*
 * Ends reading. @units, which the caller has allocated, become dwarf->units. If .debug_info was @damaged,
 * this is counted in @warnings, and the file has no units; else the warnings of unit headers are added
 * to @warnings.
 */
void dwarf_stream_end(struct dwarf *dwarf, bool damaged, struct unit_header *units, size_t n_units,
		      struct warnings *warnings);

/* Whether a string is lost when its unit was read. */
static inline bool dwarf_is_transient(const struct dwarf *dwarf, const char *text)
{
	uintptr_t at = (uintptr_t)text, info = (uintptr_t)dwarf->info.data;
	return dwarf->stream && at >= info && at - info < dwarf->info.size;
}

#endif

/*
 * units.h - units of debug data to function records.
 */
#ifndef CONVERT_UNITS_H
#define CONVERT_UNITS_H

#include "convert/conversion.h"

/* Makes records of all units, by c->threads threads. 0, -ENOMEM or -ECANCELED. */
int conversion_read_units(struct conversion *c);

/*
 * Appends the records of all units to c->records, in unit order, with the pool's numbers. 0 or the first
 * error of a unit.
 */
int conversion_merge_units(struct conversion *c, struct convert_summary *summary);

/* The same of the given results alone, in their order. */
int conversion_merge_results(struct conversion *c, const struct unit_result *results, size_t n,
			     struct convert_summary *summary);

void conversion_close_units(struct conversion *c);

/* ---- While .debug_info is inflated (unit_stream.c) ---- */

/*
 * Reads all units of c->dwarf.stream with the builders of @c, and ends the stream: c->dwarf has its units
 * then, and c->results their records. 0, -EBADMSG if .debug_info is damaged: then there are none; -ENOMEM or
 * -ECANCELED.
 */
int unit_stream_read(struct conversion *c);

#endif

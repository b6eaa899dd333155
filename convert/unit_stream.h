/*
 * unit_stream.h - units to function records while .debug_info is inflated.
 */
#ifndef CONVERT_UNIT_STREAM_H
#define CONVERT_UNIT_STREAM_H

#include "convert/conversion.h"

/*
 * Reads all units of c->dwarf.stream with the builders of @c, and ends the stream: c->dwarf has its units
 * then, and c->results their records. 0, -EBADMSG if .debug_info is damaged: then there are none; -ENOMEM or
 * -ECANCELED.
 */
int unit_stream_read(struct conversion *c);

#endif

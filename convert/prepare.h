/*
 * prepare.h - what must be known before units are read.
 */
#ifndef CONVERT_PREPARE_H
#define CONVERT_PREPARE_H

#include "convert/conversion.h"

/*
 * Fills c->symbols and c->dwarf.units, by two threads if that pays. If the DWARF is still being inflated, as
 * much of it as the time allows is inflated instead. 0 or -ENOMEM.
 */
int conversion_prepare(struct conversion *c);

#endif

/*
 * callsites.h - what is derived about call sites once all functions are known.
 */
#ifndef CONVERT_CALLSITES_H
#define CONVERT_CALLSITES_H

#include "record.h"

/*
 * Flags every call site that names its callee: GSYM_CALLSITE_INTERNAL when this image has a function of that
 * name, else GSYM_CALLSITE_EXTERNAL. Before pruning, which drops names. 0 or -ENOMEM.
 */
int callsites_flag(record_vec *records, const struct pool *pool);

#endif

/* attached.h - data that answers attach to an open cache file: the slots of struct handle. */
#ifndef FS_ANSWER_ATTACHED_H
#define FS_ANSWER_ATTACHED_H

#include "work/cache/handle.h"
#include "gsym/render/listing.h"

enum {
	SLOT_TABLES,                         /* struct tsv_index, by enum listing_kind */
	SLOT_NAMES = SLOT_TABLES + LISTINGS, /* struct name_table, see symbol_names.h */
	SLOTS_USED,
};

static_assert((int)SLOTS_USED <= (int)HANDLE_SLOTS, "a handle has a slot for each");

#endif

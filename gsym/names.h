/*
 * names.h - from a stored name to the functions that have it.
 *
 * GSYM has no index by name, so one is made, by the first search, and kept with the reader: 8 bytes for each function and
 * each function folded onto another, and 4 to 8 for each more. Names are matched byte for byte as they are stored: not demangled,
 * suffixes of clones included. Inlined functions are not in it, as they have no code of their own. Internal.
 */
#ifndef GSYM_NAMES_H
#define GSYM_NAMES_H

#include "reader.h"

struct name_index;

void name_index_free(struct name_index *names);

/* A function of the name that was looked for. */
struct name_hit {
	uint32_t index; /* of the record: gsym_reader_address() is where it starts */
	uint32_t which; /* body of the record, for gsym_lookup_merged(): 0 = the record's own name, else one folded onto it */
	uint32_t size;  /* bytes of code, 0 = not known */
};

/* A search that goes on. The name is borrowed until it ends. */
struct name_search {
	const struct gsym_reader *reader;
	const char *name;
	size_t name_size;
	uint32_t hash;
	uint32_t last; /* record looked at before */
	size_t at, end; /* entries of the index still to be compared */
};

/*
 * Begins to look for the @size bytes of @name, which need no terminator: 0, or -ENOMEM when there is no memory for the
 * index. Any thread may call it. Records that cannot be read have no name.
 */
int name_search_begin(struct name_search *ret, const struct gsym_reader *reader, const char *name, size_t size);

/* The next function of that name, ascending by index; false when there is no more. Names may be shared by any number of functions. */
bool name_search_next(struct name_search *search, struct name_hit *ret);

#endif

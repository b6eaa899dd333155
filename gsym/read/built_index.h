/*
 * built_index.h - indexes that the first lookup in need of one builds from the file, and the reader keeps.
 *
 * An index that is being built is in the list of its reader, too: when a mapped file is truncated, a signal
 * ends the lookup by a jump out of the building, and what that has allocated is freed with the reader. So
 * all that building allocates hangs on the index. Internal.
 */
#ifndef GSYM_READ_BUILT_INDEX_H
#define GSYM_READ_BUILT_INDEX_H

#include "gsym/read/reader.h"

#include <stdatomic.h>

/* The first member of every index. */
struct built_index {
	struct built_index *next;
	atomic_bool is_ready;
	atomic_bool is_free; /* there was no memory to complete it: the next one who needs it takes it */
	void (*clear)(struct built_index *index); /* frees what hangs on it, and leaves it empty */
};

/*
 * The index of @list, a member of @reader. The first caller builds it; several threads may do so at the same
 * time: one index is kept, the others are cleared. Thread-safe.
 *
 * @size:  of the struct, which is zeroed
 * @build: 0 or -ENOMEM
 * @clear: see struct built_index
 *
 * NULL without memory.
 */
const struct built_index *
built_index_get(const struct gsym_reader *reader, const built_list *list, size_t size,
		int (*build)(struct built_index *index, const struct gsym_reader *reader),
		void (*clear)(struct built_index *index));

/* The index of @list if it is built, else NULL. */
const struct built_index *built_index_find(const built_list *list);

/* Adds @index, which is built, from malloc() and becomes the list's, and its clear() set. */
void built_index_add(const built_list *list, struct built_index *index);

/* Frees all of a list that nobody uses any longer. */
void built_index_free(built_list *list);

#endif

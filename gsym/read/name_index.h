/*
 * name_index.h - functions by name.
 *
 * GSYM has no index by name, so the first search builds one, which is kept with the reader: 8 bytes for
 * each function and each merged function, and 4 to 8 bytes for each bucket. Names are compared byte for
 * byte as stored: not demangled, with suffixes of clones. Inlined functions are not included, as they have
 * no code of their own. Tables of other spellings of names use the same builder: render/shown_names.h.
 * Internal.
 */
#ifndef GSYM_READ_NAME_INDEX_H
#define GSYM_READ_NAME_INDEX_H

#include "gsym/base/vec.h"
#include "gsym/read/reader.h"

/* ---- Searching ---- */

/* Hashes of names and the functions they stand for. */
struct name_table;

/* NULL is allowed. */
void name_table_free(struct name_table *table);

/* A function of the name that was looked for. */
struct name_hit {
	uint32_t index; /* of the record: gsym_reader_address() is where it starts */
	uint32_t which; /* body of the record, for gsym_lookup_merged(): 0 = the record's own name, else one
			   folded onto it */
	uint32_t size;  /* bytes of code, 0 = not known */
};

/* The state of a search. The name is borrowed until it ends. */
struct name_search {
	const struct gsym_reader *reader;
	const struct name_table *table;
	const char *name;
	size_t name_size;
	bool (*is_it)(const struct name_search *search,
		      const char *stored); /* whether the function so called is meant */
	void *user;
	uint32_t hash;
	uint32_t last;  /* record looked at before */
	size_t at, end; /* entries of the table still to be compared */
};

/*
 * Starts a search for the @size bytes of @name, which need no terminator: 0, or -ENOMEM when the index
 * cannot be built. Thread-safe. Records that cannot be read have no name.
 */
int name_search_begin(struct name_search *ret, const struct gsym_reader *reader, const char *name,
		      size_t size);

/* Starts a search among the entries of @table with @hash; the caller has set reader, name, is_it and user. */
void name_search_hash(struct name_search *search, const struct name_table *table, uint32_t hash);

/* The next function of that name, ascending by index; false when there is no more. Names may be shared by any
 * number of functions. */
bool name_search_next(struct name_search *search, struct name_hit *ret);

/* ---- Making tables ---- */

enum { NAME_HASHES_MAX = 3 };

/*
 * Everything that building a table allocates: after a signal has interrupted it, because the file was
 * truncated, name_builder_deinit() frees it. The caller sets the first three members.
 */
struct name_builder {
	const struct gsym_reader *reader;
	/*
	 * How many hashes the function called @name has, and which. NULL: one, of its name as it is stored.
	 */
	unsigned (*hashes)(void *user, const char *name, uint64_t secret, uint32_t ret[NAME_HASHES_MAX]);
	void *user;
	struct name_table *table; /* NULL: it is allocated */
	/* Names of merged functions that may still be added. Records of a damaged file can share them, or it
	 * would hold. */
	uint64_t budget;
};

/* Makes builder->table: 0 or -ENOMEM. */
int name_builder_run(struct name_builder *builder);
void name_builder_deinit(struct name_builder *builder);

/* Hashes have a secret, so that a file cannot be written to give all names the same one. */
uint64_t name_table_secret(const struct name_table *table);
uint32_t name_hash(const char *name, size_t size, uint64_t secret);

/* ---- The index of stored names ---- */

/* Returns whether the index exists. If not, the next search builds it, in time in proportion to the file. */
bool name_index_is_made(const struct gsym_reader *reader);

/* Takes ownership of @table, built of @reader with the default hash, and publishes it. */
void name_index_publish(const struct gsym_reader *reader, struct name_table *table);

#endif

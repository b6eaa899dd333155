/*
 * tsv_index.h - the size of a table (functions.tsv, lines.tsv or files.tsv), and the offsets of its pieces.
 *
 * Tables are rendered when they are read, a piece at a time, and not stored. stat(2) needs the size and a
 * read needs the piece to begin with, so each table is rendered once to measure it.
 */
#ifndef FS_ANSWER_TSV_INDEX_H
#define FS_ANSWER_TSV_INDEX_H

#include "gsym/base/vec.h"
#include "gsym/render/listing.h"

enum {
	TSV_PIECE = 64 * 1024, /* bytes; a piece ends with the entry that reaches it */
};

#define TSV_BYTES_MAX (4ULL << 30) /* of a table */

struct tsv_piece {
	uint64_t off;
	uint32_t entry; /* the first of the piece */
};

struct tsv_index {
	uint64_t size;
	VEC(struct tsv_piece) pieces;
};

/*
 * Measures the next piece of a table and advances *@entry past it.
 * @scratch: buffer for the rendered text
 * Returns 0; 1 at the end of the table; -EFBIG above TSV_BYTES_MAX; -ENOMEM.
 */
int tsv_index_go_on(const struct gsym_reader *reader, enum listing_kind kind,
		    const struct render_options *options, struct gsym_decoder *decoder,
		    struct text_buf *scratch, struct tsv_index *index, uint32_t *entry);

/* NULL is allowed. */
void tsv_index_free(struct tsv_index *index);

/* The piece that contains @off, which must be less than the size. */
size_t tsv_index_find(const struct tsv_index *index, uint64_t off);

#endif

/*
 * tsv_index.h - where the pieces of functions.tsv, lines.tsv and files.tsv begin.
 *
 * The tables are made when they are read, a piece at a time, and kept nowhere. But stat(2) must know their
 * size, and a read where to begin; so they are made once, and thrown away, to measure them.
 */
#ifndef FS_ANSWER_TSV_INDEX_H
#define FS_ANSWER_TSV_INDEX_H

#include "gsym/base/vec.h"
#include "gsym/render/formats/listing.h"

enum {
	TSV_PIECE = 64 * 1024, /* bytes after which a piece ends */
};

#define TSV_BYTES_MAX (4ULL << 30) /* of a table */

struct tsv_piece {
	uint64_t off;
	uint32_t entry; /* its first */
};

struct tsv_index {
	uint64_t size;
	VEC(struct tsv_piece) pieces;
};

/*
 * Measures the next piece of a table, from *@entry on, and moves that past it: 0; 1 when there is no more;
 * -EFBIG; -ENOMEM.
 */
int tsv_index_go_on(const struct gsym_reader *reader, enum listing_kind kind,
		    const struct render_options *options, struct gsym_decoder *decoder,
		    struct text_buf *scratch, struct tsv_index *index, uint32_t *entry);

/* NULL is allowed. */
void tsv_index_free(struct tsv_index *index);

/* The piece that has the byte at @off, which is less than the size. */
size_t tsv_index_find(const struct tsv_index *index, uint64_t off);

#endif

#include "fs/answer/tsv_index.h"

#include "gsym/base/invariant.h"
#include "gsym/base/search.h"

int tsv_index_go_on(const struct gsym_reader *reader, enum listing_kind kind,
		    const struct render_options *options, struct gsym_decoder *decoder,
		    struct text_buf *scratch, struct tsv_index *index, uint32_t *entry)
{
	uint32_t n = listing_entries(reader, kind);
	const struct tsv_piece piece = {index->size, *entry};
	invariant(!index->pieces.n || index->pieces.v[index->pieces.n - 1].entry < *entry);
	if (*entry >= n)
		return 1;
	text_reset(scratch);
	if (vec_push(&index->pieces, piece) ||
	    listing_append(reader, kind, *entry, n, TSV_PIECE, options, decoder, scratch, entry))
		return -ENOMEM;
	index->size += scratch->n;
	return index->size > TSV_BYTES_MAX ? -EFBIG : 0;
}

void tsv_index_free(struct tsv_index *index)
{
	if (!index)
		return;
	vec_free(&index->pieces);
	free(index);
}

size_t tsv_index_find(const struct tsv_index *index, uint64_t off)
{
	invariant(off < index->size);
	return PARTITION_POINT(1, index->pieces.n, mid, index->pieces.v[mid].off <= off) - 1;
}

#include "tsv_index.h"

int tsv_index_make(const struct gsym_reader *reader, enum listing_kind kind, const struct render_options *options,
		   struct gsym_decoder *decoder, struct text_buf *scratch, struct tsv_index *ret)
{
	uint32_t n = listing_entries(reader, kind);
	for (uint32_t entry = 0; entry < n;) {
		const struct tsv_piece piece = {ret->size, entry};
		text_reset(scratch);
		if (vec_push(&ret->pieces, piece) ||
		    listing_append(reader, kind, entry, n, TSV_PIECE, options, decoder, scratch, &entry))
			return -ENOMEM;
		ret->size += scratch->n;
		if (ret->size > TSV_BYTES_MAX)
			return -EFBIG;
	}
	return 0;
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
	size_t low = 0, high = index->pieces.n;
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;
		if (index->pieces.v[mid].off <= off)
			low = mid;
		else
			high = mid;
	}
	return low;
}

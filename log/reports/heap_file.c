/* A heap file or a tombstone, held until its list of mappings ends, which is its last part. */
#include "log/engine/filter_state.h"

/* The last line is of the list. */
struct heap {
	bool saw_map;
};

static bool begins_heap(struct text_scan line)
{
	return scan_lit(&line, "heap_v2/") || scan_lit(&line, "heap profile: ") ||
	       scan_lit(&line, "*** *** *** *** *** *** *** ***"); /* a tombstone */
}

static bool is_mapping(struct text_scan line)
{
	struct map_line mapping;
	return map_line_parse(line, &mapping) && !mapping.is_event;
}

static bool heap_ends(const struct filter *f, const struct held *held, struct text_scan line)
{
	const struct heap *heap = held->own;
	(void)f;
	return heap->saw_map && !is_mapping(line);
}

static int heap_takes(struct filter *f, struct held *held, struct text_scan line)
{
	struct heap *heap = held->own;
	bool is_map = held->is_open && is_mapping(line), begins = begins_heap(line);
	int err = is_map || begins ? format_address.note(&f->context, line) : 0;
	heap->saw_map = is_map;
	return err ? err : held->is_open || begins;
}

static int heap_replay(struct filter *f, struct held *held, struct text_buf *out)
{
	return held_replay_lines(f, held, filter_take_line, out);
}

const struct held_report held_heap = {
	.own_size = sizeof(struct heap),
	.ends = heap_ends,
	.takes = heap_takes,
	.replay = heap_replay,
};

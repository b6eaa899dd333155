#include "log/engine/filter_state.h"

#include <errno.h>

/* Whether a report begins that has its mappings at the end. */
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

int heap_file_replay(struct filter *f, struct text_buf *out)
{
	struct heap_file *heap = &f->heap;
	int err = 0;
	heap->held = false;
	heap->replayed = true;
	while (!err && heap->done < heap->text.n) {
		size_t size = report_line_size(&heap->text, heap->done);
		err = filter_take_line(f, heap->text.v + heap->done, size, out);
		heap->done += err ? 0 : size;
	}
	if (!err)
		err = filter_flush(f, out);
	if (err)
		return err;
	text_deinit(&heap->text);
	*heap = (struct heap_file){.done = 0};
	return 0;
}

/* Whether the heap file ends before a line of @size. */
static bool heap_ends(const struct heap_file *heap, bool is_map, size_t size)
{
	return heap->replayed ||
	       (heap->held && ((heap->saw_map && !is_map) || heap->text.n + size > FILTER_REPORT_MAX));
}

int heap_file_hold(struct filter *f, const char *line, size_t size, struct text_buf *out)
{
	struct heap_file *heap = &f->heap;
	struct text_scan text = line_content(line, size);
	bool is_map = heap->held && is_mapping(text),
	     begins = !f->report.held && !f->report.replayed && begins_heap(text);
	int err = heap_ends(heap, is_map, size) ? heap_file_replay(f, out) : 0;
	if (!err && (is_map || begins))
		err = format_address.note(&f->context, text);
	if (err)
		return err;
	heap->held |= begins;
	if (!heap->held)
		return 0;
	heap->saw_map = is_map;
	f->report.after_thread = f->json.announced = f->json.opened = false;
	text_bytes(&heap->text, line, size);
	return heap->text.failed ? -ENOMEM : 1;
}

/*
 * dwarf_stream.c - units of a section that is being inflated. Abbreviations tell in advance whether units
 * refer to each other: then, and where nothing can be inflated in steps, the file is opened as any other.
 */
#include "convert/dwarf/dwarf_stream.h"

#include "convert/dwarf/dwarf_shared.h"
#include "convert/object/object_file.h"

#include <libdwarf/dwarf.h>

enum { HEADER_MAX = 64 }; /* more bytes than any unit header has */

struct dwarf_stream {
	struct dwarf *dwarf;
	struct section_stream *section;
	struct cursor next; /* at the header of the next unit */
	uint64_t ready;     /* bytes inflated */
	int err;            /* the section is damaged after what is inflated */
	struct shared_scan shared;
	struct warnings warnings;
};

/*
 * Whether an attribute may lead to another unit, or names a split file, whose name is kept. An indirect form
 * may be any.
 */
static bool leads_out(uint64_t attr, uint64_t form)
{
	return form == DW_FORM_ref_addr || form == DW_FORM_indirect || attr == DW_AT_dwo_name ||
	       attr == DW_AT_GNU_dwo_name;
}

/* Reads the attributes of an abbreviation: whether none leads out of the unit. */
static bool attrs_stay(struct cursor *c)
{
	for (;;) {
		uint64_t attr = cursor_uleb(c), form = cursor_uleb(c);
		if (form == DW_FORM_implicit_const)
			cursor_skip_leb(c);
		if (!cursor_ok(c) || leads_out(attr, form))
			return false;
		if (!attr && !form)
			return true;
	}
}

/*
 * Whether all abbreviations of the file, which are expected one table after the other, stay in their unit. A
 * unit that begins its table elsewhere, and refers to others all the same, finds none of them.
 */
static bool units_stand_alone(const struct dwarf *d)
{
	struct cursor c = cursor_new(d->abbrev.data, d->abbrev.size, d->big_endian);
	while (cursor_left(&c)) {
		uint64_t code = cursor_uleb(&c);
		if (!code)
			continue; /* the end of a table */
		cursor_uleb(&c);  /* the tag */
		cursor_skip(&c, 1);
		if (!attrs_stay(&c))
			return false;
	}
	return cursor_ok(&c);
}

/* Begins to inflate .debug_info, which was not loaded, if it may be read meanwhile: 0, -EFBIG, -ENOMEM. */
static int begin_stream(struct dwarf *dwarf, struct object_section *info)
{
	struct section_stream *section = NULL;
	int err = units_stand_alone(dwarf) ? section_stream_open(dwarf->object, info, &section) : 0;
	if (err || !section)
		return err;
	struct dwarf_stream *s = calloc(1, sizeof(*s));
	if (!s) {
		section_stream_close(section);
		return -ENOMEM;
	}
	s->dwarf = dwarf;
	s->section = section;
	dwarf->info = info->data;
	dwarf->bytes += section_input(info);
	dwarf->stream = s;
	s->next = cursor_new(dwarf->info.data, dwarf->info.size, dwarf->big_endian);
	shared_scan_begin(&s->shared, dwarf);
	return 0;
}

int dwarf_stream_load(struct dwarf *dwarf, struct object_file *object, unsigned threads,
		      struct warnings *warnings)
{
	struct object_section *info = object_section(object, ".debug_info");
	if (!info || info->compression == COMPRESSION_NONE || object->relocatable)
		return dwarf_load_sections(dwarf, object, false, threads, warnings);
	int err = dwarf_load_tables(dwarf, object, threads, warnings);
	if (!err)
		err = begin_stream(dwarf, info);
	if (err == -ENOMEM || dwarf->stream)
		return err == -ENOMEM ? err : 0;
	return dwarf_load_info(dwarf, warnings);
}

int dwarf_stream_inflate(struct dwarf_stream *stream, uint64_t *ret_ready)
{
	if (!stream->err)
		stream->err = section_stream_step(stream->section, &stream->ready);
	if (!stream->err)
		*ret_ready = stream->ready;
	return stream->err;
}

static int inflate_to(struct dwarf_stream *s, uint64_t end)
{
	uint64_t ready = s->ready;
	while (!s->err && ready < end)
		dwarf_stream_inflate(s, &ready);
	return ready < end ? s->err : 0;
}

int dwarf_stream_reach(struct dwarf_stream *s, uint64_t off)
{
	struct unit_header unit;
	uint64_t size = s->dwarf->info.size;
	if (off >= size)
		return -EBADMSG;
	int err = inflate_to(s, size - off < HEADER_MAX ? size : off + HEADER_MAX);
	if (err)
		return err;
	struct cursor c = cursor_new(s->dwarf->info.data, size, s->dwarf->big_endian);
	cursor_seek(&c, off);
	return unit_header_read(&c, &unit) == WARN_COUNT ? inflate_to(s, unit.end) : -EBADMSG;
}

uint64_t dwarf_stream_ready(const struct dwarf_stream *stream)
{
	return stream->ready;
}

int dwarf_stream_unit(struct dwarf_stream *s, uint64_t ready, struct unit_header *ret)
{
	while (cursor_left(&s->next)) {
		uint64_t off = cursor_off(&s->next), left = cursor_left(&s->next);
		if (ready < off + (left < HEADER_MAX ? left : HEADER_MAX))
			return -EAGAIN;
		struct cursor c = s->next;
		enum warning bad = unit_header_read(&c, ret);
		if (bad == WARN_COUNT && ready < ret->end)
			return -EAGAIN;
		s->next = c;
		if (bad != WARN_COUNT)
			warning_count(&s->warnings, bad, ".debug_info", off);
		else if (unit_type_has_code(ret->type) && shared_scan_unit(&s->shared, ret, &s->warnings))
			return 1;
	}
	return -ENOENT;
}

void dwarf_stream_release(struct dwarf_stream *stream, uint64_t to)
{
	section_stream_release(stream->section, to);
}

static void close_stream(struct dwarf *dwarf)
{
	if (!dwarf->stream)
		return;
	section_stream_close(dwarf->stream->section);
	free(dwarf->stream);
	dwarf->stream = NULL;
}

void dwarf_stream_end(struct dwarf *dwarf, bool damaged, struct unit_header *units, size_t n_units,
		      struct warnings *warnings)
{
	struct dwarf_stream *s = dwarf->stream;
	if (damaged) {
		warning_count(warnings, WARN_SECTION_DAMAGED, ".debug_info", 0);
		dwarf->bytes -= section_input(object_section(dwarf->object, ".debug_info"));
		dwarf->scanned = 0;
		section_unload(object_section(dwarf->object, ".debug_info"));
		dwarf->info = (struct span){0};
		free(units);
	} else {
		warnings_merge(warnings, &s->warnings);
		dwarf->units = units;
		dwarf->n_units = n_units;
	}
	close_stream(dwarf);
}

void dwarf_close(struct dwarf *dwarf)
{
	close_stream(dwarf);
	free(dwarf->units);
	dwarf->units = NULL;
	dwarf->n_units = 0;
}

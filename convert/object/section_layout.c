/*
 * section_layout.c - the layout of a relocatable file, for translating run-time addresses.
 *
 * /sys/module/NAME/sections/ has the address of each section of a kernel module; the address in the layout is
 * the run-time address minus that plus the section's address in the layout.
 */
#include "convert/object/section_layout.h"

#include <stdio.h>

static bool is_listed(const struct object_section *s, bool code_only)
{
	return s->size && (code_only ? s->code : s->allocated);
}

static size_t count_sections(const struct object_file *object, bool code_only)
{
	size_t n = 0;
	for (size_t i = 0; i < object->sections.n; i++)
		n += is_listed(&object->sections.v[i], code_only);
	return n;
}

int layout_report(const struct object_file *object, struct convert_summary *summary)
{
	size_t n = object->relocatable ? count_sections(object, false) : 0;
	bool code_only = n > CONVERT_SECTIONS_MAX;
	size_t n_listed = code_only ? count_sections(object, true) : n;
	n_listed = n_listed < CONVERT_SECTIONS_MAX ? n_listed : CONVERT_SECTIONS_MAX;
	if (!n)
		return 0;
	summary->sections = calloc(n_listed + 1, sizeof(*summary->sections));
	if (!summary->sections)
		return -ENOMEM;
	for (size_t i = 0; summary->n_sections < n_listed; i++) {
		const struct object_section *s = &object->sections.v[i];
		if (!is_listed(s, code_only))
			continue;
		struct convert_section *to = &summary->sections[summary->n_sections++];
		to->addr = s->addr;
		to->size = s->size;
		to->code = s->code;
		snprintf(to->name, sizeof(to->name), "%s", s->name);
	}
	summary->sections_left_out = n - n_listed;
	return 0;
}

enum { PAGE = 4096 };

int segments_report(const struct object_file *object, struct convert_summary *summary)
{
	size_t n = object_has_code(object) ? object->segments.n : 0;
	summary->image_base = object->has_base ? object->base_address & ~(uint64_t)(PAGE - 1) : 0;
	n = n < CONVERT_SEGMENTS_MAX ? n : CONVERT_SEGMENTS_MAX;
	summary->segments = calloc(n + 1, sizeof(*summary->segments));
	if (!summary->segments)
		return -ENOMEM;
	for (; summary->n_segments < n; summary->n_segments++) {
		const struct object_segment *s = &object->segments.v[summary->n_segments];
		summary->segments[summary->n_segments] = (struct convert_segment){s->off, s->addr, s->size};
	}
	return 0;
}

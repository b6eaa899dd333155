#include "convert/object/object_file.h"

#include "convert/object/source_format.h"
#include "gsym/base/diag.h"
#include "gsym/base/sort.h"
#include "work/types/go_id.h"
#include "work/types/valid_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void object_close(struct object_file *object)
{
	if (!object)
		return;
	object_free_own(object);
	for (size_t i = 0; i < object->sections.n; i++)
		section_unload(&object->sections.v[i]);
	vec_free(&object->segments);
	vec_free(&object->sections);
	vec_free(&object->symbols);
	vec_free(&object->outside);
	vec_free(&object->functions);
	vec_free(&object->text);
	gsym_reader_close(object->gsym);
	arena_free(&object->names);
	if (object->mapped)
		munmap((void *)(uintptr_t)object->file.data, object->file.size);
	if (object->inflated.data)
		munmap((void *)(uintptr_t)object->inflated.data, object->inflated.size);
	free(object->path);
	free(object);
}

void object_closep(struct object_file **object)
{
	object_close(*object);
}

/* ---- Sections ---- */

static bool is_named(const struct object_section *s, const char *name)
{
	return !strcmp(s->name, name) || (!strncmp(name, ".debug_", 7) && s->name[0] == '.' &&
					  s->name[1] == 'z' && !strcmp(s->name + 2, name + 1));
}

struct object_section *object_next_section(struct object_file *object, const char *name,
					   const struct object_section *after)
{
	for (size_t i = after ? (size_t)(after - object->sections.v) + 1 : 0; i < object->sections.n; i++) {
		struct object_section *s = &object->sections.v[i];
		/* Sections in a group are type units, or debug data of one function: not the unit's own. */
		if (!s->grouped && s->raw.size && is_named(s, name))
			return s;
	}
	return NULL;
}

struct object_section *object_section(struct object_file *object, const char *name)
{
	return object_next_section(object, name, NULL);
}

void object_release(const struct object_file *object, struct span data, uint64_t from, uint64_t to)
{
	if (!object->mapped || data.data < object->file.data ||
	    data.data >= object->file.data + object->file.size)
		return; /* the caller's memory, or decompressed: not backed by the file */
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)data.data + from + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)data.data + to) & ~(page - 1);
	if (first < end)
		(void)madvise((void *)first, end - first, MADV_DONTNEED);
}

struct span object_bytes_at(const struct object_file *object, uint64_t addr)
{
	for (size_t i = 0; i < object->sections.n; i++) {
		const struct object_section *s = &object->sections.v[i];
		if (s->allocated && s->compression == COMPRESSION_NONE && addr >= s->addr &&
		    addr - s->addr < s->raw.size)
			return (struct span){s->raw.data + (addr - s->addr), s->raw.size - (addr - s->addr)};
	}
	for (size_t i = 0; i < object->segments.n && !object->sections.n; i++) {
		const struct object_segment *s = &object->segments.v[i];
		uint64_t in = addr - s->addr;
		if (addr < s->addr || in >= s->size || s->off > object->map_size ||
		    in >= object->map_size - s->off)
			continue;
		uint64_t left = object->map_size - s->off < s->size ? object->map_size - s->off : s->size;
		return (struct span){object->map + s->off + in, left - in};
	}
	return (struct span){0};
}

bool object_has_code(const struct object_file *object)
{
	for (size_t i = 0; i < object->sections.n; i++)
		if (object->sections.v[i].code && object->sections.v[i].raw.size)
			return true;
	return !object->sections.n && object->segments.n;
}

/* ---- Go's function table and build id ---- */

bool section_is_data(const struct object_section *section)
{
	return section->allocated && !section->code && section->raw.size &&
	       section->compression == COMPRESSION_NONE;
}

const struct object_section *object_go_table(struct object_file *object)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab", "__TEXT,__gopclntab",
					    "__DATA_CONST,__gopclntab"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct object_section *s = object_section(object, names[i]);
		if (s && section_is_data(s))
			return s;
	}
	return NULL;
}

/* cmd/internal/buildid/buildid.go: the marker, the id, a quote; within the first 32 KB of the code. */
void go_build_id_in_code(const struct object_file *object, char ret[static GO_ID_SIZE])
{
	static const char marker[] = "\xff Go build ID: \"";
	enum { MARKER_SIZE = sizeof(marker) - 1, SEARCHED = 32 << 10 };
	*ret = 0;
	for (size_t i = 0; i < object->sections.n; i++) {
		const struct object_section *s = &object->sections.v[i];
		size_t size = s->raw.size < SEARCHED ? s->raw.size : SEARCHED;
		const char *at = s->code && size ? memmem(s->raw.data, size, marker, MARKER_SIZE) : NULL;
		if (!at)
			continue;
		at += MARKER_SIZE;
		const char *end = (const char *)s->raw.data + size,
			   *quote = memchr(at, '"', (size_t)(end - at));
		if (!quote || !go_id_parse(at, (size_t)(quote - at), ret))
			*ret = 0;
		return;
	}
}

/* ---- For readers of source formats ---- */

struct span object_span(const struct object_file *object, uint64_t off, uint64_t size)
{
	if (off > object->map_size || size > object->map_size - off)
		return (struct span){0};
	return (struct span){object->map + off, size};
}

int object_new_own(struct object_file *object, size_t size, struct gsym_diag *diag)
{
	object->own = calloc(1, size);
	return object->own ? 0 : diag_set(diag, -ENOMEM, "%s: out of memory", object->path);
}

void object_free_own(struct object_file *object)
{
	if (object->own && object->format->close)
		object->format->close(object);
	free(object->own);
	object->own = NULL;
}

static void read_zdebug(struct object_section *s)
{
	if (s->compression != COMPRESSION_NONE || s->raw.size < 12 || strncmp(s->name, ".zdebug_", 8) ||
	    memcmp(s->raw.data, "ZLIB", 4))
		return;
	s->full_size = load64(s->raw.data + 4, true);
	s->compression = COMPRESSION_ZLIB;
	s->raw.data += 12;
	s->raw.size -= 12;
}

static int add_code(struct object_file *object, const struct object_section *section)
{
	uint64_t end;
	if (!section->code || !section->size || __builtin_add_overflow(section->addr, section->size, &end))
		return 0;
	return vec_push(&object->text, (struct range){section->addr, end});
}

int object_add_section(struct object_file *object, const struct object_section *section)
{
	struct object_section s = *section;
	read_zdebug(&s);
	int err = add_code(object, &s);
	return err ? err : vec_push(&object->sections, s);
}

bool object_set_id(struct object_file *object, const void *id, size_t size)
{
	if (size > sizeof(object->id))
		return false;
	if (size)
		memcpy(object->id, id, size);
	object->id_size = size;
	return true;
}

/* The first three fields of a GUID are little-endian numbers. */
bool object_set_guid(struct object_file *object, const uint8_t guid[static GUID_SIZE])
{
	static const uint8_t order[GUID_SIZE] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	static const uint8_t none[GUID_SIZE];
	if (!memcmp(guid, none, sizeof(none)))
		return false;
	for (size_t i = 0; i < GUID_SIZE; i++)
		object->id[i] = guid[order[i]];
	object->id_size = GUID_SIZE;
	return true;
}

void object_set_arch(struct object_file *object, const struct machine_name *names, size_t n, uint16_t machine,
		     const char *other)
{
	for (size_t i = 0; i < n; i++)
		if (names[i].machine == machine)
			other = names[i].arch;
	snprintf(object->arch, sizeof(object->arch), "%s", other);
}

bool object_take_name(const char *name, char ret[static IMAGE_NAME_SIZE])
{
	size_t n = name ? strlen(name) : 0;
	if (!n || n >= IMAGE_NAME_SIZE || !image_name_valid(name))
		return false;
	memcpy(ret, name, n + 1);
	return true;
}

/* ---- Files that are cut short ---- */

void object_expect(struct object_file *object, const char *what, unsigned number, uint64_t off, uint64_t size)
{
	uint64_t end;
	if (!size || object->lost.what)
		return;
	if (__builtin_add_overflow(off, size, &end))
		end = UINT64_MAX;
	if (end > object->map_size)
		object->lost = (struct lost_bytes){what, number, off, end};
}

int lost_bytes_tell(const struct lost_bytes *lost, uint64_t size, int err, struct gsym_diag *diag)
{
	char number[16] = "";
	if (lost->number)
		snprintf(number, sizeof(number), " %u", lost->number);
	return diag_set(diag, err,
			"may be truncated: %s%s at offset 0x%" PRIx64 " to 0x%" PRIx64
			", end of file at 0x%" PRIx64 ": copy it again",
			lost->what, number, lost->off, lost->end, size);
}

/* ---- Functions of other tables ---- */

void damage_count(struct damaged_entries *damaged, const char *section, uint64_t off)
{
	if (!damaged->n++) {
		damaged->section = section;
		damaged->off = off;
	}
}

void object_settle_functions(struct object_file *object, const char *table)
{
	range_vec *f = &object->functions;
	ranges_sort(f->v, f->n);
	for (size_t i = 1; i < f->n; i++)
		if (f->v[i - 1].hi > f->v[i].lo)
			f->v[i - 1].hi = f->v[i].lo;
	object->bounded_by = f->n ? table : NULL;
}

/* ---- Addresses with a symbol ---- */

int known_addresses_make(const struct object_file *object, struct known_addresses *ret)
{
	size_t n = object->symbols.n;
	uint64_t *known = malloc((n + 1) * sizeof(*known));
	if (!known)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		known[i] = object->symbols.v[i].addr;
	qsort(known, n, sizeof(*known), compare_u64);
	*ret = (struct known_addresses){known, n};
	return 0;
}

bool known_address(const struct known_addresses *known, uint64_t addr)
{
	return bsearch(&addr, known->v, known->n, sizeof(addr), compare_u64);
}

/* ---- What each format does in its own way ---- */

bool object_has_symbols(struct object_file *object)
{
	return object->format->has_symbols && object->format->has_symbols(object);
}

int object_load_symbols(struct object_file *object, struct object_file *const *sources, size_t n_sources)
{
	const struct source_format *format = object->format;
	return format->load_symbols ? format->load_symbols(object, sources, n_sources) : 0;
}

void object_forget_symbols(struct object_file *object)
{
	object->symbols.n = object->outside.n = object->functions.n = 0;
	object->name_bytes = object->damaged_bounds.n = 0;
	object->passed_by = object->symbols_damaged = object->names_exceeded = false;
}

int object_load_plt(struct object_file *object, const struct object_file *symtab)
{
	return object->format->load_plt ? object->format->load_plt(object, symtab) : 0;
}

int section_relocate(struct object_file *object, struct object_section *section, uint64_t *ret_skipped)
{
	const struct source_format *format = object->format;
	return format->relocate ? format->relocate(object, section, ret_skipped) : 0;
}

/* ---- For the summary ---- */

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

int segments_report(const struct object_file *object, struct convert_summary *summary)
{
	enum { PAGE = 4096 };
	size_t n = object_has_code(object) ? object->segments.n : 0;
	summary->image_base = object->has_base ? object->base_address & ~(uint64_t)(PAGE - 1) : 0;
	n = n < CONVERT_SEGMENTS_MAX ? n : CONVERT_SEGMENTS_MAX;
	summary->is_relative = object->is_relative;
	summary->segments = calloc(n + 1, sizeof(*summary->segments));
	if (!summary->segments)
		return -ENOMEM;
	for (; summary->n_segments < n; summary->n_segments++) {
		const struct object_segment *s = &object->segments.v[summary->n_segments];
		summary->segments[summary->n_segments] = (struct convert_segment){s->off, s->addr, s->size};
	}
	return 0;
}

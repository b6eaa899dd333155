/*
 * split.c - finding split units.
 *
 * The package is searched first, by the hash table of its index. A .dwo file is tried at the paths of
 * search_dwo(); the ids of all its units are sorted once, so that with link-time optimization, where one .dwo
 * holds the units of many skeletons, each further unit is found by binary search without opening it again
 * (split_file_serves()).
 */
#include "convert/dwarf/split.h"

#include "convert/object/object_open.h"
#include "gsym/base/fault.h"
#include "gsym/base/search.h"
#include "work/types/machine_fault.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

/* ---- Packages ---- */

/*
 * A package is one file, its sections the concatenation of those of many .dwo files, and an index of the part
 * of each section that belongs to a unit (DWARF 5, 7.3.5; version 2 of the index is GNU's, for DWARF 4).
 */

enum {
	COLUMNS_MAX = 16,
	INDEX_HEADER = 16,
	PROBES_MAX = 4096, /* at least a third of the slots is empty (7.3.5.3), so longer chains are damage */
};

/* Section identifiers of version 5 (7.3.5.3); those used here are the same in version 2, except
 * SECT_RNGLISTS. */
enum {
	SECT_INFO = 1,
	SECT_ABBREV = 3,
	SECT_STR_OFFSETS = 6,
	SECT_RNGLISTS = 8,
};

/* The sections that units are taken from. */
enum part { PART_INDEX, PART_INFO, PART_ABBREV, PART_STR, PART_STR_OFFSETS, PART_RNGLISTS, PARTS };

static const char *const part_names[PARTS] = {
	[PART_INDEX] = ".debug_cu_index",
	[PART_INFO] = ".debug_info.dwo",
	[PART_ABBREV] = ".debug_abbrev.dwo",
	[PART_STR] = ".debug_str.dwo",
	[PART_STR_OFFSETS] = ".debug_str_offsets.dwo",
	[PART_RNGLISTS] = ".debug_rnglists.dwo",
};

enum { PLACE_SIZE = 160 };

struct dwp {
	char place[PARTS][PLACE_SIZE]; /* what warnings call each section: "prog.dwp: .debug_info.dwo" */
	bool is_damaged;               /* the file is there, and nothing in it is found */
	struct object_file *object;
	struct dwarf whole; /* sections of all units together; no units */
	struct span index;  /* .debug_cu_index */
	uint32_t version, columns, units, slots;
	uint32_t column[COLUMNS_MAX]; /* section identifier of each */
};

static bool read_index_header(struct dwp *dwp)
{
	struct cursor c = cursor_new(dwp->index.data, dwp->index.size, dwp->whole.big_endian);
	dwp->version = cursor_u32(&c);
	if (dwp->version != 2) { /* version 5: two bytes, and two of padding */
		cursor_seek(&c, 0);
		dwp->version = cursor_u16(&c);
		(void)cursor_u16(&c);
	}
	dwp->columns = cursor_u32(&c);
	dwp->units = cursor_u32(&c);
	dwp->slots = cursor_u32(&c);
	bool power = dwp->slots && !(dwp->slots & (dwp->slots - 1));
	if (!cursor_ok(&c) || (dwp->version != 2 && dwp->version != 5) || !power ||
	    dwp->columns > COLUMNS_MAX || !cursor_can_hold(&c, dwp->slots, 12))
		return false;
	cursor_skip(&c, (uint64_t)dwp->slots * 12);
	for (uint32_t i = 0; i < dwp->columns; i++)
		dwp->column[i] = cursor_u32(&c);
	/* the tables of offsets and of sizes */
	return cursor_ok(&c) &&
	       (!dwp->columns || cursor_can_hold(&c, (uint64_t)dwp->units * dwp->columns, 8));
}

static void dwp_close(struct dwp *dwp)
{
	if (dwp)
		object_close(dwp->object);
	free(dwp);
}

static int read_package(struct dwp *dwp, const char *path, const struct convert_opener *opener)
{
	/* Loading warns of sections alone, which take_part() counts for each unit that lacks one. */
	struct warnings warnings = {0};
	int err = object_open(path, opener, &dwp->object, NULL);
	struct object_section *index = err ? NULL : object_section(dwp->object, part_names[PART_INDEX]);
	if (!err)
		err = index ? section_load(index) : -EBADMSG;
	if (!err)
		err = dwarf_load_sections(&dwp->whole, dwp->object, true, 1, &warnings);
	if (err)
		return err;
	dwp->index = index->data;
	return read_index_header(dwp) ? 0 : -EBADMSG;
}

/* NULL when there is no @path; the package keeps its file open. */
static struct dwp *dwp_open(const char *path, const struct convert_opener *opener)
{
	struct dwp *dwp = calloc(1, sizeof(*dwp));
	const char *slash = strrchr(path, '/');
	int err = dwp ? read_package(dwp, path, opener) : -ENOMEM;
	bool there = !err || fault_of(err) == FAULT_FILE || (err != -ENOMEM && dwp->object);
	memory_fault_note(opener, err);
	if (!there) {
		dwp_close(dwp);
		return NULL;
	}
	dwp->is_damaged = err;
	for (size_t i = 0; i < PARTS; i++)
		snprintf(dwp->place[i], PLACE_SIZE, "%.100s: %s", slash ? slash + 1 : path, part_names[i]);
	return dwp;
}

/* The row of a unit, counted from 1; 0 when it is not in the package. Double hashing (7.3.5.3). */
static uint32_t find_row(const struct dwp *dwp, uint64_t dwo_id)
{
	bool big = dwp->whole.big_endian;
	const uint8_t *ids = dwp->index.data + INDEX_HEADER, *rows = ids + (size_t)dwp->slots * 8;
	uint32_t mask = dwp->slots - 1, step = ((uint32_t)(dwo_id >> 32) & mask) | 1,
		 slot = (uint32_t)dwo_id & mask;
	for (uint32_t probes = 0; probes < dwp->slots && probes < PROBES_MAX;
	     probes++, slot = (slot + step) & mask) {
		uint32_t row = load32(rows + (size_t)slot * 4, big);
		if (!row || load64(ids + (size_t)slot * 8, big) == dwo_id)
			return row;
	}
	return 0;
}

/* Cuts @section to the part of a unit. One that is not there is counted, and becomes empty. */
static bool take_part(const struct dwp *dwp, enum part part, struct span *section, uint32_t off,
		      uint32_t size, struct warnings *warnings)
{
	const struct span whole = *section;
	*section = (struct span){0};
	if (!size)
		return true;
	if (off > whole.size || size > whole.size - off) {
		warning_count(warnings, WARN_SPLIT_PART, dwp->place[part], off);
		return false;
	}
	*section = (struct span){whole.data + off, size};
	return true;
}

/*
 * Finds the sections of the unit with that id: 0, -ENOENT, or -EBADMSG when its entries cannot be read.
 * Counts each section that is damaged.
 */
static int dwp_find(const struct dwp *dwp, uint64_t dwo_id, struct dwarf *ret, struct warnings *warnings)
{
	bool big = dwp->whole.big_endian, ok = true;
	uint32_t row = dwp->is_damaged ? 0 : find_row(dwp, dwo_id);
	if (dwp->is_damaged || row > dwp->units) {
		warning_count(warnings, WARN_SPLIT_PART, dwp->place[PART_INDEX], 0);
		return -EBADMSG;
	}
	if (!row)
		return -ENOENT;
	const uint8_t *offsets =
		dwp->index.data + INDEX_HEADER + (size_t)dwp->slots * 12 + (size_t)dwp->columns * 4;
	const uint8_t *sizes = offsets + (size_t)dwp->units * dwp->columns * 4;
	*ret = dwp->whole;
	ret->bytes = dwp->whole.bytes / dwp->units;
	for (uint32_t i = 0; i < dwp->columns; i++) {
		size_t at = ((size_t)(row - 1) * dwp->columns + i) * 4;
		uint32_t off = load32(offsets + at, big), size = load32(sizes + at, big);
		ret->bytes += size;
		switch (dwp->column[i]) {
		case SECT_INFO: ok &= take_part(dwp, PART_INFO, &ret->info, off, size, warnings); break;
		case SECT_ABBREV: ok &= take_part(dwp, PART_ABBREV, &ret->abbrev, off, size, warnings); break;
		case SECT_STR_OFFSETS:
			take_part(dwp, PART_STR_OFFSETS, &ret->str_offsets, off, size, warnings);
			break;
		case SECT_RNGLISTS:
			if (dwp->version >= 5)
				take_part(dwp, PART_RNGLISTS, &ret->rnglists, off, size, warnings);
			break;
		}
	}
	if (ret->str_offsets.size && !ret->str.size)
		warning_count(warnings, WARN_SPLIT_PART, dwp->place[PART_STR], 0);
	return ok ? 0 : -EBADMSG;
}

/* ---- Files ---- */

struct split_files {
	const char *const *debug_dirs;
	const struct convert_opener *opener;    /* the main file's */
	char dir[PATH_SIZE];                    /* of the main file */
	const struct object_file *main, *debug; /* beside which a package may be */
	pthread_mutex_t lock;                   /* guards what follows */
	bool looked;                            /* for a package */
	struct dwp *dwp;
};

/* Takes the package at @path, unless @dwp is one that is sound. */
static void try_package(struct dwp **dwp, const char *path, const struct convert_opener *opener)
{
	if (*dwp && !(*dwp)->is_damaged)
		return;
	struct dwp *found = dwp_open(path, opener);
	bool better = found && (!*dwp || !found->is_damaged);
	dwp_close(better ? *dwp : found);
	if (better)
		*dwp = found;
}

/* "prog.dwp", and for "prog.debug" both "prog.dwp" and "prog.debug.dwp". */
static void look_for_package(struct dwp **dwp, const struct object_file *object)
{
	const char *main = object->path;
	char path[PATH_SIZE];
	size_t n = strlen(main);
	if (snprintf(path, sizeof(path), "%s.dwp", main) < PATH_SIZE)
		try_package(dwp, path, object->opener);
	if (n > 6 && !strcmp(main + n - 6, ".debug") &&
	    snprintf(path, sizeof(path), "%.*s.dwp", (int)(n - 6), main) < PATH_SIZE)
		try_package(dwp, path, object->opener);
	if (snprintf(path, sizeof(path), "%s.debug.dwp", main) < PATH_SIZE)
		try_package(dwp, path, object->opener);
}

/* The package, or NULL. Looked for when the first unit is split: most files have none. */
static const struct dwp *package(struct split_files *files)
{
	pthread_mutex_lock(&files->lock);
	if (!files->looked) {
		look_for_package(&files->dwp, files->main);
		if (files->debug != files->main)
			look_for_package(&files->dwp, files->debug);
		files->looked = true;
	}
	pthread_mutex_unlock(&files->lock);
	return files->dwp;
}

int split_open(const struct object_file *main, const struct object_file *debug, const char *const *debug_dirs,
	       struct split_files **ret)
{
	struct split_files *files = calloc(1, sizeof(*files));
	if (!files)
		return -ENOMEM;
	files->debug_dirs = debug_dirs;
	files->opener = main->opener;
	const char *slash = strrchr(main->path, '/');
	snprintf(files->dir, sizeof(files->dir), "%.*s", slash ? (int)(slash - main->path) : 1,
		 slash ? main->path : ".");
	files->main = main;
	files->debug = debug;
	pthread_mutex_init(&files->lock, NULL);
	*ret = files;
	return 0;
}

void split_file_close(struct split_file *file)
{
	if (!file)
		return;
	dwarf_close(&file->dwarf);
	object_close(file->object);
	free(file->ids);
	free(file);
}

void split_close(struct split_files *files)
{
	if (!files)
		return;
	dwp_close(files->dwp);
	pthread_mutex_destroy(&files->lock);
	free(files);
}

/* ---- Finding a .dwo ---- */

struct split_id {
	uint64_t id;
	const struct unit_header *header;
};

static int compare_ids(const void *a, const void *b)
{
	const struct split_id *x = a, *y = b;
	return COMPARE(x->id, y->id) ?: COMPARE(x->header, y->header);
}

/* Lists the ids of all units. Version 4 has them in the unit entries (DW_AT_GNU_dwo_id) instead of the
 * header. */
static int index_ids(struct split_file *file, struct warnings *warnings)
{
	struct unit unit = {0};
	file->ids = calloc(file->dwarf.n_units + 1, sizeof(*file->ids));
	for (size_t i = 0; file->ids && i < file->dwarf.n_units; i++) {
		const struct unit_header *header = &file->dwarf.units[i];
		if (header->version < 5 && unit_load(&unit, &file->dwarf, header, warnings))
			continue;
		file->ids[file->n_ids++] =
			(struct split_id){header->version < 5 ? unit.dwo_id : header->dwo_id, header};
	}
	unit_deinit(&unit);
	if (file->ids)
		qsort(file->ids, file->n_ids, sizeof(*file->ids), compare_ids);
	return file->ids ? 0 : -ENOMEM;
}

/* The first unit with that id. */
static bool find_id(struct split_file *file, uint64_t id)
{
	size_t lo = PARTITION_POINT(0, file->n_ids, mid, file->ids[mid].id < id);
	file->header = lo < file->n_ids && file->ids[lo].id == id ? file->ids[lo].header : NULL;
	return file->header;
}

bool split_file_serves(struct split_file *file, const struct unit *skeleton)
{
	return file->object && file->name && !strcmp(file->name, skeleton->dwo_name) &&
	       !strcmp(file->comp_dir, skeleton->comp_dir) && find_id(file, skeleton->dwo_id);
}

/* A search for the file of one split unit. */
struct dwo_search {
	const struct split_files *files;
	const struct unit *skeleton;
	struct warnings *warnings;
	bool met_damage; /* a file is there, but its units cannot be told */
};

/* Opens @path if it is an object file with the split unit: one of an older build is not. */
static struct split_file *open_dwo(struct dwo_search *s, const char *path)
{
	struct split_file *file = calloc(1, sizeof(*file));
	if (!file) {
		memory_fault_note(s->files->opener, -ENOMEM);
		return NULL;
	}
	int err = object_open(path, s->files->opener, &file->object, NULL);
	if (!err)
		err = dwarf_open(&file->dwarf, file->object, true, 1, s->warnings);
	if (!err)
		err = index_ids(file, s->warnings);
	if (!memory_fault_note(s->files->opener, err) && find_id(file, s->skeleton->dwo_id)) {
		file->name = s->skeleton->dwo_name;
		file->comp_dir = s->skeleton->comp_dir;
		return file;
	}
	s->met_damage |=
		fault_of(err) == FAULT_FILE || (!err && (!file->n_ids || file->n_ids < file->dwarf.n_units));
	split_file_close(file);
	return NULL;
}

static struct split_file *open_joined(struct dwo_search *s, const char *a, const char *b, const char *c)
{
	char path[PATH_SIZE];
	int n = snprintf(path, sizeof(path), "%s%s%s%s%s", a, *a && *b ? "/" : "", b, *a || *b ? "/" : "", c);
	return n < PATH_SIZE ? open_dwo(s, path) : NULL;
}

/*
 * Tries the path of the compiler, then its name and its base name beside the main file, then the path of the
 * compiler below the debug directories.
 */
static struct split_file *search_dwo(struct dwo_search *s)
{
	const char *name = s->skeleton->dwo_name, *dir = s->files->dir, *slash = strrchr(name, '/');
	bool absolute = name[0] == '/';
	const char *comp = absolute ? "" : s->skeleton->comp_dir;
	struct split_file *file = absolute ? open_dwo(s, name) : open_joined(s, comp, "", name);
	if (!file && !absolute)
		file = open_joined(s, dir, "", name);
	if (!file && slash)
		file = open_joined(s, dir, "", slash + 1);
	for (const char *const *d = s->files->debug_dirs; d && *d && !file; d++)
		file = open_joined(s, *d, *comp == '/' ? comp + 1 : comp, absolute ? name + 1 : name);
	return file;
}

/* 0, -ENOENT, or -EBADMSG when the package is damaged where it has the unit, which is counted. */
static int take_from_package(struct split_files *files, uint64_t id, struct warnings *warnings,
			     struct split_file **ret)
{
	const struct dwp *dwp = package(files);
	struct split_file *file = dwp ? calloc(1, sizeof(*file)) : NULL;
	if (dwp && !file)
		memory_fault_note(files->opener, -ENOMEM);
	if (!file)
		return -ENOENT;
	int err = dwp_find(dwp, id, &file->dwarf, warnings);
	bool listed = !err;
	if (!err)
		err = dwarf_find_units(&file->dwarf, warnings);
	if (!err)
		err = index_ids(file, warnings);
	if (!memory_fault_note(files->opener, err) && find_id(file, id)) {
		*ret = file;
		return 0;
	}
	if (listed && !err)
		warning_count(warnings, WARN_SPLIT_PART, dwp->place[PART_INFO], 0);
	split_file_close(file);
	return listed ? -EBADMSG : err;
}

int split_find(struct split_files *files, const struct unit *skeleton, struct warnings *warnings,
	       struct split_file **ret)
{
	struct dwo_search search = {files, skeleton, warnings, false};
	*ret = NULL;
	int err = take_from_package(files, skeleton->dwo_id, warnings, ret);
	if (!err)
		return 0;
	*ret = search_dwo(&search);
	if (*ret)
		return 0;
	if (search.met_damage)
		warning_count(warnings, WARN_SPLIT_PART, skeleton->dwo_name, 0);
	return search.met_damage ? -EBADMSG : err;
}

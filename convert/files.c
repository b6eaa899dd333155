/*
 * files.c - the files of one conversion: the object file, its debug file, their alternate file, split units,
 * and separate symbols. They are found by debug_files.c and split.c.
 */
#include "convert/conversion.h"

#include "convert/dwarf/dwarf_stream.h"
#include "convert/companion/debug_files.h"
#include "convert/object/gsym_source.h"
#include "convert/object/object_open.h"
#include "convert/object/pdb/pdb.h"
#include "convert/object/source_format.h"
#include "gsym/base/diag.h"

#include <stdio.h>
#include <string.h>

/* Whether the ids allow @b to belong to @a; text symbols may have only the first 16 bytes of an id. */
static bool ids_agree(const struct object_file *a, const struct object_file *b)
{
	static const uint8_t zeros[IMAGE_ID_MAX];
	size_t common = b->id_is_truncated && a->id_size < b->id_size ? a->id_size : b->id_size;
	if (!a->id_size || !b->id_size)
		return true;
	if (!b->id_is_truncated && a->id_size != b->id_size)
		return false;
	return !memcmp(a->id, b->id, common) && !memcmp(b->id + common, zeros, b->id_size - common);
}

/* Opens a file that the caller named. It must exist, and have the architecture and build id of c->object. */
static int open_named(const struct conversion *c, const char *path, struct object_file **ret,
		      struct gsym_diag *diag)
{
	const struct object_pick pick = {.arch = c->object->arch};
	int err = path ? object_open_slice(path, &c->opener, &pick, ret, diag) : 0;
	const struct object_file *a = c->object, *b = *ret;
	if (!err && b && *b->arch && strcmp(a->arch, b->arch))
		return diag_set(diag, -EINVAL, "%s: its architecture is %s, that of %s is %s", path, b->arch,
				a->path, a->arch);
	if (err || !b)
		return err;
	if (!ids_agree(a, b))
		return diag_set(diag, -EINVAL, "%s: its build id is not that of %s", path, a->path);
	return a->format->check_debug ? a->format->check_debug(a, b, diag) : 0;
}

/* One that was found by its id may belong to another link: that is no reason to do without the symbols of the
 * program. */
static int open_debug(struct conversion *c, struct gsym_diag *diag)
{
	int err = open_named(c, c->options->debug_file, &c->debug, diag);
	bool other = c->debug && c->object->format->check_debug &&
		     c->object->format->check_debug(c->object, c->debug, &c->debug_trouble);
	if (!other || !c->options->debug_by_id)
		return err;
	object_close(TAKE(c->debug));
	return 0;
}

/* The file whose DWARF is read. */
static struct object_file *dwarf_object(const struct conversion *c)
{
	return c->debug && c->debug->format->functions != FUNCTIONS_CODEVIEW ? c->debug : c->object;
}

/* A damaged .gnu_debugdata is counted and ignored. */
static int open_mini(struct conversion *c)
{
	int err = open_debugdata(c->object, &c->mini);
	if (err && err != -ENOMEM)
		warning_count(&c->warnings, WARN_SECTION_DAMAGED, ".gnu_debugdata", 0);
	return err == -ENOMEM ? err : 0;
}

/* Its functions are added to those of DWARF, which some compilers write besides. */
static bool wants_pdb(const struct conversion *c)
{
	return !c->debug && !c->options->no_dwarf && !c->options->match_llvm;
}

/* A damaged one is counted and ignored, unless the caller named it. */
static int find_pdb(struct conversion *c)
{
	c->debug = wants_pdb(c) ? pdb_find(c->object, c->options->debug_dirs, &c->debug_trouble) : NULL;
	int err = c->debug ? pdb_load(c->debug, &c->debug_trouble) : 0;
	if (!err || err == -ENOMEM)
		return err;
	object_close(TAKE(c->debug));
	warning_count(&c->warnings, WARN_SECTION_DAMAGED, "PDB", 0);
	return 0;
}

/* Embedded GSYM is preferred to symbols alone, unless the caller named other files. */
static bool wants_embedded(const struct conversion *c)
{
	return !c->debug && !c->symtab && !c->listed && !c->options->no_dwarf &&
	       !object_section(c->object, ".debug_info");
}

/* Replaces text symbols by a debug file with DWARF, if one is found. */
static int prefer_dwarf(struct conversion *c)
{
	struct object_file *found = NULL;
	int err = find_debug_file(c->object, c->options->debug_dirs, &found, &c->debug_trouble);
	bool full = found && object_section(found, ".debug_info");
	object_close(full ? c->debug : found);
	if (full)
		c->debug = found;
	return err;
}

static bool has_debug_file(const struct object_file *object)
{
	return object->format->companion == COMPANION_DEBUG_FILE;
}

/* Whether to fetch the debug file: no debug data in any form was found. */
static bool wants_fetched(const struct conversion *c)
{
	return !c->options->no_dwarf && !c->object->gsym && has_debug_file(c->object) &&
	       (!c->debug || has_debug_file(c->debug)) && !object_section(dwarf_object(c), ".debug_info") &&
	       !object_section(c->object, ".debug_info");
}

static int fetch_debug(struct conversion *c)
{
	struct object_file *found = NULL;
	if (!wants_fetched(c))
		return 0;
	c->debug_fetched = fetch_debug_file(c->object, &found);
	if (!c->debug_fetched) {
		object_close(c->debug);
		c->debug = found;
	}
	return c->debug_fetched == -ENOMEM ? -ENOMEM : 0;
}

static int open_alternate(struct conversion *c)
{
	int err = find_alternate(dwarf_object(c), c->options->debug_dirs, &c->shared);
	if (err || c->shared || c->options->no_dwarf)
		return err;
	c->shared_fetched = fetch_alternate(dwarf_object(c), &c->shared);
	return c->shared_fetched == -ENOMEM ? -ENOMEM : 0;
}

static int load(struct object_file *object, struct gsym_diag *diag)
{
	return object && object->format->load ? object->format->load(object, diag) : 0;
}

static int open_files(struct conversion *c, struct gsym_diag *diag)
{
	const struct convert_options *o = c->options;
	c->debug_fetched = c->shared_fetched = -ENOSYS;
	int err = open_debug(c, diag);
	if (!err)
		err = open_named(c, o->symtab_file, &c->symtab, diag);
	if (err || c->object->format->companion == COMPANION_NONE)
		return err;
	if (o->dwarf_first && c->debug && c->debug->format->ranks_below_dwarf)
		err = prefer_dwarf(c);
	if (!err && !c->debug && !o->no_dwarf && !object_section(c->object, ".debug_info"))
		err = find_debug_file(c->object, o->debug_dirs, &c->debug, &c->debug_trouble);
	if (!err && !c->debug)
		err = find_pdb(c);
	if (!err && wants_embedded(c))
		err = gsym_source_embedded(c->object, &c->warnings);
	if (!err)
		err = fetch_debug(c);
	if (!err)
		err = open_alternate(c);
	return !err && !o->match_llvm ? open_mini(c) : err;
}

int conversion_open_files(struct conversion *c, struct gsym_diag *diag)
{
	int err = open_files(c, diag);
	if (!err)
		err = load(c->object, diag);
	return err ? err : load(c->debug, diag);
}

/* Symbols of all files that belong to the image. */
static int load_tables(struct conversion *c)
{
	struct object_file *sources[4];
	size_t n = 0;
	if (c->symtab)
		sources[n++] = c->symtab;
	else
		sources[n++] = c->object;
	if (c->debug && !c->symtab)
		sources[n++] = c->debug;
	if (c->mini && !c->symtab)
		sources[n++] = c->mini;
	return object_load_symbols(c->object, sources, n);
}

int conversion_load_near(struct conversion *c, const range_vec *near, symbol_vec *ret)
{
	c->object->near = near;
	int err = load_tables(c);
	if (!err)
		err = symtab_prepare(c->object, false, ret);
	object_forget_symbols(c->object);
	c->object->near = NULL;
	return err;
}

static bool is_for_debugging(const char *name)
{
	return !strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8) ||
	       !strncmp(name, ".gnu_debug", 10);
}

/* Debug data of @object that is lost with its section headers. */
static void count_lost(struct conversion *c, const struct object_file *object)
{
	for (size_t i = 0; i < object->sections.n; i++)
		if (object->sections.v[i].outside && is_for_debugging(object->sections.v[i].name))
			warning_count(&c->warnings, WARN_SECTION_OUTSIDE, object->sections.v[i].name, 0);
	if (object->unnamed)
		warning_count(&c->warnings, WARN_SECTION_NAMES, NULL, 0);
	if (object->misplaced)
		warning_count(&c->warnings, WARN_SECTION_PLACE, object->misplaced, 0);
	if (object->cut_command)
		warning_count(&c->warnings, WARN_LOAD_COMMAND, "load commands", object->cut_command);
}

int conversion_load_symbols(struct conversion *c)
{
	int err = load_tables(c);
	if (c->object->symbols_damaged)
		warning_count(&c->warnings, WARN_SYMBOL_TABLE, ".symtab", 0);
	count_lost(c, c->object);
	if (c->debug)
		count_lost(c, c->debug);
	const struct damaged_entries *bounds = &c->object->damaged_bounds;
	warning_count_all(&c->warnings, WARN_BOUNDS, bounds->n, bounds->section, bounds->off);
	if (c->object->exports_cut)
		warning_count(&c->warnings, WARN_EXPORTS, "exports", 0);
	if (c->object->names_exceeded)
		warning_count(&c->warnings, WARN_NAMES, ".symtab", 0);
	if (!err && !c->options->match_llvm)
		err = object_load_plt(c->object, c->symtab);
	return err ? err : symtab_prepare(c->object, c->options->match_llvm, &c->symbols);
}

int conversion_load_dwarf(struct conversion *c)
{
	if (c->options->details) /* units are read in any order */
		return dwarf_open(&c->dwarf, dwarf_object(c), false, c->threads, &c->warnings);
	return dwarf_stream_load(&c->dwarf, dwarf_object(c), c->threads, &c->warnings);
}

int conversion_open_dwarf(struct conversion *c)
{
	struct object_file *object = dwarf_object(c);
	int err = 0;
	if (c->shared)
		err = dwarf_open(&c->alternate, c->shared, false, c->threads, &c->warnings);
	if (!err && c->shared)
		c->dwarf.alternate = &c->alternate;
	if (!err && !c->dwarf.n_units && object->format->companion == COMPANION_DSYM)
		err = debug_map_read(object, &c->map);
	return err ? err : split_open(c->object, object, c->options->debug_dirs, &c->split);
}

void conversion_close_files(struct conversion *c)
{
	split_close(c->split);
	debug_map_free(&c->map);
	dwarf_close(&c->dwarf);
	dwarf_close(&c->alternate);
	object_close(c->symtab);
	object_close(c->mini);
	object_close(c->shared);
	object_close(c->debug);
	object_close(c->object);
}

/* ---- Files not found ---- */

enum { MISSING_MAX = 64 }; /* names listed; there may be thousands */

/* Several units may lack one file. */
static bool is_listed(const struct convert_summary *summary, const char *name)
{
	for (size_t at = 0; at < summary->missing_size; at += strlen(summary->missing + at) + 1)
		if (!strcmp(summary->missing + at, name))
			return true;
	return false;
}

/* @why: "" or " (reason)" */
static int add_missing(struct convert_summary *summary, unsigned *n, const char *name, const char *why)
{
	if (*n >= MISSING_MAX || is_listed(summary, name))
		return 0;
	if (++*n == MISSING_MAX)
		name = "...";
	size_t size = strlen(name) + strlen(why) + 1;
	char *longer = realloc(summary->missing, summary->missing_size + size);
	if (!longer)
		return -ENOMEM;
	stpcpy(stpcpy(longer + summary->missing_size, name), why);
	summary->missing = longer;
	summary->missing_size += size;
	return 0;
}

/* @fetched: the result of fetching it, -ENOSYS: not tried. */
static int add_fetched(struct convert_summary *summary, unsigned *n, const char *name, int fetched)
{
	char why[64] = "";
	if (fetched != -ENOSYS)
		snprintf(why, sizeof(why), " (debuginfod: %s)",
			 fetched == -ENOENT ? "no server has it" : strerror(-fetched));
	return add_missing(summary, n, name, why);
}

/* The debug file, and why one that was found is not used. */
static int add_debug_file(struct conversion *c, struct convert_summary *summary, unsigned *n)
{
	char name[256], why[sizeof(c->debug_trouble.text) + 4];
	if (!c->debug && *c->debug_trouble.text && debug_file_name(c->object, name, sizeof(name))) {
		snprintf(why, sizeof(why), " (%s)", c->debug_trouble.text);
		return add_missing(summary, n, name, why);
	}
	if (!conversion_lacks_debug_file(c, name, sizeof(name)))
		return 0;
	return add_fetched(summary, n, name, c->debug_fetched);
}

bool conversion_lacks_debug_file(const struct conversion *c, char *ret, size_t size)
{
	enum companion companion = c->object->format->companion;
	return companion != COMPANION_NONE && companion != COMPANION_DSYM && !c->object->gsym &&
	       (!c->debug || c->debug_fetched != -ENOSYS) && !c->options->no_dwarf && !c->dwarf.n_units &&
	       !c->map.objects.n && debug_file_name(c->object, ret, size);
}

int conversion_list_missing(struct conversion *c, struct convert_summary *summary)
{
	unsigned n = 0;
	const char *alternate = c->dwarf.object && !c->shared ? alternate_name(c->dwarf.object) : NULL;
	int err = add_debug_file(c, summary, &n);
	if (!err && alternate)
		err = add_fetched(summary, &n, alternate, c->shared_fetched);
	for (size_t i = 0; i < c->map.objects.n && !err; i++)
		if (c->map.objects.v[i].trouble)
			err = add_missing(summary, &n, c->map.objects.v[i].trouble, "");
	for (size_t i = 0; c->results && i < c->dwarf.n_units && !err; i++)
		if (c->results[i].missing)
			err = add_missing(summary, &n, c->results[i].missing, "");
	return err;
}

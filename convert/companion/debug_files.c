/*
 * debug_files.c - where companions of an object file are searched for, in this order: by build id below the
 * debug directories, by .gnu_debuglink beside the file, in .debug/ and below the debug directories, and by
 * the path of a kernel module below the debug directories, without the ending that tells how the module is
 * compressed. Each may be compressed and then has such an ending (packed_name.h). The first candidate with
 * DWARF ends the search; one without is kept as a fallback for its symbols. Mach-O files have a dSYM instead.
 */
#include "convert/companion/debug_files.h"

#include "convert/object/compressed_file.h"
#include "convert/object/object_open.h"
#include "convert/object/source_format.h"
#include "gsym/base/ascii.h"
#include "gsym/base/cursor.h"
#include "gsym/base/diag.h"
#include "work/types/machine_fault.h"
#include "work/types/packed_name.h"

#include <libdeflate.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

/* ---- Paths ---- */

/* "/dir" of "/dir/file". */
static void dir_of(const char *path, char *ret, size_t size)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		snprintf(ret, size, ".");
	else
		snprintf(ret, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

/* Opens "dir sub/name" the way @from was opened; @packed: it may be compressed. */
static struct object_file *open_at(const struct object_file *from, const char *dir, const char *sub,
				   const char *name, bool packed)
{
	char path[PATH_SIZE];
	struct object_file *object = NULL;
	if (snprintf(path, sizeof(path), "%s%s/%s", dir, sub, name) >= PATH_SIZE)
		return NULL;
	int err = packed ? object_open_packed(path, from->opener, &object)
			 : object_open(path, from->opener, &object, NULL);
	return err ? NULL : object;
}

static bool same_id(const struct object_file *object, const uint8_t *id, size_t size)
{
	return object->id_size == size && size && !memcmp(object->id, id, size);
}

static struct object_file *keep_if(struct object_file *object, bool good)
{
	if (good)
		return object;
	object_close(object);
	return NULL;
}

enum { ID_NAME_SIZE = 2 * IMAGE_ID_MAX + 32 };

/* .build-id/xx/yyyy.debug */
static bool id_name(const uint8_t *id, size_t size, char name[static ID_NAME_SIZE])
{
	if (size < 2 || size > IMAGE_ID_MAX)
		return false;
	char rest[2 * IMAGE_ID_MAX + 1];
	hex_write(rest, id + 1, size - 1);
	snprintf(name, ID_NAME_SIZE, ".build-id/%02x/%s.debug", id[0], rest);
	return true;
}

static struct object_file *open_by_id(const struct object_file *from, const char *dir, const uint8_t *id,
				      size_t size)
{
	char name[ID_NAME_SIZE];
	if (!id_name(id, size, name))
		return NULL;
	struct object_file *object = open_at(from, dir, "", name, true);
	return object ? keep_if(object, same_id(object, id, size)) : NULL;
}

/* A section that names a file; a damaged one names none. */
static int load_link(const struct object_file *object, struct object_section *section)
{
	return memory_fault_note(object->opener, section_load(section));
}

/* ---- The debug file ---- */

struct debuglink {
	const char *name;
	uint32_t crc;
};

/* .gnu_debuglink: a name, zeros up to a multiple of four, the file's CRC-32. */
static bool read_debuglink(struct object_file *object, struct debuglink *ret)
{
	struct object_section *s = object_section(object, ".gnu_debuglink");
	if (!s || load_link(object, s))
		return false;
	struct cursor c = cursor_new(s->data.data, s->data.size, object->big_endian);
	ret->name = cursor_str(&c);
	cursor_seek(&c, (cursor_off(&c) + 3) & ~(uint64_t)3);
	ret->crc = cursor_u32(&c);
	return cursor_ok(&c) && *ret->name && !strchr(ret->name, '/');
}

/* Build ids on both sides are compared instead of the CRC, which takes reading the whole file. */
static bool is_linked(const struct object_file *object, const struct object_file *debug, uint32_t crc)
{
	if (object->id_size && debug->id_size)
		return same_id(debug, object->id, object->id_size);
	return libdeflate_crc32(0, debug->map, debug->map_size) == crc;
}

/* The path of @object, without the ending of a compressed one: "dir/module.ko" of "dir/module.ko.xz". */
static void content_path(const struct object_file *object, char ret[static PATH_SIZE])
{
	size_t size = object->inflated.size ? unpacked_size(object->path) : strlen(object->path);
	snprintf(ret, PATH_SIZE, "%.*s", (int)size, object->path);
}

static struct object_file *open_linked(const struct object_file *object, const char *dir, const char *sub,
				       const struct debuglink *link)
{
	char own[PATH_SIZE];
	struct object_file *debug = open_at(object, dir, sub, link->name, true);
	/* A link may name the file it is in: then there is no debug file in this directory. */
	content_path(object, own);
	return debug ? keep_if(debug, strcmp(debug->path, own) != 0 && is_linked(object, debug, link->crc))
		     : NULL;
}

/*
 * Debian's debug files of kernel modules have the path of the module below a debug directory. A module may be
 * opened as /usr/lib/modules/... but was packaged as /lib/modules/...
 */
static struct object_file *open_namesake(const struct object_file *object, const char *debug_dir,
					 const char *dir)
{
	static const char usr[] = "/usr", usr_lib[] = "/usr/lib/";
	char path[PATH_SIZE];
	content_path(object, path);
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	bool merged = strncmp(dir, usr_lib, sizeof(usr_lib) - 1) == 0;
	for (unsigned i = 0; i < 1U + merged; i++) {
		struct object_file *debug =
			open_at(object, debug_dir, i ? dir + sizeof(usr) - 1 : dir, name, true);
		if (debug)
			debug = keep_if(debug, same_id(debug, object->id, object->id_size) &&
						       object_section(debug, ".debug_info"));
		if (debug)
			return debug;
	}
	return NULL;
}

/* ---- dSYM bundles of Mach-O files ---- */

enum { BUNDLE_LEVELS = 4 /* X.framework/Versions/A/X */ };

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* The file in @bundle, if it is there and has the UUID of @object; else, if it is there, @trouble is set. */
static struct object_file *open_bundle(const struct object_file *object, const char *bundle,
				       struct gsym_diag *trouble)
{
	char path[PATH_SIZE];
	struct object_file *found = NULL;
	struct object_pick pick = {.id = object->id, .id_size = object->id_size};
	if (snprintf(path, sizeof(path), "%s.dSYM/Contents/Resources/DWARF/%s", bundle,
		     base_of(object->path)) >= PATH_SIZE)
		return NULL;
	int err = object_open_slice(path, object->opener, &pick, &found, NULL);
	if (!err)
		found = keep_if(found, same_id(found, object->id, object->id_size));
	if (!found && (!err || err == -ENOEXEC))
		diag_set(trouble, -EINVAL, "its UUID is that of another build");
	return found;
}

/* The slice with the UUID of @object in a bundle beside it ("X.dSYM" of "X", "X.app.dSYM" of "X.app/X"), or
 * in one of @dirs. */
static struct object_file *find_dsym(const struct object_file *object, const char *const *dirs,
				     struct gsym_diag *trouble)
{
	char path[PATH_SIZE];
	struct object_file *found = NULL;
	if (!object->id_size || snprintf(path, sizeof(path), "%s", object->path) >= PATH_SIZE)
		return NULL;
	for (int level = 0; level < BUNDLE_LEVELS && !found && *path; level++) {
		found = open_bundle(object, path, trouble);
		char *slash = strrchr(path, '/');
		*(slash ? slash : path) = 0;
	}
	for (const char *const *d = dirs; d && *d && !found; d++)
		if (snprintf(path, sizeof(path), "%s/%s", *d, base_of(object->path)) < PATH_SIZE)
			found = open_bundle(object, path, trouble);
	return found;
}

/* ---- The search ---- */

/* Whether @found ends the search: it does if it has DWARF; otherwise it is kept as *best if that is NULL.
 * @found may be NULL. */
static bool settles(struct object_file *found, struct object_file **best)
{
	bool full = found && object_section(found, ".debug_info");
	if (!found || (*best && !full)) {
		object_close(found);
		return false;
	}
	object_close(*best);
	*best = found;
	return full;
}

static bool find_by_id(const struct object_file *object, const char *const *dirs, struct object_file **best)
{
	for (const char *const *d = dirs; d && *d; d++)
		if (settles(open_by_id(object, *d, object->id, object->id_size), best))
			return true;
	return false;
}

static bool find_by_link(const struct object_file *object, const char *dir, const char *const *dirs,
			 struct object_file **best)
{
	struct debuglink link;
	if (!read_debuglink((struct object_file *)object, &link))
		return false;
	if (settles(open_linked(object, dir, "", &link), best) ||
	    settles(open_linked(object, dir, "/.debug", &link), best))
		return true;
	for (const char *const *d = dirs; d && *d; d++)
		if (settles(open_linked(object, *d, dir, &link), best))
			return true;
	return false;
}

static bool find_namesake(const struct object_file *object, const char *dir, const char *const *dirs,
			  struct object_file **best)
{
	for (const char *const *d = dirs; d && *d && dir[0] == '/'; d++)
		if (settles(open_namesake(object, *d, dir), best))
			return true;
	return false;
}

int find_debug_file(const struct object_file *object, const char *const *dirs, struct object_file **ret,
		    struct gsym_diag *trouble)
{
	char dir[PATH_SIZE];
	bool has_id = object->id_size;
	bool bundled = object->format->companion == COMPANION_DSYM;
	*ret = bundled ? find_dsym(object, dirs, trouble) : NULL;
	if (bundled || (has_id && find_by_id(object, dirs, ret)))
		return 0;
	/* Absolute unless an opener hides the file system. */
	bool hidden = object->opener && object->opener->open;
	CLEANUP(freep) char *path = hidden ? NULL : realpath(object->path, NULL);
	dir_of(object->path[0] == '/' || !path ? object->path : path, dir, PATH_SIZE);
	if (!find_by_link(object, dir, dirs, ret) && has_id)
		find_namesake(object, dir, dirs, ret);
	return 0;
}

/* ---- Fetched files ---- */

static int fetch_by_id(const struct object_file *from, const uint8_t *id, size_t size,
		       struct object_file **ret)
{
	const struct convert_opener *opener = from->opener;
	*ret = NULL;
	if (!opener || !opener->fetch || size < 2 || size > IMAGE_ID_MAX)
		return -ENOSYS;
	int fd = opener->fetch(opener->user, id, size);
	if (fd < 0)
		return fd;
	int err = object_open_descriptor(fd, "debuginfod", opener, ret, NULL);
	close(fd);
	return err && err != -ENOMEM ? -EBADMSG : err;
}

/* @err, or -EBADMSG and no file when the one fetched is not @good. */
static int checked_fetch(int err, bool good, struct object_file **ret)
{
	if (err || good)
		return err;
	object_close(*ret);
	*ret = NULL;
	return -EBADMSG;
}

int fetch_debug_file(const struct object_file *object, struct object_file **ret)
{
	int err = fetch_by_id(object, object->id, object->id_size, ret);
	return checked_fetch(err,
			     !err && same_id(*ret, object->id, object->id_size) &&
				     object_section(*ret, ".debug_info"),
			     ret);
}

bool debug_link_name(struct object_file *object, char *ret, size_t size)
{
	struct debuglink link;
	return read_debuglink(object, &link) && (size_t)snprintf(ret, size, "%s", link.name) < size;
}

bool debug_file_name(struct object_file *object, char *ret, size_t size)
{
	struct debuglink link;
	char name[ID_NAME_SIZE];
	if (object->format->companion == COMPANION_DSYM) {
		snprintf(ret, size, "%s.dSYM", base_of(object->path));
		return true;
	}
	bool linked = read_debuglink(object, &link);
	if (!linked && pdb_store_name(object, ret, size))
		return true;
	if (!linked && !id_name(object->id, object->id_size, name))
		return false;
	snprintf(ret, size, "%s", linked ? link.name : name);
	return true;
}

/* ---- The alternate file ---- */

struct altlink {
	const char *name;
	const uint8_t *id;
	size_t id_size;
};

/* .gnu_debugaltlink: a name and the build id. .debug_sup (DWARF 5, 7.3.6): version, flag, name, checksum. */
static bool read_altlink(struct object_file *object, struct altlink *ret)
{
	struct object_section *s = object_section(object, ".gnu_debugaltlink"),
			      *sup = object_section(object, ".debug_sup");
	if (!s && !sup)
		return false;
	s = s ? s : sup;
	if (load_link(object, s))
		return false;
	struct cursor c = cursor_new(s->data.data, s->data.size, object->big_endian);
	bool is_sup = s == sup && (cursor_skip(&c, 2), cursor_u8(&c) != 0);
	ret->name = cursor_str(&c);
	uint64_t size = s == sup ? cursor_uleb(&c) : cursor_left(&c);
	ret->id = cursor_take(&c, size);
	ret->id_size = (size_t)size;
	return cursor_ok(&c) && !is_sup && *ret->name && ret->id_size;
}

const char *alternate_name(struct object_file *object)
{
	struct altlink link;
	return read_altlink(object, &link) ? link.name : NULL;
}

/* Whether @object has the build id of @link, or the checksum in its own .debug_sup. */
static bool is_alternate(struct object_file *object, const struct altlink *link)
{
	struct object_section *s = object_section(object, ".debug_sup");
	if (same_id(object, link->id, link->id_size))
		return true;
	if (!s || load_link(object, s))
		return false;
	struct cursor c = cursor_new(s->data.data, s->data.size, object->big_endian);
	cursor_skip(&c, 3);
	(void)cursor_str(&c);
	uint64_t size = cursor_uleb(&c);
	const uint8_t *id = cursor_take(&c, size);
	return id && size == link->id_size && !memcmp(id, link->id, size);
}

static struct object_file *checked_alternate(struct object_file *object, const struct altlink *link)
{
	return object ? keep_if(object, is_alternate(object, link)) : NULL;
}

int find_alternate(struct object_file *object, const char *const *dirs, struct object_file **ret)
{
	char dir[PATH_SIZE];
	struct altlink link;
	*ret = NULL;
	if (!read_altlink(object, &link))
		return 0;
	dir_of(object->path, dir, sizeof(dir));
	struct object_file *found = NULL;
	if (link.name[0] == '/')
		(void)object_open(link.name, object->opener, &found, NULL);
	else
		found = open_at(object, dir, "", link.name, false);
	found = checked_alternate(found, &link);
	const char *last = strrchr(link.name, '/');
	if (!found)
		found = checked_alternate(open_at(object, dir, "", last ? last + 1 : link.name, false),
					  &link);
	for (const char *const *d = dirs; d && *d && !found; d++) {
		found = open_by_id(object, *d, link.id, link.id_size);
		if (!found)
			found = checked_alternate(
				open_at(object, *d, "/.dwz", last ? last + 1 : link.name, false), &link);
	}
	*ret = found;
	return 0;
}

int fetch_alternate(struct object_file *object, struct object_file **ret)
{
	struct altlink link;
	*ret = NULL;
	if (!read_altlink(object, &link))
		return -ENOSYS;
	int err = fetch_by_id(object, link.id, link.id_size, ret);
	return checked_fetch(err, !err && is_alternate(*ret, &link), ret);
}

/* ---- Symbols in .gnu_debugdata (MiniDebugInfo) ---- */

/* An xz-compressed ELF file with only a symbol table, which distributions leave in stripped programs. */

enum { DEBUGDATA_MAX = 256 << 20 /* bytes; real ones have a few megabytes */ };

int open_debugdata(struct object_file *object, struct object_file **ret)
{
	struct object_section *s = object_section(object, ".gnu_debugdata");
	struct span inflated;
	*ret = NULL;
	int err = s ? section_load(s) : 0;
	if (!s || err)
		return err;
	err = compressed_file_inflate(s->data, NULL, DEBUGDATA_MAX, &inflated);
	if (err)
		return err;
	err = object_open_memory(inflated.data, inflated.size, ".gnu_debugdata", ret, NULL);
	if (err)
		munmap((void *)(uintptr_t)inflated.data, inflated.size);
	else
		(*ret)->inflated = inflated;
	return err;
}

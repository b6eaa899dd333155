/*
 * object_file.c - opening object files of any format, and what all formats share.
 */
#include "convert/object/object_file.h"

#include "convert/object/archive.h"
#include "convert/breakpad/breakpad.h"
#include "convert/object/elf_object.h"
#include "convert/object/gsym_source.h"
#include "convert/object/macho.h"
#include "gsym/base/diag.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IMAGE_MIN_SIZE = 16 /* of anything that could be an object file */ };

/* ---- Opening ---- */

static int map_descriptor(struct object_file *object, int fd, struct gsym_diag *diag)
{
	struct stat st;
	if (fstat(fd, &st))
		return diag_set(diag, -errno, "%s: cannot stat: %s", object->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return diag_set(diag, -ENOEXEC, "%s: not a regular file", object->path);
	if (st.st_size < IMAGE_MIN_SIZE)
		return diag_set(diag, -ENOEXEC, "%s: too short for an object file: %lld bytes", object->path,
				(long long)st.st_size);
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return diag_set(diag, -errno, "%s: cannot map: %s", object->path, strerror(errno));
	object->file = (struct span){map, (size_t)st.st_size};
	object->mtime = (uint64_t)st.st_mtim.tv_sec;
	object->mapped = true;
	return 0;
}

/*
 * Paths may come from a hostile file (.gnu_debugaltlink, DW_AT_dwo_name), and opening a device can do things.
 * O_NONBLOCK: nor must a fifo hold us up that takes the file's place in between.
 */
static int open_regular(const char *path)
{
	struct stat st;
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return -ENOEXEC;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int object_map(struct object_file *object, struct gsym_diag *diag)
{
	const struct convert_opener *opener = object->opener;
	int fd = opener ? opener->open(opener->user, object->path) : open_regular(object->path);
	if (fd == -ENOEXEC)
		return diag_set(diag, fd, "%s: not a regular file", object->path);
	if (fd < 0)
		return diag_set(diag, fd, "%s: cannot open: %s", object->path, strerror(-fd));
	int err = map_descriptor(object, fd, diag);
	close(fd);
	return err;
}

/* ---- Formats ---- */

/* What a file that is no ELF file seems to be compressed with, or NULL. Distributions compress kernel
 * modules. */
static const char *compressor(const struct object_file *object)
{
	static const struct {
		uint8_t magic[6];
		uint8_t size;
		const char *name;
	} known[] = {
		{{0xfd, '7', 'z', 'X', 'Z', 0}, 6, "xz"},
		{{0x28, 0xb5, 0x2f, 0xfd}, 4, "zstd"},
		{{0x1f, 0x8b, 8}, 3, "gzip"},
		{{'B', 'Z', 'h'}, 3, "bzip2"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (object->map_size >= sizeof(known[i].magic) &&
		    !memcmp(object->map, known[i].magic, known[i].size))
			return known[i].name;
	return NULL;
}

static int no_object(const struct object_file *object, struct gsym_diag *diag)
{
	const char *name = compressor(object);
	if (!name)
		return diag_set(diag, -ENOEXEC, "%s: not an object file", object->path);
	return diag_set(diag, -ENOEXEC, "%s: compressed with %s: decompress it first", object->path, name);
}

static void select_slice(struct object_file *object, const struct macho_slice *slice)
{
	object->map = object->file.data + slice->off;
	object->map_size = slice->size;
}

/* Forgets what reading one slice has brought. */
static void forget_slice(struct object_file *object)
{
	macho_free(object->macho);
	object->macho = NULL;
	object->sections.n = object->segments.n = object->text.n = 0;
	object->id_size = 0;
	object->has_base = false;
}

static bool is_picked(const struct object_file *object, const struct object_pick *pick)
{
	return !pick || !pick->id_size ||
	       (pick->id_size == object->id_size && !memcmp(pick->id, object->id, pick->id_size));
}

static int no_slice(const struct object_file *object, const struct macho_slice *slices, size_t n,
		    const struct object_pick *pick, struct gsym_diag *diag)
{
	char list[SLICES_MAX * 18] = "";
	for (size_t i = 0; i < n; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 slices[i].arch);
	if (pick && pick->arch)
		return diag_set(diag, -ENOEXEC, "%s: holds images for %s, none for %s", object->path, list,
				pick->arch);
	return diag_set(diag, -ENOEXEC, "%s: holds images for %s: choose one of them", object->path, list);
}

/* Reads the one slice that is wanted, or the only one. */
static int fat_read(struct object_file *object, const struct macho_slice *slices, size_t n,
		    const struct object_pick *pick, struct gsym_diag *diag)
{
	bool any = n == 1 || (pick && (pick->arch || pick->id_size));
	for (size_t i = 0; i < n && any; i++) {
		if (pick && pick->arch && strcmp(pick->arch, slices[i].arch))
			continue;
		select_slice(object, &slices[i]);
		int err = macho_read(object, diag);
		if (!err && is_picked(object, pick))
			return 0;
		if (err && (!pick || !pick->id_size || err == -ENOMEM))
			return err;
		forget_slice(object);
	}
	return no_slice(object, slices, n, pick, diag);
}

/* Everything after the bytes are there. */
static int object_read(struct object_file *object, const struct object_pick *pick, struct gsym_diag *diag)
{
	struct macho_slice slices[SLICES_MAX];
	object->map = object->file.data;
	object->map_size = object->file.size;
	if (elf_is_elf(object->file))
		return elf_read(object, diag);
	if (macho_is_thin(object->file))
		return macho_read(object, diag);
	if (breakpad_is_breakpad(object->file))
		return breakpad_read(object, diag);
	if (gsym_is_gsym(object->file))
		return gsym_source_read(object, diag);
	size_t n = macho_slices(object->file, slices, SLICES_MAX);
	return n ? fat_read(object, slices, n, pick, diag) : no_object(object, diag);
}

/* ---- Life ---- */

int object_open(const char *path, const struct convert_opener *opener, struct object_file **ret,
		struct gsym_diag *diag)
{
	return object_open_slice(path, opener, NULL, ret, diag);
}

int object_open_slice(const char *path, const struct convert_opener *opener, const struct object_pick *pick,
		      struct object_file **ret, struct gsym_diag *diag)
{
	CLEANUP(object_closep) struct object_file *object = calloc(1, sizeof(*object));
	if (!object || !(object->path = strdup(path)))
		return diag_set(diag, -ENOMEM, "%s: out of memory", path);
	object->opener = opener;
	int err = object_map(object, diag);
	if (!err)
		err = object_read(object, pick, diag);
	if (!err)
		*ret = TAKE(object);
	return err;
}

/* "dir/lib.a(x.o)": cuts it after the library and returns the member's name; NULL when it is no such path. */
static char *cut_member(char *path)
{
	size_t n = strlen(path);
	char *open = n && path[n - 1] == ')' ? strrchr(path, '(') : NULL;
	if (!open)
		return NULL;
	path[n - 1] = *open = 0;
	return open + 1;
}

static int read_object(struct object_file *object, const char *member, const char *arch, uint64_t mtime,
		       struct gsym_diag *diag)
{
	const struct object_pick pick = {.arch = arch};
	struct span bytes;
	if (!member)
		return mtime && object->mtime != mtime ? -ESTALE : object_read(object, &pick, diag);
	if (!archive_find(macho_part_for(object->file, arch), member, mtime, &bytes) || !macho_is_thin(bytes))
		return diag_set(diag, -ENOENT, "%s: has no object '%s'", object->path, member);
	object->map = bytes.data;
	object->map_size = bytes.size;
	return macho_read(object, diag);
}

int object_open_object(const char *path, const struct convert_opener *opener, const char *arch,
		       uint64_t mtime, struct object_file **ret, struct gsym_diag *diag)
{
	CLEANUP(object_closep) struct object_file *object = calloc(1, sizeof(*object));
	if (!object || !(object->path = strdup(path)))
		return diag_set(diag, -ENOMEM, "%s: out of memory", path);
	const char *member = cut_member(object->path);
	object->opener = opener;
	int err = object_map(object, diag);
	if (!err)
		err = read_object(object, member, arch, mtime, diag);
	if (!err && (!object->macho || strcmp(object->arch, arch)))
		err = diag_set(diag, -ENOEXEC, "%s: no object for %s", path, arch);
	if (!err)
		*ret = TAKE(object);
	return err;
}

int object_open_descriptor(int fd, const char *name, const struct convert_opener *opener,
			   struct object_file **ret, struct gsym_diag *diag)
{
	CLEANUP(object_closep) struct object_file *object = calloc(1, sizeof(*object));
	if (!object || !(object->path = strdup(name)))
		return diag_set(diag, -ENOMEM, "%s: out of memory", name);
	object->opener = opener;
	int err = map_descriptor(object, fd, diag);
	if (!err)
		err = object_read(object, NULL, diag);
	if (!err)
		*ret = TAKE(object);
	return err;
}

static int each_slice(struct object_file *object, int (*each)(void *user, struct object_file *object),
		      void *user, struct gsym_diag *diag)
{
	struct macho_slice slices[SLICES_MAX];
	size_t n = macho_slices(object->file, slices, SLICES_MAX);
	int err = n ? 0 : object_read(object, NULL, diag);
	if (!n && !err)
		return each(user, object);
	for (size_t i = 0; i < n && !err; i++) {
		select_slice(object, &slices[i]);
		err = macho_read(object, diag);
		if (!err)
			err = each(user, object);
		else if (err == -EBADMSG)
			err = 0;
		forget_slice(object);
	}
	return err;
}

int object_each(int fd, const char *name, int (*each)(void *user, struct object_file *object), void *user,
		struct gsym_diag *diag)
{
	CLEANUP(object_closep) struct object_file *object = calloc(1, sizeof(*object));
	if (!object || !(object->path = strdup(name)))
		return diag_set(diag, -ENOMEM, "%s: out of memory", name);
	int err = map_descriptor(object, fd, diag);
	if (err)
		return err;
	return each_slice(object, each, user, diag);
}

int object_open_memory(const void *data, size_t size, const char *name, struct object_file **ret,
		       struct gsym_diag *diag)
{
	CLEANUP(object_closep) struct object_file *object = calloc(1, sizeof(*object));
	if (!object || !(object->path = strdup(name)))
		return diag_set(diag, -ENOMEM, "%s: out of memory", name);
	object->file = (struct span){data, size};
	int err = object_read(object, NULL, diag);
	if (!err)
		*ret = TAKE(object);
	return err;
}

void object_close(struct object_file *object)
{
	if (!object)
		return;
	for (size_t i = 0; i < object->sections.n; i++)
		if (object->sections.v[i].owned)
			munmap((void *)(uintptr_t)object->sections.v[i].data.data,
			       object->sections.v[i].data.size);
	vec_free(&object->segments);
	vec_free(&object->sections);
	vec_free(&object->symbols);
	vec_free(&object->text);
	elf_close(object);
	macho_free(object->macho);
	gsym_reader_close(object->gsym);
	arena_free(&object->names);
	if (object->mapped)
		munmap((void *)(uintptr_t)object->file.data, object->file.size);
	free(object->owned);
	free(object->path);
	free(object);
}

void object_closep(struct object_file **object)
{
	object_close(*object);
}

/* ---- What formats share ---- */

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
		/* A group's section is a type unit, or debug data of one function: not the unit's own. */
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

/* The older way of GNU tools, and of Apple's: name ".zdebug_", content "ZLIB" and the size in eight bytes,
 * big-endian. */
void section_read_zdebug(struct object_section *s)
{
	if (s->raw.size < 12 || strncmp(s->name, ".zdebug_", 8) || memcmp(s->raw.data, "ZLIB", 4))
		return;
	s->full_size = load64(s->raw.data + 4, true);
	s->compression = COMPRESSION_ZLIB;
	s->raw.data += 12;
	s->raw.size -= 12;
}

int object_load_symbols(struct object_file *object, struct object_file *const *sources, size_t n_sources)
{
	if (object->macho)
		return macho_load_symbols(object, sources, n_sources);
	return elf_load_symbols(object, sources, n_sources);
}

bool object_has_symbols(struct object_file *object)
{
	return object->macho ? object->macho->symbols.size != 0 : object_section(object, ".symtab") != NULL;
}

bool object_has_code(const struct object_file *object)
{
	for (size_t i = 0; i < object->sections.n; i++)
		if (object->sections.v[i].code && object->sections.v[i].raw.size)
			return true;
	return false;
}

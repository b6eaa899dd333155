/*
 * object_file.c - opening object files of any format, and what all formats share.
 */
#include "convert/object/object_file.h"

#include "convert/object/archive.h"
#include "convert/breakpad/breakpad.h"
#include "convert/object/elf_image.h"
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

static int map_descriptor(struct image *image, int fd, struct gsym_diag *diag)
{
	struct stat st;
	if (fstat(fd, &st))
		return diag_set(diag, -errno, "%s: cannot stat: %s", image->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return diag_set(diag, -ENOEXEC, "%s: not a regular file", image->path);
	if (st.st_size < IMAGE_MIN_SIZE)
		return diag_set(diag, -ENOEXEC, "%s: too short for an object file: %lld bytes", image->path,
				(long long)st.st_size);
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return diag_set(diag, -errno, "%s: cannot map: %s", image->path, strerror(errno));
	image->file = (struct span){map, (size_t)st.st_size};
	image->mtime = (uint64_t)st.st_mtim.tv_sec;
	image->mapped = true;
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

static int image_map(struct image *image, struct gsym_diag *diag)
{
	const struct convert_opener *opener = image->opener;
	int fd = opener ? opener->open(opener->user, image->path) : open_regular(image->path);
	if (fd == -ENOEXEC)
		return diag_set(diag, fd, "%s: not a regular file", image->path);
	if (fd < 0)
		return diag_set(diag, fd, "%s: cannot open: %s", image->path, strerror(-fd));
	int err = map_descriptor(image, fd, diag);
	close(fd);
	return err;
}

/* ---- Formats ---- */

/* What a file that is no ELF file seems to be compressed with, or NULL. Distributions compress kernel
 * modules. */
static const char *compressor(const struct image *image)
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
		if (image->map_size >= sizeof(known[i].magic) &&
		    !memcmp(image->map, known[i].magic, known[i].size))
			return known[i].name;
	return NULL;
}

static int no_object(const struct image *image, struct gsym_diag *diag)
{
	const char *name = compressor(image);
	if (!name)
		return diag_set(diag, -ENOEXEC, "%s: not an object file", image->path);
	return diag_set(diag, -ENOEXEC, "%s: compressed with %s: decompress it first", image->path, name);
}

static void select_slice(struct image *image, const struct macho_slice *slice)
{
	image->map = image->file.data + slice->off;
	image->map_size = slice->size;
}

/* Forgets what reading one slice has brought. */
static void forget_slice(struct image *image)
{
	macho_free(image->macho);
	image->macho = NULL;
	image->sections.n = image->segments.n = image->text.n = 0;
	image->id_size = 0;
	image->has_base = false;
}

static bool is_picked(const struct image *image, const struct image_pick *pick)
{
	return !pick || !pick->id_size ||
	       (pick->id_size == image->id_size && !memcmp(pick->id, image->id, pick->id_size));
}

static int no_slice(const struct image *image, const struct macho_slice *slices, size_t n,
		    const struct image_pick *pick, struct gsym_diag *diag)
{
	char list[SLICES_MAX * 18] = "";
	for (size_t i = 0; i < n; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 slices[i].arch);
	if (pick && pick->arch)
		return diag_set(diag, -ENOEXEC, "%s: holds images for %s, none for %s", image->path, list,
				pick->arch);
	return diag_set(diag, -ENOEXEC, "%s: holds images for %s: choose one of them", image->path, list);
}

/* Reads the one slice that is wanted, or the only one. */
static int fat_read(struct image *image, const struct macho_slice *slices, size_t n,
		    const struct image_pick *pick, struct gsym_diag *diag)
{
	bool any = n == 1 || (pick && (pick->arch || pick->id_size));
	for (size_t i = 0; i < n && any; i++) {
		if (pick && pick->arch && strcmp(pick->arch, slices[i].arch))
			continue;
		select_slice(image, &slices[i]);
		int err = macho_read(image, diag);
		if (!err && is_picked(image, pick))
			return 0;
		if (err && (!pick || !pick->id_size || err == -ENOMEM))
			return err;
		forget_slice(image);
	}
	return no_slice(image, slices, n, pick, diag);
}

/* Everything after the bytes are there. */
static int image_read(struct image *image, const struct image_pick *pick, struct gsym_diag *diag)
{
	struct macho_slice slices[SLICES_MAX];
	image->map = image->file.data;
	image->map_size = image->file.size;
	if (elf_is_elf(image->file))
		return elf_read(image, diag);
	if (macho_is_thin(image->file))
		return macho_read(image, diag);
	if (breakpad_is_breakpad(image->file))
		return breakpad_read(image, diag);
	if (gsym_is_gsym(image->file))
		return gsym_source_read(image, diag);
	size_t n = macho_slices(image->file, slices, SLICES_MAX);
	return n ? fat_read(image, slices, n, pick, diag) : no_object(image, diag);
}

/* ---- Life ---- */

int image_open(const char *path, const struct convert_opener *opener, struct image **ret,
	       struct gsym_diag *diag)
{
	return image_open_slice(path, opener, NULL, ret, diag);
}

int image_open_slice(const char *path, const struct convert_opener *opener, const struct image_pick *pick,
		     struct image **ret, struct gsym_diag *diag)
{
	CLEANUP(image_closep) struct image *image = calloc(1, sizeof(*image));
	if (!image || !(image->path = strdup(path)))
		return diag_set(diag, -ENOMEM, "%s: out of memory", path);
	image->opener = opener;
	int err = image_map(image, diag);
	if (!err)
		err = image_read(image, pick, diag);
	if (!err)
		*ret = TAKE(image);
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

static int read_object(struct image *image, const char *member, const char *arch, uint64_t mtime,
		       struct gsym_diag *diag)
{
	const struct image_pick pick = {.arch = arch};
	struct span bytes;
	if (!member)
		return mtime && image->mtime != mtime ? -ESTALE : image_read(image, &pick, diag);
	if (!archive_find(macho_part_for(image->file, arch), member, mtime, &bytes) || !macho_is_thin(bytes))
		return diag_set(diag, -ENOENT, "%s: has no object '%s'", image->path, member);
	image->map = bytes.data;
	image->map_size = bytes.size;
	return macho_read(image, diag);
}

int image_open_object(const char *path, const struct convert_opener *opener, const char *arch, uint64_t mtime,
		      struct image **ret, struct gsym_diag *diag)
{
	CLEANUP(image_closep) struct image *image = calloc(1, sizeof(*image));
	if (!image || !(image->path = strdup(path)))
		return diag_set(diag, -ENOMEM, "%s: out of memory", path);
	const char *member = cut_member(image->path);
	image->opener = opener;
	int err = image_map(image, diag);
	if (!err)
		err = read_object(image, member, arch, mtime, diag);
	if (!err && (!image->macho || strcmp(image->arch, arch)))
		err = diag_set(diag, -ENOEXEC, "%s: no object for %s", path, arch);
	if (!err)
		*ret = TAKE(image);
	return err;
}

int image_open_descriptor(int fd, const char *name, const struct convert_opener *opener, struct image **ret,
			  struct gsym_diag *diag)
{
	CLEANUP(image_closep) struct image *image = calloc(1, sizeof(*image));
	if (!image || !(image->path = strdup(name)))
		return diag_set(diag, -ENOMEM, "%s: out of memory", name);
	image->opener = opener;
	int err = map_descriptor(image, fd, diag);
	if (!err)
		err = image_read(image, NULL, diag);
	if (!err)
		*ret = TAKE(image);
	return err;
}

static int each_slice(struct image *image, int (*each)(void *user, struct image *image), void *user,
		      struct gsym_diag *diag)
{
	struct macho_slice slices[SLICES_MAX];
	size_t n = macho_slices(image->file, slices, SLICES_MAX);
	int err = n ? 0 : image_read(image, NULL, diag);
	if (!n && !err)
		return each(user, image);
	for (size_t i = 0; i < n && !err; i++) {
		select_slice(image, &slices[i]);
		err = macho_read(image, diag);
		if (!err)
			err = each(user, image);
		else if (err == -EBADMSG)
			err = 0;
		forget_slice(image);
	}
	return err;
}

int image_each(int fd, const char *name, int (*each)(void *user, struct image *image), void *user,
	       struct gsym_diag *diag)
{
	CLEANUP(image_closep) struct image *image = calloc(1, sizeof(*image));
	if (!image || !(image->path = strdup(name)))
		return diag_set(diag, -ENOMEM, "%s: out of memory", name);
	int err = map_descriptor(image, fd, diag);
	if (err)
		return err;
	return each_slice(image, each, user, diag);
}

int image_open_memory(const void *data, size_t size, const char *name, struct image **ret,
		      struct gsym_diag *diag)
{
	CLEANUP(image_closep) struct image *image = calloc(1, sizeof(*image));
	if (!image || !(image->path = strdup(name)))
		return diag_set(diag, -ENOMEM, "%s: out of memory", name);
	image->file = (struct span){data, size};
	int err = image_read(image, NULL, diag);
	if (!err)
		*ret = TAKE(image);
	return err;
}

void image_close(struct image *image)
{
	if (!image)
		return;
	for (size_t i = 0; i < image->sections.n; i++)
		if (image->sections.v[i].owned)
			munmap((void *)(uintptr_t)image->sections.v[i].data.data,
			       image->sections.v[i].data.size);
	vec_free(&image->segments);
	vec_free(&image->sections);
	vec_free(&image->symbols);
	vec_free(&image->text);
	elf_close(image);
	macho_free(image->macho);
	gsym_reader_close(image->gsym);
	arena_free(&image->names);
	if (image->mapped)
		munmap((void *)(uintptr_t)image->file.data, image->file.size);
	free(image->owned);
	free(image->path);
	free(image);
}

void image_closep(struct image **image)
{
	image_close(*image);
}

/* ---- What formats share ---- */

static bool is_named(const struct section *s, const char *name)
{
	return !strcmp(s->name, name) || (!strncmp(name, ".debug_", 7) && s->name[0] == '.' &&
					  s->name[1] == 'z' && !strcmp(s->name + 2, name + 1));
}

struct section *image_next_section(struct image *image, const char *name, const struct section *after)
{
	for (size_t i = after ? (size_t)(after - image->sections.v) + 1 : 0; i < image->sections.n; i++) {
		struct section *s = &image->sections.v[i];
		/* A group's section is a type unit, or debug data of one function: not the unit's own. */
		if (!s->grouped && s->raw.size && is_named(s, name))
			return s;
	}
	return NULL;
}

struct section *image_section(struct image *image, const char *name)
{
	return image_next_section(image, name, NULL);
}

void image_release(const struct image *image, struct span data, uint64_t from, uint64_t to)
{
	if (!image->mapped || data.data < image->file.data ||
	    data.data >= image->file.data + image->file.size)
		return; /* the caller's memory, or decompressed: not backed by the file */
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)data.data + from + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)data.data + to) & ~(page - 1);
	if (first < end)
		(void)madvise((void *)first, end - first, MADV_DONTNEED);
}

/* The older way of GNU tools, and of Apple's: name ".zdebug_", content "ZLIB" and the size in eight bytes,
 * big-endian. */
void section_read_zdebug(struct section *s)
{
	if (s->raw.size < 12 || strncmp(s->name, ".zdebug_", 8) || memcmp(s->raw.data, "ZLIB", 4))
		return;
	s->full_size = load64(s->raw.data + 4, true);
	s->compression = COMPRESSION_ZLIB;
	s->raw.data += 12;
	s->raw.size -= 12;
}

int image_load_symbols(struct image *image, struct image *const *sources, size_t n_sources)
{
	if (image->macho)
		return macho_load_symbols(image, sources, n_sources);
	return elf_load_symbols(image, sources, n_sources);
}

bool image_has_symbols(struct image *image)
{
	return image->macho ? image->macho->symbols.size != 0 : image_section(image, ".symtab") != NULL;
}

bool image_has_code(const struct image *image)
{
	for (size_t i = 0; i < image->sections.n; i++)
		if (image->sections.v[i].code && image->sections.v[i].raw.size)
			return true;
	return false;
}

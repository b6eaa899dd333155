/*
 * object_open.c - the table of source formats, and opening files by it.
 *
 * A file is mapped whole. The first format of the table whose probe() accepts it reads it; of a container,
 * one slice or each in turn is read in place, by the format that accepts that slice.
 */
#include "convert/object/object_open.h"

#include "convert/object/compressed_file.h"
#include "convert/object/source_format.h"
#include "work/types/foreign_format.h"
#include "work/types/machine_fault.h"
#include "work/types/packed_name.h"
#include "gsym/base/diag.h"
#include "gsym/base/fault.h"
#include "gsym/base/file_io.h"
#include "gsym/base/invariant.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_SIZE_MIN = 16 /* bytes of the shortest header of any format */ };

/* Probed in this order. Fat files come last: their magic number is also that of Java classes. */
static const struct source_format *const formats[] = {
#define FORMAT(kind, reader, ...) &reader##_format,
	IMAGE_KINDS(FORMAT)
#undef FORMAT
		& fat_format,
};

static const struct source_format *find_format(struct span file)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (formats[i]->probe(file))
			return formats[i];
	return NULL;
}

/* ---- Mapping ---- */

static struct span object_bytes(const struct object_file *object)
{
	return (struct span){object->map, object->map_size};
}

static struct object_file *object_new(const char *path, const struct convert_opener *opener)
{
	struct object_file *object = calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	object->path = strdup(path);
	if (!object->path) {
		free(object);
		return NULL;
	}
	object->opener = opener;
	return object;
}

static void set_bytes(struct object_file *object, struct span file)
{
	object->file = file;
	object->map = file.data;
	object->map_size = file.size;
}

static bool is_object(struct span first)
{
	return find_format(first);
}

/* Replaces the mapped file by what it is compressed of, if that is an object file. */
static int inflate_whole(struct object_file *object, struct gsym_diag *diag)
{
	const struct span file = object->file;
	const char *format = compressed_file_format(file);
	uint64_t most = compressed_file_most(file.size);
	struct span inflated;
	int err = format ? compressed_file_inflate(file, is_object, most, &inflated) : -ENOEXEC;
	if (err == -ENOEXEC)
		return 0; /* it may be in a format of its own */
	if (err == -ENOTSUP)
		return diag_set(diag, -ENOEXEC, "%s: compressed with %s: decompress it first", object->path,
				format);
	if (err == -EFBIG)
		return diag_set(diag, err,
				"%s: compressed with %s: more than %" PRIu64
				" bytes when decompressed, which no object file of %zu bytes has",
				object->path, format, most, file.size);
	if (err == -E2BIG)
		return diag_set(diag, -EFBIG,
				"%s: compressed with %s: decompressing it takes more than %u MiB of memory; "
				"compress it with a smaller dictionary",
				object->path, format, compressed_file_memory(file));
	if (err)
		return diag_set(diag, err, "%s: compressed with %s: %s", object->path, format,
				err == -ENOMEM ? "out of memory" : "damaged, or cut short");
	munmap((void *)(uintptr_t)file.data, file.size);
	object->mapped = false;
	object->inflated = inflated;
	set_bytes(object, inflated);
	return 0;
}

/* A system call set errno to @number when it was to @verb the file. */
static int refuse(const struct object_file *object, int number, const char *verb, struct gsym_diag *diag)
{
	int err = machine_fault_note(object->opener, system_error(number));
	return diag_set(diag, err, "%s: cannot %s: %s", object->path, verb, strerror(number));
}

/* Refuses a file of @size bytes. */
static int refuse_short(const struct object_file *object, int fd, long long size, struct gsym_diag *diag)
{
	uint8_t magic[SELFMAG];
	bool is_elf = !read_all(fd, magic, SELFMAG, 0) && !memcmp(magic, ELFMAG, SELFMAG);
	return diag_set(diag, is_elf ? -EBADMSG : -ENOEXEC, "%s: too short for an object file: %lld bytes%s",
			object->path, size, is_elf ? ", the first four of ELF" : "");
}

static int map_descriptor(struct object_file *object, int fd, struct gsym_diag *diag)
{
	struct stat st;
	if (file_stat(fd, &st))
		return refuse(object, errno, "stat", diag);
	if (!S_ISREG(st.st_mode))
		return diag_set(diag, -ENOEXEC, "%s: not a regular file", object->path);
	if (st.st_size < FILE_SIZE_MIN)
		return refuse_short(object, fd, (long long)st.st_size, diag);
	void *map = file_map(fd, (uint64_t)st.st_size, MAP_PRIVATE);
	if (map == MAP_FAILED)
		return refuse(object, errno, "map", diag);
	set_bytes(object, (struct span){map, (size_t)st.st_size});
	object->mtime = (uint64_t)st.st_mtim.tv_sec;
	object->mapped = true;
	return inflate_whole(object, diag);
}

/*
 * Paths may come from a hostile file (.gnu_debugaltlink, DW_AT_dwo_name), and opening a device can have side
 * effects, so the type is checked first. O_NONBLOCK: opening must not block if a FIFO has replaced the file
 * since.
 */
static int open_regular(const char *path)
{
	struct stat st;
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return -ENOEXEC;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? system_error(errno) : fd;
}

static int open_packed(const char *path)
{
	char packed[PATH_MAX];
	int fd = open_regular(path);
	for (size_t i = 0; i < PACKED_ENDINGS && fd == -ENOENT; i++)
		if (snprintf(packed, sizeof(packed), "%s%s", path, packed_endings[i]) < PATH_MAX)
			fd = open_regular(packed);
	return fd;
}

static int map_path(const char *path, const struct convert_opener *opener, bool packed,
		    struct object_file **ret, struct gsym_diag *diag)
{
	CLEANUP(object_closep) struct object_file *object = object_new(path, opener);
	if (!object)
		return diag_set(diag, -ENOMEM, "%s: out of memory", path);
	int fd = opener && opener->open ? opener->open(opener->user, path, packed)
		 : packed               ? open_packed(path)
					: open_regular(path);
	if (fd == -ENOEXEC)
		return diag_set(diag, fd, "%s: not a regular file", path);
	if (fd < 0)
		return diag_set(diag, machine_fault_note(opener, fd), "%s: cannot open: %s", path,
				strerror(-fd));
	int err = map_descriptor(object, fd, diag);
	close(fd);
	if (!err)
		*ret = TAKE(object);
	return err;
}

int object_map(const char *path, const struct convert_opener *opener, struct object_file **ret,
	       struct gsym_diag *diag)
{
	return memory_fault_note(opener, map_path(path, opener, false, ret, diag));
}

/* ---- Reading ---- */

static int unknown_format(const struct object_file *object, struct gsym_diag *diag)
{
	const char *name = compressed_file_format(object_bytes(object));
	const char *foreign = name ? NULL : foreign_format(object_bytes(object));
	if (foreign)
		return diag_set(diag, -ENOEXEC, "%s: %s", object->path, foreign);
	if (!name)
		return diag_set(diag, -ENOEXEC, "%s: not an object file", object->path);
	return diag_set(diag, -ENOEXEC, "%s: compressed with %s: no object file", object->path, name);
}

/* Reads object->map by @format, or by no format at all when that is NULL. */
static int read_by(struct object_file *object, const struct source_format *format, struct gsym_diag *diag)
{
	if (!format)
		return unknown_format(object, diag);
	object->format = format;
	return format->read(object, diag);
}

static int read_slice(struct object_file *object, struct span container, const struct object_slice *slice,
		      struct gsym_diag *diag)
{
	invariant(slice->off <= container.size && slice->size <= container.size - slice->off);
	object->map = container.data + slice->off;
	object->map_size = slice->size;
	object->lost = (struct lost_bytes){0};
	return read_by(object, find_format(object_bytes(object)), diag);
}

/* Lists the slices of the container that @object is as a whole: their number, or -EBADMSG if all are lost. */
static int list_slices(struct object_file *object, const struct source_format *format,
		       struct object_slice ret[static SLICES_MAX], struct gsym_diag *diag)
{
	size_t n = format->slices(object_bytes(object), ret);
	format->expect(object);
	object->lost_slice = object->lost;
	if (n || !object->lost.what)
		return (int)n;
	int err = lost_bytes_tell(&object->lost, object->map_size, -EBADMSG, diag);
	return diag_prefix(diag, err, "%s", object->path);
}

/* Undoes read_slice(), so that the next slice can be read. */
static void forget_slice(struct object_file *object)
{
	object_free_own(object);
	object->format = NULL;
	object->sections.n = object->segments.n = object->text.n = 0;
	object->id_size = 0;
	object->has_base = object->is_relative = false;
}

static bool has_id(const struct object_file *object, const struct object_pick *pick)
{
	return !pick || !pick->id_size ||
	       (pick->id_size == object->id_size && !memcmp(pick->id, object->id, pick->id_size));
}

static int no_slice(const struct object_file *object, const struct object_slice *slices, size_t n,
		    const struct object_pick *pick, struct gsym_diag *diag)
{
	char list[SLICES_MAX * 18] = "";
	if (!n)
		return diag_set(diag, -ENOEXEC, "%s: a universal file without an image", object->path);
	for (size_t i = 0; i < n; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 slices[i].arch);
	if (pick && pick->arch && *pick->arch)
		return diag_set(diag, -ENOEXEC, "%s: holds images for %s, none for %s", object->path, list,
				pick->arch);
	return diag_set(diag, -ENOEXEC, "%s: holds images for %s: choose one of them", object->path, list);
}

/* Reads the slice that @pick chooses, or the only one. */
static int read_picked(struct object_file *object, const struct source_format *format,
		       const struct object_pick *pick, struct gsym_diag *diag)
{
	struct object_slice slices[SLICES_MAX];
	const struct span container = object_bytes(object);
	int n = list_slices(object, format, slices, diag);
	bool any = n == 1 || (pick && (pick->arch || pick->id_size));
	if (n < 0)
		return n;
	for (int i = 0; i < n && any; i++) {
		if (pick && pick->arch && strcmp(pick->arch, slices[i].arch))
			continue;
		int err = read_slice(object, container, &slices[i], diag);
		if (!err && has_id(object, pick))
			return 0;
		if (err && (!pick || !pick->id_size || err == -ENOMEM))
			return err;
		forget_slice(object);
	}
	return no_slice(object, slices, (size_t)n, pick, diag);
}

int object_read(struct object_file *object, const struct object_pick *pick, struct gsym_diag *diag)
{
	const struct source_format *format = find_format(object_bytes(object));
	return format && format->slices ? read_picked(object, format, pick, diag)
					: read_by(object, format, diag);
}

static int read_each(struct object_file *object, const struct source_format *format,
		     int (*each)(void *user, struct object_file *object), void *user, struct gsym_diag *diag)
{
	struct object_slice slices[SLICES_MAX];
	const struct span container = object_bytes(object);
	int n = list_slices(object, format, slices, diag);
	int err = n < 0 ? n : 0;
	for (int i = 0; i < n && !err; i++) {
		err = read_slice(object, container, &slices[i], diag);
		if (!err)
			err = each(user, object);
		else if (err == -EBADMSG)
			err = 0;
		forget_slice(object);
	}
	return err;
}

/* ---- Opening ---- */

int object_open(const char *path, const struct convert_opener *opener, struct object_file **ret,
		struct gsym_diag *diag)
{
	return object_open_slice(path, opener, NULL, ret, diag);
}

int object_open_slice(const char *path, const struct convert_opener *opener, const struct object_pick *pick,
		      struct object_file **ret, struct gsym_diag *diag)
{
	CLEANUP(object_closep) struct object_file *object = NULL;
	int err = object_map(path, opener, &object, diag);
	if (!err)
		err = object_read(object, pick, diag);
	if (!err)
		*ret = TAKE(object);
	return memory_fault_note(opener, err);
}

int object_open_packed(const char *path, const struct convert_opener *opener, struct object_file **ret)
{
	CLEANUP(object_closep) struct object_file *object = NULL;
	int err = map_path(path, opener, true, &object, NULL);
	if (!err)
		err = object_read(object, NULL, NULL);
	if (!err)
		*ret = TAKE(object);
	return memory_fault_note(opener, err);
}

int object_open_descriptor(int fd, const char *name, const struct convert_opener *opener,
			   struct object_file **ret, struct gsym_diag *diag)
{
	CLEANUP(object_closep) struct object_file *object = object_new(name, opener);
	if (!object)
		return diag_set(diag, -ENOMEM, "%s: out of memory", name);
	int err = map_descriptor(object, fd, diag);
	if (!err)
		err = object_read(object, NULL, diag);
	if (!err)
		*ret = TAKE(object);
	return memory_fault_note(opener, err);
}

int object_open_memory(const void *data, size_t size, const char *name, struct object_file **ret,
		       struct gsym_diag *diag)
{
	CLEANUP(object_closep) struct object_file *object = object_new(name, NULL);
	if (!object)
		return diag_set(diag, -ENOMEM, "%s: out of memory", name);
	set_bytes(object, (struct span){data, size});
	int err = object_read(object, NULL, diag);
	if (!err)
		*ret = TAKE(object);
	return err;
}

int object_each(int fd, const char *name, int (*each)(void *user, struct object_file *object), void *user,
		struct gsym_diag *diag)
{
	CLEANUP(object_closep) struct object_file *object = object_new(name, NULL);
	if (!object)
		return diag_set(diag, -ENOMEM, "%s: out of memory", name);
	int err = map_descriptor(object, fd, diag);
	if (err)
		return err;
	const struct source_format *format = find_format(object->file);
	if (format && format->slices)
		return read_each(object, format, each, user, diag);
	err = read_by(object, format, diag);
	return err ? err : each(user, object);
}

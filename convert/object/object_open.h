/*
 * object_open.h - opening object files of any source format, by path, descriptor, or from memory.
 */
#ifndef CONVERT_OBJECT_OBJECT_OPEN_H
#define CONVERT_OBJECT_OBJECT_OPEN_H

#include "convert/object/object_file.h"

/* Which object file of a fat file is meant; all fields may be unset. */
struct object_pick {
	const char *arch;
	const uint8_t *id;
	size_t id_size;
};

/*
 * Opens the object file at @path, a fat file only if it holds just one. @opener opens it and all files that
 * it refers to; NULL: open(2). 0, -ENOEXEC when it is no object file, -EBADMSG when its headers are damaged,
 * -ENOTSUP, -ENOMEM, or what opening or mapping the file gave.
 */
int object_open(const char *path, const struct convert_opener *opener, struct object_file **ret,
		struct gsym_diag *diag);

/* The same for a file that may be compressed and then has another name, see packed_name.h. */
int object_open_packed(const char *path, const struct convert_opener *opener, struct object_file **ret);

/*
 * The same for a file that may hold several object files.
 *
 * @path:   of the file
 * @opener: see object_open()
 * @pick:   which of them; NULL: the only one
 * @ret:    object_close() frees it
 *
 * -ENOEXEC when @pick matches none, or not just one.
 */
int object_open_slice(const char *path, const struct convert_opener *opener, const struct object_pick *pick,
		      struct object_file **ret, struct gsym_diag *diag);

/*
 * The same for an open file.
 *
 * @fd:     stays the caller's
 * @name:   stands for the path in messages
 * @opener: see object_open()
 */
int object_open_descriptor(int fd, const char *name, const struct convert_opener *opener,
			   struct object_file **ret, struct gsym_diag *diag);

/*
 * The same for a file in memory.
 *
 * @data, @size: the file, bytes, borrowed until object_close()
 * @name:        stands for the path in messages
 * @ret:         as above
 */
int object_open_memory(const void *data, size_t size, const char *name, struct object_file **ret,
		       struct gsym_diag *diag);

/*
 * Opens every object file in a file in turn, calls @each with it and closes it.
 *
 * @fd:   stays the caller's
 * @name: stands for the path in messages
 * @each: stops the iteration by returning non-zero, which is returned
 * @user: passed to @each
 *
 * Damaged slices of a fat file are skipped. 0, or the errnos of object_open().
 */
int object_each(int fd, const char *name, int (*each)(void *user, struct object_file *object), void *user,
		struct gsym_diag *diag);

/* ---- In two steps, for containers that no table knows ---- */

/* Maps the file at @path; object->map is all of it. The errnos of object_open() but -EBADMSG. */
int object_map(const char *path, const struct convert_opener *opener, struct object_file **ret,
	       struct gsym_diag *diag);

/* Reads object->map: an object file, or a container of which @pick chooses; see object_open_slice(). */
int object_read(struct object_file *object, const struct object_pick *pick, struct gsym_diag *diag);

#endif

/*
 * image_files.h - the images that logs and stacks refer to: GSYM files of the command line and of a mounted
 * gsymfs.
 */
#ifndef CLI_LOOKUP_IMAGE_FILES_H
#define CLI_LOOKUP_IMAGE_FILES_H

#include <time.h>

#include "cli/command/cli_options.h"
#include "cli/lookup/image_open.h"
#include "cli/lookup/source_roots.h"
#include "gsym/base/vec.h"
#include "log/engine/filter.h"

struct image_file {
	const struct gsym_reader *reader; /* that of @object */
	struct lookup_image object;       /* what is open; if it is converted, it owns @map, too */
	char *name;                       /* as given; of the mount: the id */
	char *real;                /* of an operand: its path without symbolic links; NULL: not known */
	uint64_t base;             /* image base */
	struct name_table *shown;  /* of shown_names.h; NULL: not needed yet */
	char *roots[SOURCE_ROOTS]; /* of its source files; NULL: none, or not wanted */
	bool has_roots;            /* they were looked for */
	struct address_map *map;   /* of the mount: segments; NULL: not known */
};

/* A module that was looked for by its name in the mount. */
struct asked_module {
	char name[FILTER_NAME_SIZE], release[FILTER_RELEASE_SIZE];
	int err;      /* what came of it; 0: found */
	size_t image; /* index in the list */
	time_t time;  /* it was asked at */
};

/* The modules in the mount of the kernel that was last asked for. */
struct kernel_modules {
	VEC(size_t) images; /* indexes in the list */
	struct filter_module kernel;
	bool listed;
	bool opening; /* those without code are no error */
};

struct image_files {
	struct object_options options;
	struct path_strip strip;
	bool by_name; /* find images there by file name, too, if the log has no id */
	VEC(struct image_file) list;
	size_t n_given; /* the first of them are operands, the rest are of the mount */
	VEC(struct asked_module) asked;
	struct kernel_modules modules;
	VEC(char *) refused; /* paths there that could not be read or converted; each was printed once */
};

/*
 * Opens the files that are operands, and checks --mount, without which there must be one. They stay open
 * until images_deinit(), which is needed either way. Prints errors and returns an enum command_status.
 */
int images_open_all(const struct command *command, struct image_files *images, int argc, char **argv);
void images_deinit(struct image_files *images);

/*
 * The image that a log calls @module: the file with its id; if the log or the file has none, the file whose
 * name matches best, or the only file if @module is the kernel; else the image of the mount, which converts
 * it if necessary. -ENOENT if there is none, or it cannot be used; -ENODATA if there is no id, and names are
 * not searched; -ENOTUNIQ if the name is ambiguous; -ESTALE if all of the name are of other releases of the
 * kernel; -ENOMEM.
 */
int images_find(struct image_files *images, const struct filter_module *module,
		const struct image_file **ret);

/*
 * Writes what tells that the images with the name of @module are of other builds: the release or id of one of
 * them. False if there is none.
 */
bool images_tell_other(struct image_files *images, const struct filter_module *module,
		       char ret[static FILTER_ID_SIZE]);

/* Returns whether no file is a kernel. */
bool images_lack_kernel(const struct image_files *images);

/* Determines the roots of an image, if they are wanted; once. 0 or -ENOMEM. */
int images_find_roots(struct image_files *images, struct image_file *file);

/* The functions of struct filter_images, with @user a struct image_files. */
int images_find_for_filter(void *user, const struct filter_module *module, struct filter_image *ret);
int images_module(void *user, const struct filter_module *kernel, size_t i, struct filter_image *ret);
bool images_segment(void *user, const struct filter_image *image, size_t i, struct filter_segment *ret);

#endif

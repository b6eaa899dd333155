/*
 * image_files.h - the images that logs and stacks refer to: GSYM files of the command line, and those of a
 * mounted gsymfs.
 */
#ifndef CONVERT_CLI_LOOKUP_IMAGE_FILES_H
#define CONVERT_CLI_LOOKUP_IMAGE_FILES_H

#include "gsym/base/vec.h"
#include "gsym/filter/filter.h"

struct image_file {
	struct gsym_reader *reader;
	char *name;   /* as it was given; of the mount: the id */
	char *called; /* of the mount: the file name that it was found by; NULL: none */
	uint64_t base;
};

struct image_files {
	const char *mount; /* the directory gsymfs is mounted on; NULL = none */
	bool by_name;      /* find images there by their names, too, if the log tells no id */
	VEC(struct image_file) list;
	size_t n_given; /* the first of them are those of the command line */
};

/* Looks for images below @dir, too. An enum exit_status; the user was told if there is no such directory. */
int images_mount(struct image_files *images, const char *dir);

/* Opens @path, which stays open until images_deinit(). An enum exit_status; the user was told of failures. */
int images_open(struct image_files *images, const char *path);
void images_deinit(struct image_files *images);

/*
 * The image that a log calls @module: the file with its id; if the log or the file has none, the file whose
 * name fits best, or the only one if the kernel is meant; else that of the mount, which converts it if need
 * be. NULL when there is none, or when by its name it may be several.
 */
const struct image_file *images_find(struct image_files *images, const struct filter_module *module);

/* The same for struct filter_images, with @user a struct image_files. */
int images_find_for_filter(void *user, const struct filter_module *module, struct filter_image *ret);

#endif

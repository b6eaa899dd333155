/*
 * image_name.h - matches a file with the module that a log identifies by name alone. A name does not tell
 * builds apart.
 */
#ifndef CLI_LOOKUP_IMAGE_NAME_H
#define CLI_LOOKUP_IMAGE_NAME_H

#include "log/engine/filter.h"

enum {
	IMAGE_OTHER_RELEASE = -1, /* the name fits, but the path tells another release: another build */
	IMAGE_STANDS_IN = 1,      /* for the kernel, under any name, as the only file */
};

/*
 * How well a file matches the module: more is better, 0: not at all, or IMAGE_OTHER_RELEASE.
 *
 * @path:   as given
 * @real:   the same without symbolic links, or "": only its place counts
 * @module: of the log
 * @only:   there is no other file
 */
int image_fit(const char *path, const char *real, const struct filter_module *module, bool only);

/*
 * The same for files that have the name: what @path tells besides, the kernel's release and where the module
 * was. The better of several paths counts, and another release more than nothing.
 *
 * @before: the value for other paths of the file, at first 0
 */
int image_place_fit(int before, const char *path, const struct filter_module *module);

/* Writes the kernel's release that a path tells: ".../modules/6.1.0-13-amd64/...", "vmlinux-6.1.0-13-amd64".
 * False if it tells none. */
bool image_release_of(const char *path, char ret[static FILTER_RELEASE_SIZE]);

/* Writes the @i-th file name that the module itself may have; of a kernel whose release is known the first is
 * that of the release alone. False if there are no more. */
bool image_name_of(const struct filter_module *module, unsigned i, char ret[static FILTER_NAME_SIZE]);

#endif

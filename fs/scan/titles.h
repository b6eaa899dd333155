/*
 * titles.h - names that programs have elsewhere, which logs use: of files that are called by their id, as in
 * .build-id directories and the cache of debuginfod, and of compressed files.
 */
#ifndef FS_SCAN_TITLES_H
#define FS_SCAN_TITLES_H

#include <stdbool.h>

#include "work/cache/image_id.h"
#include "work/types/image_identity.h"

/*
 * Whether the last components of @path, or of the directory it is in, are the digits of @id, however they are
 * divided: "66/b3....debug", "66b3.../debuginfo", "66B3...-...".
 */
bool path_is_called_by_id(const char *path, const char *id);

/* The build id that the last two components of @path are, "66/b3..." or "66/b3....debug"; false if none. */
bool path_build_id(const char *path, char ret[static ID_TEXT_SIZE]);

/*
 * The name of a program in the text of a symbolic link that is called by its id: its last component without
 * ".debug". NULL when that is no name either. Cuts @target.
 */
const char *title_of_link(char *target);

/* The name of the compressed file @name without ".xz", ".zst" or ".gz"; false if it does not end so. */
bool title_of_compressed(const char *name, char ret[static IMAGE_NAME_SIZE]);

#endif

/*
 * identity.h - what a scanner wants to know of a file without converting it.
 */
#ifndef CONVERT_OBJECT_IDENTITY_H
#define CONVERT_OBJECT_IDENTITY_H

#include "convert/record/convert_types.h"

/* Whether the open file @fd, which stays the caller's, begins like one with images for several architectures.
 */
bool begins_like_fat_file(int fd);

/*
 * Reads just the headers and notes of the open file @fd, which stays the caller's, and tells of each object
 * file in it: one, none when it is no object file, or those of a fat file, at most IDENTITIES_MAX. @name is
 * only used in messages.
 */
int identify_descriptor(int fd, const char *name, struct image_identity ret[static IDENTITIES_MAX],
			size_t *ret_n, struct gsym_diag *diag);

#endif

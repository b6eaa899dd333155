/*
 * identity.h - identifying a file without converting it.
 */
#ifndef CONVERT_OBJECT_IDENTITY_H
#define CONVERT_OBJECT_IDENTITY_H

#include "convert/record/convert_types.h"

/* Whether @fd, which stays the caller's, has the magic number of a fat file. */
bool begins_like_fat_file(int fd);

/*
 * Identifies the object files in a file from headers and notes alone.
 *
 * @fd:    stays the caller's
 * @name:  stands for the path in messages
 * @ret:   one for each object file: none, one, or those of a fat file
 * @ret_n: their number, at most IDENTITIES_MAX
 *
 * 0, also for a file that is no object file; -EBADMSG when it is a damaged one, -ENOMEM, or what mapping it
 * gave.
 */
int identify_descriptor(int fd, const char *name, struct image_identity ret[static IDENTITIES_MAX],
			size_t *ret_n, struct gsym_diag *diag);

#endif

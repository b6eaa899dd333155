/*
 * image_open.h - the image that an operand names: a GSYM file, an object file, which is converted once, or in
 * a mounted gsymfs an id or the name of a file.
 */
#ifndef CLI_LOOKUP_IMAGE_OPEN_H
#define CLI_LOOKUP_IMAGE_OPEN_H

#include <limits.h>

#include "cli/lookup/object_lookup.h"
#include "work/options/option.h"

/* clang-format off */

/* Rows of all commands with such operands; @member is a struct object_options. */
#define OPTIONS_IMAGE(type, member)                                                                         \
	{0, "arch", "ARCH", "use the image for ARCH of a universal (fat)\nobject file",                      \
	 OPTION_STRING(type, member.arch)},                                                                 \
	{0, "cache", "DIR",                                                                                 \
	 "directory of converted object files (default: that\nof gsymfs, ~/.cache/gsymfs or, for root,\n"    \
	 "/var/cache/gsymfs)",                                                                              \
	 OPTION_STRING(type, member.cache)},                                                                \
	{0, "mount", "DIR", "find images by their ids below DIR, where gsymfs is\nmounted",                  \
	 OPTION_STRING(type, member.mount)}

/* clang-format on */

/* An operand names one of these. */
struct image_operand {
	char path[PATH_MAX]; /* of the file, in a bundle, too; what was given, if that is not a file */
	const char *arch;    /* that follows a colon in the operand; NULL: none */
	bool is_mounted;     /* it is in the mount and not a file */
};

/*
 * Finds what @name means, and opens it if it is GSYM: a file; if there is none, FILE:ARCH, or what the mount
 * of @options has as an id or as the only build of a name.
 *
 * @ret:       filled in any case; borrows from @name
 * @ret_image: open if it is GSYM
 *
 * 0; -EBADMSG if it is no GSYM, which image_convert() may open; or another errno.
 */
int image_find(const char *name, const struct object_options *options, struct image_operand *ret,
	       struct lookup_image *ret_image, struct gsym_diag *diag);

/*
 * Opens an object file, after -EBADMSG with the same @diag; as object_lookup_open(), but what is no object
 * file is -EBADMSG again.
 */
int image_convert(const struct image_operand *operand, const struct object_options *options,
		  struct lookup_image *ret, struct gsym_diag *diag);

/* Does both. */
int image_open(const char *name, const struct object_options *options, struct lookup_image *ret,
	       struct gsym_diag *diag);

/*
 * Checks --mount, opens the images of the operands one after the other, and calls @use with each.
 *
 * @argc, @argv: as of options_parse()
 * @use:         gets the operand's text and its image; returns an enum command_status
 * @user:        its first argument
 *
 * Prints what cannot be opened. Returns STATUS_FAILED if anything failed.
 */
int image_open_each(int argc, char **argv, const struct object_options *options,
		    int (*use)(void *user, const char *name, const struct gsym_reader *reader), void *user);

#endif

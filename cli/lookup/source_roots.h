/*
 * source_roots.h - directories that --strip-prefix takes from paths: those of the command line, and with auto
 * those that the source files of an image are in.
 */
#ifndef CLI_LOOKUP_SOURCE_ROOTS_H
#define CLI_LOOKUP_SOURCE_ROOTS_H

#include "gsym/gsym.h"
#include "work/options/option.h"

enum { SOURCE_ROOTS = 2 };

/*
 * Finds the longest directory that all files with absolute paths are in, but those below /usr, headers of the
 * system, and that of all files with relative paths. A kernel that was built reproducibly has both: where the
 * compiler was told to shorten paths, and where the assembler was not. Files that are known below both are in
 * one tree, whose directory is shortened until it is the same: all assembler files are below arch/x86, which
 * is no root.
 *
 * @ret: each is allocated, without a slash at its end, or NULL
 *
 * 0 or -ENOMEM. The caller frees both either way.
 */
int source_roots_find(const struct gsym_reader *reader, char *ret[static SOURCE_ROOTS]);

/* The directories of source files are determined of these images. */
enum strip { STRIP_KERNEL, STRIP_NONE, STRIP_ROOTS };

struct path_strip {
	struct option_list dirs; /* the first match counts */
	enum strip roots;
};

/* clang-format off */

/* @member is a struct path_strip. */
#define OPTION_STRIP_PREFIX(type, member)                                                                   \
	{0, "strip-prefix", "DIR",                                                                          \
	 "remove DIR from the beginning of paths; auto: the\n"                                              \
	 "directory of all sources of an image, but those\n"                                                \
	 "below /usr, as filter does for kernels by default;\n"                                             \
	 "none; may be repeated",                                                                           \
	 OPTION_LIST(type, member.dirs)}

/* clang-format on */

/* Takes the words auto and none from the directories. @otherwise: what holds if the option is not given */
void path_strip_settle(struct path_strip *strip, enum strip otherwise);

/* Returns whether it takes anything from paths of lookup and stack, which know no kernels. */
bool path_strip_applies(const struct path_strip *strip);

/* Returns what is left of the directory of a file. @roots: of source_roots_find() */
const char *path_strip_dir(const struct path_strip *strip, char *const roots[static SOURCE_ROOTS],
			   const char *dir);

/* The same for all frames of an answer. */
void path_strip_answer(const struct path_strip *strip, char *const roots[static SOURCE_ROOTS],
		       struct gsym_answer *answer);

#endif

/*
 * convert_revision.h - the revisions of the converter, one for each reader of a format.
 *
 * The name of a conversion in the cache and in a shared store has the revisions of those readers alone that
 * may have had a part in it. Before it is converted no more is known of a file than its kind; so these are
 * the readers of its row of IMAGE_KINDS.
 *
 * Raise the revision of a reader, in convert_revision.c, with every change of what is made of some file, be
 * it a fix: only that of the format if files of others stay as they are, else READER_COMMON. Raise
 * IDENTITY_REVISION with every change of what a file is taken for: its kind, ids, architecture and name, what
 * it has, or that it is damaged. Most changes raise one of them.
 */
#ifndef WORK_TYPES_CONVERT_REVISION_H
#define WORK_TYPES_CONVERT_REVISION_H

#include "work/types/image_kind.h"

enum {
	IDENTITY_REVISION = 1, /* of the index of files */
	REVISION_TEXT_SIZE = 128,
};

/* "dwarf=1" and so on, of all readers: the word, and the number. */
extern const char *const convert_revisions[READERS];

/*
 * The revisions of what may be read for an image of @kind whose code is in a file of @binary, or IMAGE_OTHER:
 * "common=1 elf=1 dwarf=1 go=1". Returns @ret. Pure.
 */
char *convert_revision(enum image_kind kind, enum image_kind binary, char ret[static REVISION_TEXT_SIZE]);

/* Those of all readers. Returns @ret. Pure. */
char *convert_revision_all(char ret[static REVISION_TEXT_SIZE]);

#endif

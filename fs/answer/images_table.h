/*
 * images_table.h - images.tsv: id, kind, architecture, name, state, functions and path of each image that its
 * reader may read, in the order of the ids.
 */
#ifndef FS_ANSWER_IMAGES_TABLE_H
#define FS_ANSWER_IMAGES_TABLE_H

#include "fs/answer/draft.h"

extern const struct draft_kind images_table;

#endif

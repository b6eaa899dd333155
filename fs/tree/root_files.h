/*
 * root_files.h - content of the small files in the root of the mount: README says what may be asked there,
 * status what is known of SOURCE, metrics (metrics_file.c) counts for Prometheus in text format 0.0.4.
 */
#ifndef FS_TREE_ROOT_FILES_H
#define FS_TREE_ROOT_FILES_H

#include "fs/images/caller.h"
#include "fs/tree/tree.h"

/*
 * Makes the whole content of a small file: cheap, and without waiting. @dir: the image of the file; NULL in
 * the root. @caller: who looks a snapshot up; NULL for others. NULL: out of memory.
 */
typedef struct content *make_content(struct tree *tree, struct revision *dir, const struct caller *caller);

make_content root_readme, root_status, root_metrics;

#endif

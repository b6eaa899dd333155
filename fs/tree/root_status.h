/* root_status.h - the file status in the root of the mount: what is known of SOURCE. */
#ifndef FS_TREE_ROOT_STATUS_H
#define FS_TREE_ROOT_STATUS_H

#include "fs/images/caller.h"
#include "fs/tree/tree.h"

/* As @caller may know it; NULL without memory. */
struct content *root_status_make(struct tree *tree, const struct caller *caller);

#endif

/* readme.h - the file README in the root of the mount: what may be asked there. */
#ifndef FS_TREE_README_H
#define FS_TREE_README_H

#include "fs/sys/content.h"

/* NULL without memory. */
struct content *readme_make(void);

#endif

/* metrics_file.h - the file metrics. */
#ifndef FS_TREE_METRICS_FILE_H
#define FS_TREE_METRICS_FILE_H

#include "fs/sys/content.h"
#include "fs/tree/tree.h"

/* Prometheus' text format, version 0.0.4. NULL without memory. */
struct content *metrics_make(struct tree *tree);

#endif

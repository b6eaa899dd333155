/* scan_look.h - a look at what events named, instead of a walk over SOURCE. Used by the scan thread alone. */
#ifndef FS_SCAN_SCAN_LOOK_H
#define FS_SCAN_SCAN_LOOK_H

#include "fs/scan/changes.h"
#include "fs/scan/scan_state.h"

struct sweep;
struct walk_visitor;

/*
 * Looks at the paths of @changes, which must not be all, and tells the images what is there now and what no
 * longer. 0; -EAGAIN when a walk must find out the rest; or -ECANCELED at the end of the daemon.
 */
int scan_look(struct scan *scan, struct changes *changes);

/*
 * In the middle of the walk @s, visits @path, which need not exist, before its turn. Of a directory only
 * itself is visited, and by-path has it from then on. What is in no source is not visited.
 */
void scan_look_aside(struct sweep *s, const char *path);

#endif

/*
 * scan_look.h - scans the paths named by events, instead of all of SOURCE. Used by the scan thread alone.
 */
#ifndef FS_SCAN_SCAN_LOOK_H
#define FS_SCAN_SCAN_LOOK_H

#include "fs/scan/changes.h"
#include "fs/scan/scan_state.h"

struct sweep;
struct walk_visitor;

/*
 * Examines the paths in @changes, which must not be marked 'all', and updates the images. 0; -EAGAIN when a
 * walk must do the rest; or -ECANCELED when the daemon ends.
 */
int scan_look(struct scan *scan, struct changes *changes);

/*
 * Walks over the source @path, one of several. 0, or why it was not complete: a source that is not there
 * hides what it has.
 */
int scan_look_root(struct sweep *s, const char *path, const struct walk_visitor *visitor);

/*
 * In the middle of the walk @s, visits @path, which need not exist, before its turn. Of a directory only
 * itself is visited, and by-path has it from then on. What is in no source is not visited.
 */
void scan_look_aside(struct sweep *s, const char *path);

#endif

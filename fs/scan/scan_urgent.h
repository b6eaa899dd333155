/* scan_urgent.h - during the first walk: looks for what calls ask for. Used by the scan thread alone. */
#ifndef FS_SCAN_SCAN_URGENT_H
#define FS_SCAN_SCAN_URGENT_H

struct sweep;

/*
 * Looks for one path or id that calls wait for, if there is any, before its turn in the walk @s, and resumes
 * them. An id is looked for where .build-id directories have its file. One at a time, so that the walk goes
 * on however many calls ask.
 */
void scan_one_urgent(struct sweep *s);

#endif

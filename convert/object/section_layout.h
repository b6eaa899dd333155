/* section_layout.h - the sections of a relocatable file and the segments of a linked one, for the summary. */
#ifndef CONVERT_OBJECT_SECTION_LAYOUT_H
#define CONVERT_OBJECT_SECTION_LAYOUT_H

#include "convert/object/object_file.h"

/*
 * Lists the allocated, non-empty sections of a relocatable @object in @summary, in file order. If there are
 * more than CONVERT_SECTIONS_MAX, only those with code, the first ones. 0 or -ENOMEM.
 */
int layout_report(const struct object_file *object, struct convert_summary *summary);

/*
 * Sets the image base and the segments in @summary. A separate debug file has the addresses of its program
 * but not its file offsets, so no segments are listed for it. 0 or -ENOMEM.
 */
int segments_report(const struct object_file *object, struct convert_summary *summary);

#endif

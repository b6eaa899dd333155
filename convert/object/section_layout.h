/* section_layout.h - where an object file lies: the sections of a relocatable file, the segments of a linked
 * one.
 */
#ifndef CONVERT_OBJECT_SECTION_LAYOUT_H
#define CONVERT_OBJECT_SECTION_LAYOUT_H

#include "convert/object/object_file.h"

/*
 * Lists the allocated sections with content of a relocatable @object in @summary, in the order of the file.
 * Of more than CONVERT_SECTIONS_MAX only those with code, and of these the first. 0 or -ENOMEM.
 */
int layout_report(const struct object_file *object, struct convert_summary *summary);

/*
 * Tells where @object begins and which of its bytes go where. A separate debug file keeps addresses, but its
 * file offsets are not those of the program: it has no segments. 0 or -ENOMEM.
 */
int segments_report(const struct object_file *object, struct convert_summary *summary);

#endif

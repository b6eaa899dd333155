/* layout.h - the places that sections of a relocatable file have in the layout that its addresses mean. */
#ifndef CONVERT_LAYOUT_H
#define CONVERT_LAYOUT_H

#include "image.h"

/*
 * Lists the allocated sections with content of a relocatable @image in @summary, in the order of the file. Of
 * more than CONVERT_SECTIONS_MAX only those with code, and of these the first. 0 or -ENOMEM.
 */
int layout_report(const struct image *image, struct convert_summary *summary);

#endif

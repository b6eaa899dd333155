/*
 * markers.h - labels of linker scripts that mark a section or a group of functions: they name no code.
 */
#ifndef CONVERT_BUILD_MARKERS_H
#define CONVERT_BUILD_MARKERS_H

#include "convert/object/object_file.h"
#include "convert/record/radix.h"

/*
 * Finds the markers among the symbols of @object.
 *
 * @object:   with its symbols
 * @order:    its usable symbols, ascending by address
 * @n:        their number
 * @sections: of code, ascending
 * @ret:      set to true at the index of each marker; the others are left alone
 *
 * 0 or -ENOMEM.
 */
int markers_find(const struct object_file *object, const struct keyed *order, size_t n,
		 const range_vec *sections, bool *ret);

#endif

/*
 * cv_imports.h - names of functions that a module inlines from another one.
 *
 * Microsoft's linker has them with link-time code generation. The item has a number of the module that
 * exports it, which leads to its number in the IPI stream; so all modules must be read first.
 */
#ifndef CONVERT_CODEVIEW_CV_IMPORTS_H
#define CONVERT_CODEVIEW_CV_IMPORTS_H

#include "convert/codeview/cv_module.h"

/*
 * Replaces the strings that modules[0, n) have pending. Exports are sorted. What has no name is counted.
 *
 * @arena: for new names; it outlives the results
 *
 * 0 or -ENOMEM.
 */
int cv_imports_name(struct cv_source *source, struct cv_module_result *modules, size_t n, struct arena *arena,
		    struct oddities *odd);

#endif

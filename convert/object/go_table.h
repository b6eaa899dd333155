/* go_table.h - the section with Go's function table, and Go's build id. */
#ifndef CONVERT_OBJECT_GO_TABLE_H
#define CONVERT_OBJECT_GO_TABLE_H

#include "convert/object/object_file.h"

/* Whether the section is loaded, with bytes of the file that are neither code nor compressed. */
bool section_is_data(const struct object_section *section);

/*
 * ELF: .gopclntab, also .data.rel.ro.gopclntab in position independent programs; Mach-O: __gopclntab. NULL
 * when there is none, or only its place, as in a separate debug file.
 */
const struct object_section *object_go_table(struct object_file *object);

/*
 * The build id that Go's linker writes where the code begins, the only place for it in PE and Mach-O files,
 * as go_id.h takes it; "" when there is none.
 */
void go_build_id_in_code(const struct object_file *object, char ret[static GO_ID_SIZE]);

#endif

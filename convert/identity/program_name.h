/* program_name.h - the name that an object file gives itself, for one whose file is called by its id. */
#ifndef CONVERT_IDENTITY_PROGRAM_NAME_H
#define CONVERT_IDENTITY_PROGRAM_NAME_H

#include "convert/object/object_file.h"

/*
 * DT_SONAME of an ELF file, else the name of its debug file (.gnu_debuglink) without ".debug", unless that is
 * an id; the last component of the install name (LC_ID_DYLIB) of a Mach-O file. "" when there is none, as in
 * separate debug files, which have no bytes for either.
 */
void program_name(struct object_file *object, char ret[static IMAGE_NAME_SIZE]);

#endif

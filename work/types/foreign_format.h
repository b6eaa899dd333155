/*
 * foreign_format.h - names of formats that are not read, so that a file is refused by its name.
 */
#ifndef WORK_TYPES_FOREIGN_FORMAT_H
#define WORK_TYPES_FOREIGN_FORMAT_H

#include "gsym/base/bytes.h"

enum { FOREIGN_HEAD_SIZE = 64 /* bytes of a file that tell its format */ };

/*
 * What a file is that no reader takes, and what to do: "WebAssembly, which is not read". Static text; NULL:
 * not known. @head: the beginning of the file, FOREIGN_HEAD_SIZE bytes if it has them.
 */
const char *foreign_format(struct span head);

#endif

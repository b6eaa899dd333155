/* core_maps.h - the files that were mapped in a process, from its core file. */
#ifndef CLI_LOOKUP_CORE_MAPS_H
#define CLI_LOOKUP_CORE_MAPS_H

#include "gsym/base/text_buf.h"
#include "gsym/gsym.h"

/*
 * Appends the mappings (NT_FILE) as lines of process_maps.h; executable are those that no segment of the core
 * file says otherwise of.
 *
 * @path: the core file
 * @out:  appended to
 *
 * 0; -ENOENT when the core file has no such note; -EBADMSG, -ENOMEM, errnos of reading.
 */
int core_maps_read(const char *path, struct text_buf *out, struct gsym_diag *diag);

#endif

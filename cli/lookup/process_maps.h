/* process_maps.h - the files that are mapped in a process, with their build ids. */
#ifndef CLI_LOOKUP_PROCESS_MAPS_H
#define CLI_LOOKUP_PROCESS_MAPS_H

#include "gsym/base/text_buf.h"

/*
 * Appends the lines of /proc/PID/maps; those of files end with " (BuildId: 0123)" if they have one that this
 * user may read.
 *
 * @pid: a number
 * @out: appended to
 *
 * 0, -ENOMEM, errnos of reading.
 */
int process_maps_read(const char *pid, struct text_buf *out);

/*
 * Appends " (BuildId: 0123)" of an ELF file, if the beginning of it has that.
 *
 * @fd:   of the file, or of one that has its beginning
 * @off:  where that is
 * @size: bytes that there are of it
 * @out:  appended to
 */
void mapped_id_append(int fd, uint64_t off, uint64_t size, struct text_buf *out);

#endif

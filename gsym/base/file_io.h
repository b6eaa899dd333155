/* file_io.h - reading and writing at a place of a file, all of it or none. */
#ifndef GSYM_BASE_FILE_IO_H
#define GSYM_BASE_FILE_IO_H

#include <stddef.h>
#include <sys/types.h>

/* 0; -EBADMSG when the file ends before; or the errno of pread(2). */
int read_all(int fd, void *to, size_t size, off_t off);

/* 0, or the errno of pwrite(2). */
int write_all(int fd, const void *from, size_t size, off_t off);

#endif

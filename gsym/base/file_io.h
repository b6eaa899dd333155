/* file_io.h - reading and writing at a place of a file, all of it or none; and what an open file is. */
#ifndef GSYM_BASE_FILE_IO_H
#define GSYM_BASE_FILE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * 0; -EBADMSG when the file ends before; or the errno of pread(2) as of system_error(), but -EIO for those of
 * networks.
 */
int read_all(int fd, void *to, size_t size, off_t off);

/* 0, or the errno of pwrite(2), changed likewise. */
int write_all(int fd, const void *from, size_t size, off_t off);

/*
 * Reads the first @size bytes of @fd, and gives them to @take block by block. 0; -ENOMEM; as of read_all();
 * or what @take returned, which ends it.
 */
int read_blocks(int fd, uint64_t size, int (*take)(void *user, const void *bytes, size_t n, uint64_t off),
		void *user);

/* Copies the first @size bytes of @from to the start of @to: 0, -ENOMEM, or as above. */
int copy_all(int from, int to, uint64_t size);

/*
 * Maps the first @size bytes for reading, MAP_PRIVATE or MAP_SHARED as @flags say; MAP_FAILED with errno set.
 * More than PTRDIFF_MAX, which differences of pointers cannot express, are ENOMEM: it is the machine's fault,
 * not the file's.
 */
void *file_map(int fd, uint64_t size, int flags);

/*
 * Where fstat(2) is a system call that fills struct stat as it is. The function of that name may use another
 * one, which takes a path: a process that is to reach nothing by paths cannot allow that.
 */
#if defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__) || defined(__riscv) || \
			  defined(__powerpc64__) || defined(__s390x__))
#define FILE_STAT_IS_FSTAT 1
#endif

/* fstat(2), if possible by the call that takes no path. 0, or -1 with errno set. */
int file_stat(int fd, struct stat *ret);

#endif

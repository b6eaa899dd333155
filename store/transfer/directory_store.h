/*
 * directory_store.h - a store in a directory, which may be on a file server: what its engine is made of.
 *
 * Objects are regular files at their names. What begins with '.' is none: ".tmp-..." is being written, and
 * ".claim-..." means that a host is replacing an object. Files appear and disappear as a whole, by link(2),
 * rename(2) and unlink(2) in one directory; with O_EXCL these are the operations that exclude each other
 * between hosts on every file system, NFS among them. Nothing depends on clocks of hosts: the time is the
 * file server's.
 *
 * Functions return 0 or a descriptor, or a negative errno of the file system; store_errno() maps that.
 */
#ifndef STORE_TRANSFER_DIRECTORY_STORE_H
#define STORE_TRANSFER_DIRECTORY_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "store/client/store.h"

enum { DIRECTORY_TEMP_SIZE = 32 };

#define DIRECTORY_TEMP_PREFIX ".tmp-"

/*
 * Opens the directory in which the object @name is, below @root. With @make it is made if it is not there.
 * Attributes are fetched anew, so that what other hosts made is seen. @ret_base: the rest of @name
 */
int directory_open(int root, const char *name, bool make, const char **ret_base);

/* A regular file, for reading; -EBADMSG if it is anything else. Never waits for a writer of a pipe. */
int directory_open_file(int dir, const char *base, struct stat *ret);

/* A new file, to be unlinked by its name. */
int directory_make_temp(int dir, char ret[static DIRECTORY_TEMP_SIZE]);

/*
 * The tag of the open file of @st: inode, size, time of writing, and a hash of its end. Not the time of the
 * inode's change: that changes with the number of links and with the time of last use, and so without a new
 * object. Inodes are used again, and times are coarse; but objects differ in their ends, which hold a hash,
 * and leases in who holds them.
 */
int directory_etag(int fd, const struct stat *st, char ret[static STORE_ETAG_SIZE]);

/*
 * Claims the object @base with the tag @etag: of all hosts that are about to replace it, one. Then
 * checks that it still has that tag. -EEXIST: it has not, or another host has the claim; -ENOENT: it is gone.
 *
 * @now: the file server's time, seconds: claims of hosts that did not end are broken after a minute
 */
int directory_claim(int dir, const char *base, const char *etag, int64_t now);
void directory_release(int dir, const char *base, const char *etag);

#endif

/*
 * open_file.h - what an open file description holds on to.
 *
 * Counted: the description has one reference, and every request that uses the file another until it has
 * replied, because a reply lets the client close the file, and its release may then run on another thread at
 * once. All of them are on a list, so that those the kernel never releases (it does not, at the end) can be
 * freed.
 */
#ifndef FS_TREE_OPEN_FILE_H
#define FS_TREE_OPEN_FILE_H

#include "work/os/mutex.h"

#include "work/cache/handle.h"
#include "fs/answer/account.h"
#include "fs/answer/stream.h"
#include "fs/sys/content.h"
#include "gsym/base/list.h"

struct open_files {
	struct accounts *accounts; /* of the users who opened them; borrowed */
	struct mutex lock;         /* guards @all; no other is locked while it is held */
	struct list all GUARDED_BY(&lock);
};

struct open_file {
	struct list link;
	struct open_files *files;
	atomic_uint refs;
	struct account *account;   /* of the user who opened it */
	size_t counted;            /* in it, for the file itself */
	bool direct;               /* opened for direct I/O: not read through the page cache */
	_Atomic uint64_t extended; /* see stream_size.c */
	struct handle *handle;     /* of an image.gsym, else NULL */
	struct content *content;   /* of a file made when it was opened, else NULL */
	struct stream *stream;     /* of a q, else NULL */
	struct tsv_file *table;    /* of a functions.tsv and the like, else NULL */
};

void open_files_init(struct open_files *files, struct accounts *accounts);

/* Frees what was never released. */
void open_files_deinit(struct open_files *files);

/* How many there are. */
size_t open_files_count(struct open_files *files);

/*
 * A file that @uid opened, with one reference; takes over what @holds. 0; -ENFILE when the user holds too
 * much in open files; -ENOMEM; when it fails, what it holds is put.
 */
int open_file_new(struct open_files *files, const struct open_file *holds, uid_t uid, struct open_file **ret);

/* Streams that were not used for a while free their caches. */
void open_files_rest(struct open_files *files);

struct open_file *open_file_get(struct open_file *file);
void open_file_put(struct open_file *file);

#endif

/*
 * path_tree.h - the directory by-path: the directories of SOURCE that hold images, and their files.
 *
 * No locks: the owner guards it. Numbers, and positions in listings, are never used twice. A directory that
 * is gone keeps its own, and has them again when it comes back; a file that is gone takes memory until its
 * owner removes it. Files are many, so they are small: their names are borrowed.
 */
#ifndef FS_IMAGES_PATH_TREE_H
#define FS_IMAGES_PATH_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "fs/sys/slots.h"
#include "gsym/base/vec.h"
#include "gsym/base/hash_table.h"

enum {
	/* Deeper directories are left out: the text of a symbolic link has at most 4095 bytes. */
	PATH_DEPTH_MAX = 1000,
};

#define PATH_NONE UINT32_MAX /* no directory */

/* What a directory shows of the one it stands for. */
struct path_attr {
	uid_t uid;
	gid_t gid;
	mode_t mode; /* permissions to read and search */
	struct timespec mtime;
};

struct path_child {
	/* Twice the number of a directory, or of the first file of a name plus one; PATH_NONE: none. */
	uint32_t child;
	uint32_t position;
};

struct path_dir {
	struct table_link table;
	uint32_t number;
	uint32_t parent; /* PATH_NONE: of SOURCE itself */
	uint32_t depth;  /* 0: SOURCE */
	uint32_t alive;  /* files and directories in it that are not gone; 0: it is gone itself */
	struct path_attr attr;
	char *name;
	VEC(struct path_child) children; /* by position */
	uint32_t next_position;
	uint32_t dropped; /* children that are PATH_NONE */
	bool odd;         /* its key is its number, see node.h */
};

/* An image in a file. A file with several is a chain of these. */
struct path_file {
	struct table_link table; /* of the first in a chain */
	const char *name;        /* borrowed */
	uint32_t number;
	uint32_t dir;
	uint32_t image;    /* its number */
	uint32_t pass;     /* of the scan that saw it last; 0: gone */
	uint32_t next;     /* in the chain: its number plus one; 0: the last */
	uint32_t like;     /* another file of that name with that image: its number plus one; 0: the last */
	uint32_t position; /* of the first in a chain, among the children of its directory */
	bool odd;          /* of the first in a chain: its key is its number, see node.h */
};

/* Zero-initialised is empty. */
struct path_tree {
	VEC(struct path_dir *) dirs; /* by number; the first is SOURCE */
	struct slots files;          /* path_file */
	struct table by_dir, by_file;
	/* Called when a file appears or is gone; NULL: not wanted. */
	void (*counted)(void *user, uint32_t image, bool appears);
	void *user;
};

void path_tree_deinit(struct path_tree *tree);

/*
 * Enters a directory, which is made if there is none.
 * @parent: its number; PATH_NONE for SOURCE, and for one that is too deep
 * @name: in it; "" for SOURCE
 * @attr: how it looks from now on
 * @ret: its number; PATH_NONE for one that is too deep, or in PATH_NONE
 * 0 or -ENOMEM.
 */
int path_tree_enter(struct path_tree *tree, uint32_t parent, const char *name, const struct path_attr *attr,
		    uint32_t *ret);

/* Of a directory that has this number. */
void path_tree_set_attr(struct path_tree *tree, uint32_t number, const struct path_attr *attr);

/*
 * Scan @pass, which is not 0, has seen @image in the file @name of @dir (PATH_NONE: nothing is noted). With
 * @last it has no more, so that those it had before are gone. @name must live as long as the tree.
 *
 * @like: the files of that name with that image, in no order: the number plus one of the first, 0 for none,
 * with which path_file.like goes on; a new file is put before it. 0 or -ENOMEM.
 */
int path_tree_add(struct path_tree *tree, uint32_t dir, const char *name, uint32_t image, uint32_t pass,
		  bool last, uint32_t *like);

/*
 * Likewise, if no file is called @name, in any directory, nor was so and has not been removed: none is
 * searched.
 */
int path_tree_add_first(struct path_tree *tree, uint32_t dir, const char *name, uint32_t image, uint32_t pass,
			uint32_t *like);

/* Makes room for @n files. 0 or -ENOMEM. */
int path_tree_reserve(struct path_tree *tree, size_t n);

/* Forgets files that scan @pass did not see. */
void path_tree_sweep(struct path_tree *tree, uint32_t pass);

/* Forgets what that file, the first of a chain or after it, is known to hold. */
void path_tree_forget(struct path_tree *tree, const struct path_file *file);

/* Removes a file that is gone. @like: as in path_tree_add(). Its number is never used again. */
void path_tree_remove(struct path_tree *tree, const struct path_file *file, uint32_t *like);

/* The index of the first child from @position on. */
size_t path_dir_from(const struct path_dir *dir, uint32_t position);

/* By number; NULL for numbers never given out. */
const struct path_dir *path_tree_dir(const struct path_tree *tree, uint32_t number);
const struct path_file *path_tree_file(const struct path_tree *tree, uint32_t number);

/* The directory in @parent called so, unless it is gone, or NULL. */
const struct path_dir *path_tree_find_dir(const struct path_tree *tree, uint32_t parent, const char *name);

/* Likewise, even if it is gone, or nothing was ever in it. */
const struct path_dir *path_tree_find_any_dir(const struct path_tree *tree, uint32_t parent,
					      const char *name);

/* The first of the chain of that file, even if all of them are gone, or NULL. */
const struct path_file *path_tree_find(const struct path_tree *tree, uint32_t dir, const char *name);

/* The first of @file and those after it in the chain that is not gone, or NULL. */
const struct path_file *path_file_alive(const struct path_tree *tree, const struct path_file *file);

/* The next one in the chain, gone or not, or NULL. */
const struct path_file *path_file_next(const struct path_tree *tree, const struct path_file *file);

/*
 * The key of a directory, 0 of SOURCE; and of a file, which all of its chain have. See inode_key.h; the hash
 * is that of its path.
 */
uint32_t path_dir_key(const struct path_dir *dir);
uint32_t path_file_key(const struct path_tree *tree, const struct path_file *file);
uint64_t path_file_hash(const struct path_tree *tree, const struct path_file *file);

/* By key: NULL for those of nothing. The first of its chain. */
const struct path_dir *path_dir_by_key(const struct path_tree *tree, uint32_t key);
const struct path_file *path_file_by_key(const struct path_tree *tree, uint32_t key);

/* Whether the chain that begins with @first has more than one that is not gone. */
bool path_file_is_fat(const struct path_tree *tree, const struct path_file *first);

#endif

/*
 * entry.h - what lookups and listings say of each kind of node, and for how long the kernel may believe it.
 */
#ifndef FS_TREE_ENTRY_H
#define FS_TREE_ENTRY_H

#include "fs/tree/tree.h"

/* An entry that does not exist, and need not be looked up for @timeout seconds. */
struct fuse_entry_param entry_none(double timeout);

/* The generation of what is in the root whatever SOURCE holds. */
uint32_t fixed_generation(const struct tree *tree);

/*
 * An entry with its generation and time-outs.
 * @attr: what it is of
 * @generation: 0: that of the mount
 * @entry_timeout, @attr_timeout: how long the kernel may believe name and attributes, seconds
 */
struct fuse_entry_param entry_make(const struct tree *tree, const struct stat *attr, uint32_t generation,
				   double entry_timeout, double attr_timeout);

/* ---- With images.lock ---- */

struct fuse_entry_param entry_image(const struct tree *tree, struct image *image);
struct fuse_entry_param entry_basename(const struct tree *tree, const struct basename *name);
struct fuse_entry_param entry_name_link(const struct tree *tree, const struct name_member *member);
struct fuse_entry_param entry_path_dir(const struct tree *tree, const struct path_dir *dir);
/* A file of by-path: @first and those after it in its chain that still exist, of which there is one at
 * least. */
struct fuse_entry_param entry_path_file(const struct tree *tree, const struct path_file *first);
/* An image of a file that has several. */
struct fuse_entry_param entry_path_member(const struct tree *tree, const struct path_file *file);

/* A link to the image, or to a directory in it. */
struct fuse_entry_param entry_alias(const struct tree *tree, const struct image *image, struct alias alias);

/* ---- Without it ---- */

/* xx of .build-id's xx/yyyy: there if an image may be in it. */
struct fuse_entry_param entry_build_id(const struct tree *tree, const char *digits);

/* A directory that gives addresses another meaning, of those without a load address. */
struct fuse_entry_param entry_context(const struct tree *tree, const struct revision *rev,
				      const struct context *context);

/* In a directory of by-name, a link to the directory of named_contexts[@index]: that has one place only. */
struct fuse_entry_param entry_context_link(const struct tree *tree, const struct revision *rev,
					   unsigned index);

/* q below an image, in no or a fixed context; NULL: of the root. */
struct fuse_entry_param entry_batch(const struct tree *tree, const struct revision *rev,
				    const struct request *request);

#endif

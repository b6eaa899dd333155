/*
 * tree_lookup.h - names to nodes.
 */
#ifndef FS_TREE_TREE_LOOKUP_H
#define FS_TREE_TREE_LOOKUP_H

#include "fs/call/call.h"
#include "fs/gsymfs.h"

/* The attempt of a LOOKUP; see struct call. */
int lookup_attempt(struct call *call);

/* ---- Entries that listings and lookups share; all with images.lock held ---- */

struct fuse_entry_param entry_image(const struct gsymfs *fs, struct revision *rev);
struct fuse_entry_param entry_basename(const struct gsymfs *fs, const struct basename *name);
struct fuse_entry_param entry_name_link(const struct gsymfs *fs, const struct basename *name,
					const struct image *image);
struct fuse_entry_param entry_path_dir(const struct gsymfs *fs, const struct path_dir *dir);
/* A file of by-path: @first and those behind it in its chain that are not gone, of which there is one at
 * least. */
struct fuse_entry_param entry_path_file(const struct gsymfs *fs, const struct path_file *first);
/* An image of a file that has several. */
struct fuse_entry_param entry_path_member(const struct gsymfs *fs, const struct path_file *file);
/* by-path itself, which is there before SOURCE was looked at. */
struct fuse_entry_param entry_by_path(const struct gsymfs *fs);

/* ---- And without it ---- */

struct fuse_entry_param entry_by_name(const struct gsymfs *fs);
/* A directory that gives addresses another meaning, of those without a load address. */
struct fuse_entry_param entry_context(const struct gsymfs *fs, const struct revision *rev,
				      const struct context *context);

struct fuse_entry_param entry_metrics(const struct gsymfs *fs);
struct fuse_entry_param entry_log(const struct gsymfs *fs);

/* q below an image, in no or a fixed context; NULL: of the root. */
struct fuse_entry_param entry_batch(const struct gsymfs *fs, const struct revision *rev,
				    const struct request *request);

struct fuse_entry_param entry_image_file(const struct gsymfs *fs, const struct revision *rev,
					 enum image_file file, uint64_t size);

#endif

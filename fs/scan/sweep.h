/*
 * sweep.h - processes the files of SOURCE that a scan visits: all of them (scan_pass.h), or those at the
 * paths named by events (scan_look.h). Used by the scan thread alone.
 *
 * sweep_begin(), visits by sweep_visitor(), sweep_settle(), sweep_end().
 */
#ifndef FS_SCAN_SWEEP_H
#define FS_SCAN_SWEEP_H

#include <limits.h>
#include <sys/stat.h>

#include "work/run/identifier.h"
#include "fs/scan/dir_walk.h"
#include "fs/scan/scan_state.h"
#include "gsym/base/vec.h"

/* A symbolic link; its file may be visited only later. */
struct link_seen {
	uint64_t dev, ino;
	char *basename;
	uint32_t directory;
};

/* A symbolic link that is called by an id, and tells the name of a program. */
struct title_seen {
	char id[ID_TEXT_SIZE];
	char *name;
	uint32_t directory;
};

/* A new file of GSYM that is called as if it belonged to a program. */
struct gsym_seen {
	char *program; /* its path */
	char id[ID_TEXT_SIZE];
	bool met, fits;
};

/* A file that names only the beginning of its build id: whose, is known at the end of the walk. */
struct cut_seen {
	const struct file_record *record;
	struct place {
		const char *path;
		uint32_t directory;
		uid_t uid;
		gid_t gid;
		mode_t mode;
		bool alone; /* the file has no other path */
	} place;
	char *path;
	const struct image *whole; /* or NULL */
};

/* The directory the walk is in, or one above it. */
struct dir_seen {
	size_t path_size; /* of its path, which dir_path begins with */
	struct path_attr attr;
	uint32_t number;
	bool noted; /* it has a number: something may be in it */
};

/* One scan: a walk, or some paths. */
struct sweep {
	struct scan *scan;
	bool partial; /* only some paths are visited */
	bool unsure;  /* a partial scan cannot decide everything: a walk is needed */
	int root;
	struct identifier identifier;
	char dir_path[PATH_MAX];
	VEC(struct dir_seen) dirs; /* from SOURCE to where the walk is */
	VEC(struct link_seen) links;
	VEC(struct title_seen) titles;
	VEC(struct gsym_seen) gsyms;
	VEC(struct cut_seen) cuts;
	size_t n_files, n_images, n_bad, n_opened, n_permissions, n_added;
	size_t unsaved; /* records changed since the index was saved */
	size_t n_hashing;
	int trouble; /* the first fault of the machine that left what a file holds unknown, or 0 */
};

/* Opens SOURCE. 0 or a negative errno, which was logged. */
int sweep_begin(struct sweep *s);

/* What a file with that image can tell. */
enum richness richness_of(const struct image_identity *identity);

/* The source that has the file or directory @path, by its number; n_roots: none has. */
size_t scan_root_of(const struct scan *scan, const char *path);

/* Saves the index of each source. */
void scan_save_index(struct scan *scan);

/* Before a walk: takes what was hashed since the last one. */
void sweep_take_jobs(struct sweep *s);

/* The visitor of walks and of single entries. */
struct walk_visitor sweep_visitor(struct sweep *s);

/* The scan enters the directory @path, or one of those above a path it visits, outermost first. */
int sweep_enter(struct sweep *s, const char *path, const struct stat *st, bool open_to_all);

/* The number of the current directory in by-path. */
uint32_t sweep_directory(struct sweep *s);

/* If by-path has the current directory, it looks like that from now on. */
void sweep_refresh(struct sweep *s);

/* After all visits, decides what depends on several files. @complete: all were visited. 0 or -ENOMEM. */
int sweep_settle(struct sweep *s, bool complete);

void sweep_end(struct sweep *s);

/* The device of the mount itself, from the kernel's cached attributes, see entry_device(). */
dev_t sweep_mounted_device(const struct scan *scan);

#endif

/*
 * split.h - split units, which hold the entries of skeleton units: .dwo files and .dwp packages (DWARF
 * 5, 7.3.2 and 7.3.5).
 *
 * Thread-safe. A program can have more .dwo files than a process may have mappings, so each is open only
 * while its units are read; a package stays open.
 */
#ifndef CONVERT_DWARF_SPLIT_H
#define CONVERT_DWARF_SPLIT_H

#include "convert/dwarf/dwarf.h"

struct split_files;

/*
 * A package beside @main or beside @debug, which may be the same, and .dwo files are looked for by
 * split_find(). @debug_dirs ends with NULL and may be NULL; all are borrowed. 0 or -ENOMEM.
 */
int split_open(const struct object_file *main, const struct object_file *debug, const char *const *debug_dirs,
	       struct split_files **ret);
void split_close(struct split_files *files);

/* An open .dwo, or one unit's share of the package. */
struct split_file {
	struct object_file *object; /* NULL: the package has it */
	struct dwarf dwarf;
	const struct unit_header *header; /* of the unit that was looked for */
	const char *name, *comp_dir; /* of the skeleton it was opened for; borrowed from that one's file */
	struct split_id *ids;        /* of its units, ascending */
	size_t n_ids;
};

/*
 * Finds the split unit of @skeleton by its id; the caller closes it. Counts a part of a package that is
 * damaged or missing, and loads the unit without it.
 *
 * 0, -ENOENT: its file was not found, or is of another build; -EBADMSG: it is there, but damaged where the
 * unit is, which is counted.
 */
int split_find(struct split_files *files, const struct unit *skeleton, struct warnings *warnings,
	       struct split_file **ret);
void split_file_close(struct split_file *file);

/* Whether @file also has the unit of @skeleton, as with link-time optimization: then file->header is that
 * unit. */
bool split_file_serves(struct split_file *file, const struct unit *skeleton);

#endif

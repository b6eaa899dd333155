/*
 * lookup_file.h - a file that addresses are looked up in, GSYM or an object file; and those of a command that
 * are open, of which the least recently used are closed.
 */
#ifndef CLI_LOOKUP_LOOKUP_FILE_H
#define CLI_LOOKUP_LOOKUP_FILE_H

#include "cli/lookup/object_lookup.h"
#include "gsym/base/vec.h"
#include "gsym/render/batch/batch.h"

struct lookup_file {
	char *path;
	struct lookup_image image; /* its reader is NULL: the file is not open */
	struct batch *batch;       /* see lookup_file_batch() */
	struct demangle_cache *names;
	bool is_pending; /* no GSYM: lookup_file_convert() opens it */
	struct gsym_diag diag;
};

/* The most recently used first. */
struct lookup_files {
	VEC(struct lookup_file *) list;
};

/*
 * The file of that name, which is opened if it is GSYM; else it is pending, or an error was printed. Valid
 * until the next call. 0 or -ENOMEM.
 */
int lookup_files_find(struct lookup_files *files, const char *path, size_t size, struct lookup_file **ret);
void lookup_files_deinit(struct lookup_files *files);

/* Opens a pending file as an object file: true, or false after an error was printed. */
bool lookup_file_convert(struct lookup_file *file, const struct object_options *options);

/* What keeps the answers of a batch, made once; also of a file that is not open, where all is unknown. NULL
 * without memory. */
struct batch *lookup_file_batch(struct lookup_file *file);

#endif

/*
 * callsites_file.h - call sites listed in a YAML or JSON file, for calls that DWARF cannot describe: virtual
 * and indirect calls, selectors.
 *
 *     functions:                  # a list
 *       - name: work              # as in a symbol table
 *         callsites:              # a list; may be left out
 *           - return_offset: 0x18 # return address - start of the function; decimal or 0x...
 *             match_regex: [a]    # names or regular expressions of callees; may be empty
 *             flags: []           # InternalCall, ExternalCall; may be left out
 *
 * The schema is that of llvm-gsymutil. Other keys, directives, anchors, aliases, tags, several documents and
 * encodings other than UTF-8 are rejected. The file is parsed as a stream of events, in time and memory
 * linear in its size.
 */
#ifndef CONVERT_FINISH_CALLSITES_FILE_H
#define CONVERT_FINISH_CALLSITES_FILE_H

#include "convert/record/func_record.h"

enum {
	CALLSITES_FILE_MAX = 64 << 20, /* bytes of a file */
	CALLSITES_TEXT_MAX = 1 << 20,  /* bytes of a name or pattern */
};

struct listed_site {
	uint64_t return_off;
	uint32_t first_pattern, n_patterns;
	uint32_t line, column; /* where it is in the file, from 1 */
	uint8_t flags;         /* enum gsym_callsite_flags */
};

struct listed_function {
	struct pool_string name;
	uint32_t first_site, n_sites;
	uint32_t line, column;
};

/* Texts are in the arena. */
struct callsites_file {
	const char *path; /* borrowed: for messages */
	VEC(struct listed_function) functions;
	VEC(struct listed_site) sites;
	VEC(struct pool_string) patterns;
	struct arena arena;
};

/*
 * Reads the file at @path. 0, -EINVAL when it violates the schema, -EFBIG when it exceeds a limit, -ENOMEM,
 * or the errno of opening or reading; @diag has line and column.
 */
int callsites_file_read(const char *path, struct callsites_file **ret, struct gsym_diag *diag);

/*
 * The same from memory.
 *
 * @data, @size: the text, bytes
 * @path:        for messages, borrowed
 * @ret:         callsites_file_free() frees it
 */
int callsites_file_parse(const void *data, size_t size, const char *path, struct callsites_file **ret,
			 struct gsym_diag *diag);

/* NULL is fine. */
void callsites_file_free(struct callsites_file *file);

#endif

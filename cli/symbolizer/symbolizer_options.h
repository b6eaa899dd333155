/* symbolizer_options.h - the command line of the three dialects: its options, and what they say. */
#ifndef CLI_SYMBOLIZER_SYMBOLIZER_OPTIONS_H
#define CLI_SYMBOLIZER_SYMBOLIZER_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gsym/render/demangle/demangle.h"
#include "work/options/option.h"

/* Bits, so that a row of the table can be of several. */
enum symbolizer_dialect {
	DIALECT_BINUTILS = 1,       /* addr2line */
	DIALECT_LLVM_ADDR2LINE = 2, /* llvm-addr2line */
	DIALECT_LLVM = 4,           /* llvm-symbolizer */
};

enum answer_style {
	ANSWER_BINUTILS, /* of addr2line */
	ANSWER_GNU,      /* the same as LLVM writes it */
	ANSWER_LLVM,
	ANSWER_JSON,
};

enum function_names {
	FUNCTION_NAMES_NONE,
	FUNCTION_NAMES_SHORT,   /* without scope and parameters */
	FUNCTION_NAMES_LINKAGE, /* as in the symbol table */
};

enum path_form {
	PATHS_WHOLE,
	PATHS_RELATIVE, /* without the directory of the compilation */
	PATHS_BASE,     /* without directories */
};

enum debuginfod_use {
	DEBUGINFOD_BY_ENVIRONMENT, /* as if asked for where $DEBUGINFOD_URLS names servers */
	DEBUGINFOD_YES,
	DEBUGINFOD_NO,
};

enum { DEBUG_DIRS_MAX = 16 };

/* Strings are borrowed from the command line. */
struct symbolizer_options {
	const char *program; /* argv[0], for messages */
	enum symbolizer_dialect dialect;
	enum answer_style style;
	enum function_names names;
	enum demangle_mode demangle;
	enum path_form paths;
	bool addresses, inlines, pretty, verbose;
	bool no_gsym_file;   /* GSYM files beside object files are not looked for */
	bool relative;       /* addresses count from the image base */
	bool skip_line_zero; /* the nearest line where there is none */
	bool tagged;         /* addresses of data keep the tag in their first byte */
	uint64_t adjust_vma; /* what the addresses have more than those in the file */
	uint64_t context;    /* lines of source around each line */
	uint64_t cache_size; /* bytes of open images; 0: no limit of its own */
	const char *object, *build_id, *section, *arch, *gsym_dir, *cache;
	char package[PATH_MAX]; /* the DWARF package, absolute; empty: the one beside a file */
	const char *debug_dirs[DEBUG_DIRS_MAX + 2]; /* those given, the default one, NULL */
	size_t n_debug_dirs;
	const char *dsym_hints[DEBUG_DIRS_MAX]; /* bundles */
	size_t n_dsym_hints;
	enum debuginfod_use debuginfod; /* whether the caches of its clients are looked into */
	char **operands;
	size_t n_operands;
};

enum symbolizer_parse {
	SYMBOLIZER_RUN,
	SYMBOLIZER_DONE,  /* help or version was printed */
	SYMBOLIZER_ERROR, /* as was an error */
};

/*
 * Parses the command line of @ret->program and @ret->dialect. Words of @argv are moved, operands to the
 * front; they stay borrowed.
 */
enum symbolizer_parse symbolizer_options_parse(size_t argc, char **argv, struct symbolizer_options *ret);

/* The groups of a row are an enum symbolizer_dialect; its members, of struct symbolizer_options. */
extern const struct option_row symbolizer_rows[];
extern const struct option_synonym symbolizer_synonyms[];

#endif

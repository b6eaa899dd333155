/* lookup_parts.h - the parts of gsym lookup: files, operands, merged functions. */
#ifndef CLI_LOOKUP_LOOKUP_PARTS_H
#define CLI_LOOKUP_LOOKUP_PARTS_H

#include <regex.h>

#include "cli/lookup/image_open.h"
#include "cli/lookup/source_roots.h"
#include "cli/lookup/tell_reason.h"
#include "gsym/base/vec.h"
#include "gsym/render/batch/batch.h"
#include "gsym/render/namesakes.h"
#include "gsym/render/render.h"

/* ---- Files, of which the least recently used are closed: lookup_file.c ---- */

/* A file that addresses are looked up in, GSYM or an object file. */
struct lookup_file {
	char *name; /* as given */
	char *path; /* without the architecture after a colon, where no file has that name */
	struct image_operand operand; /* what @name is */
	struct lookup_image image;    /* its reader is NULL: the file is not open */
	struct batch *batch;          /* see lookup_file_batch() */
	struct demangle_cache *names;
	struct told_reasons told;
	char *roots[SOURCE_ROOTS]; /* of its source files; NULL: none, or not wanted */
	bool has_roots;            /* they were looked for */
	bool is_pending;           /* no GSYM: lookup_file_convert() opens it */
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
int lookup_files_find(struct lookup_files *files, const char *path, size_t size,
		      const struct object_options *options, struct lookup_file **ret);
void lookup_files_deinit(struct lookup_files *files);

/* Opens a pending file as an object file: true, or false after an error was printed. */
bool lookup_file_convert(struct lookup_file *file, const struct object_options *options);

/*
 * Returns the batch of @file, which is made once and keeps answers; a file that is not open has one, too, in
 * which every address is unknown. NULL without memory.
 */
struct batch *lookup_file_batch(struct lookup_file *file);

/* ---- Every function merged at an address, and its callees: lookup_merged.c ---- */

struct merged_lookup {
	const struct path_strip *strip; /* what paths lose; borrowed, as the next */
	char *const *roots;             /* of the file */
	VEC(regex_t *) filters;
	struct gsym_decoder *decoder; /* for call sites */
	struct gsym_answer answer;
	struct text_buf shown; /* functions rendered so far; their number is printed before them */
};

/* 0 or -ENOMEM. Filters that were added before are kept. */
int merged_lookup_init(struct merged_lookup *m);

/* A zeroed one, or one whose initialisation failed, is allowed. */
void merged_lookup_deinit(struct merged_lookup *m);

/*
 * Adds a filter, a POSIX extended regular expression: only functions whose stored name matches a filter are
 * shown. 0, -ENOMEM, or -EINVAL with the reason in @diag.
 */
int merged_lookup_filter(struct merged_lookup *m, const char *pattern, struct gsym_diag *diag);

/*
 * Appends the functions at @addr, each as by render_answer(); in the format of llvm-gsymutil with their
 * number before them, and with the names of callees if a call returns to @addr.
 *
 * @m:       with its filters; memory reused between calls
 * @reader:  the GSYM file
 * @addr:    link-time address
 * @options: of rendering
 * @out:     appended to
 *
 * -ENOENT if there is no function at @addr, or in other formats none that matches. If a record is damaged
 * (-EBADMSG), the functions before it have been appended. -ENOMEM.
 */
int merged_lookup(struct merged_lookup *m, const struct gsym_reader *reader, uint64_t addr,
		  const struct render_options *options, struct text_buf *out, struct gsym_diag *diag);

/* ---- Operands that name a function instead of an address: symbol_operand.c ---- */

/* A parsed operand: a symbol and an offset, or an address. */
struct place_operand {
	const char *symbol; /* borrowed from the operand; NULL: an address */
	size_t symbol_size;
	uint64_t value; /* the address, or the offset from the function's start */
};

/*
 * Parses an address: with "0x", or as address_may_be_bare() says; or the name of a function, which an offset
 * may follow ("main+0x10"). 0; -EINVAL for a number that may be meant as decimal; -ERANGE for what is no
 * address of 64 bits.
 */
int place_operand_parse(const char *text, struct place_operand *ret);

/* A table of demangled names, made by the first search that needs it. Zero-initialise. */
struct symbol_search {
	const struct gsym_reader *reader; /* borrowed, of the caller */
	struct shown_search shown;        /* its mode is the caller's */
	struct shown_builder builder;
	bool built;
};

/* As namesakes_visit(), but makes the table of demangled names when it is needed. */
int symbol_search_visit(struct symbol_search *search, const struct place_operand *operand, namesake_fn *visit,
			void *user);
void symbol_search_deinit(struct symbol_search *search);

#endif

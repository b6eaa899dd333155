/*
 * gsym.h - read, look up and write GSYM, LLVM's compact symbolication format.
 *
 * The format is described in gsym(5): versions 1 and 2, either byte order. Every function that can fail
 * returns 0 or a negative errno value:
 *
 *   -ENOENT   no function covers the address: an ordinary answer, not an error of the file
 *   -EBADMSG  the bytes are not valid GSYM
 *   -ENOTSUP  valid, but a version or an encoding this library does not know
 *   -EOVERFLOW a value does not fit the version being written
 *   -EINVAL   the caller's arguments contradict each other
 *   -ENOMEM and what open(2), mmap(2) and write(2) return
 *
 * Where a struct gsym_diag is taken it may be NULL; after a failure it holds a message that says which
 * file, which section, which offset, and what was expected there. Results are written only on success.
 */
#ifndef GSYM_GSYM_H
#define GSYM_GSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GSYM_API __attribute__((visibility("default")))

/* Diagnosis of a failure: one line, no trailing newline, always terminated. */
struct gsym_diag {
	char text[512];
};

/* ---- The function record: what a producer fills, the writer takes and the decoder gives ---- */

/*
 * One row of a line table: in effect from its address to that of the next row, the last to the function's
 * end.
 */
struct gsym_row {
	uint32_t off;  /* address - start of the function */
	uint32_t file; /* index into the file table; 0 = no file */
	uint32_t line; /* 0 = no line */
};

/* Addresses [off, off + size) counted from the start of the function. */
struct gsym_range {
	uint32_t off;
	uint32_t size;
};

/* One inlined call. A tree is an array in preorder: a node's children follow it with depth + 1. */
struct gsym_inline {
	uint64_t name;      /* string of the inlined function */
	uint32_t call_file; /* where it was called: file table index, 0 = not known */
	uint32_t call_line;
	uint32_t depth;       /* 1 = inlined into the function itself */
	uint32_t first_range; /* its ranges, ascending, in the function's array of ranges */
	uint32_t n_ranges;    /* at least 1 */
};

enum gsym_callsite_flags {
	GSYM_CALLSITE_INTERNAL = 1, /* the callee can only be in the same link unit */
	GSYM_CALLSITE_EXTERNAL = 2  /* the callee can only be in another link unit */
};

/* A call instruction, named by the address it returns to. */
struct gsym_callsite {
	uint64_t return_off;    /* return address - start of the function */
	uint32_t first_pattern; /* names or regular expressions of callees, in the function's array of
				   patterns */
	uint32_t n_patterns;
	uint8_t flags; /* enum gsym_callsite_flags; 0 = not known */
};

/*
 * A function, or one part of a function that is split over several ranges. Strings are values of
 * gsym_writer_string() on the way in and string table offsets (gsym_reader_string()) on the way out. Arrays
 * are borrowed: from the caller on the way in, from the struct gsym_decoder on the way out.
 */
struct gsym_func {
	uint64_t start;              /* link-time address */
	uint64_t name;               /* never the empty string */
	uint32_t size;               /* bytes of code; 0 = not known */
	const struct gsym_row *rows; /* ascending by off */
	size_t n_rows;
	const struct gsym_inline *inlines;
	size_t n_inlines;
	const struct gsym_range *ranges; /* of all inlines */
	size_t n_ranges;
	const struct gsym_callsite *callsites;
	size_t n_callsites;
	const uint64_t *patterns; /* strings of all callsites */
	size_t n_patterns;
	const struct gsym_func *merged; /* other functions folded onto the same range; they do not nest */
	size_t n_merged;
};

/* ---- Reading ---- */

struct gsym_reader;

/* Contents of the header and sizes of the tables. */
struct gsym_info {
	uint16_t version; /* 1 or 2 */
	bool big_endian;
	uint8_t addr_off_size; /* 1, 2, 4 or 8 */
	uint8_t strp_size;     /* 4 (version 1) or 8 (version 2) */
	uint64_t base_address;
	uint32_t num_addresses; /* functions */
	uint32_t num_files;     /* entries of the file table, the empty entry 0 included */
	uint64_t strtab_size;   /* up to the last NUL of the string table */
	const uint8_t *uuid;    /* borrowed from the reader */
	size_t uuid_size;       /* 0 = none */
	uint64_t file_size;
};

/*
 * Opens and maps a file. Checks the header and the bounds of every table; records are checked when decoded.
 */
GSYM_API int gsym_reader_open(const char *path, struct gsym_reader **ret, struct gsym_diag *diag);

/* The same for an open descriptor, which stays the caller's. @name is only used in messages. */
GSYM_API int gsym_reader_open_fd(int fd, const char *name, struct gsym_reader **ret, struct gsym_diag *diag);

/* The same for bytes in memory, borrowed until gsym_reader_close(). They need no alignment. */
GSYM_API int gsym_reader_open_memory(const void *data, size_t size, struct gsym_reader **ret,
				     struct gsym_diag *diag);

/* NULL is allowed. */
GSYM_API void gsym_reader_close(struct gsym_reader *reader);

/* Valid as long as the reader. A reader never changes after it was opened and may be used by any thread. */
GSYM_API const struct gsym_info *gsym_reader_info(const struct gsym_reader *reader);

/* The terminated string at offset @strp of the string table, or NULL when there is none. */
GSYM_API const char *gsym_reader_string(const struct gsym_reader *reader, uint64_t strp);

/*
 * Entry @index of the file table; "" for a missing directory or name. -EBADMSG when there is no such entry.
 */
GSYM_API int gsym_reader_file(const struct gsym_reader *reader, uint32_t index, const char **ret_dir,
			      const char **ret_base);

/* String table offsets of entry @index, for copying tables. */
GSYM_API int gsym_reader_file_strings(const struct gsym_reader *reader, uint32_t index, uint64_t *ret_dir,
				      uint64_t *ret_base);

/*
 * Start address of function @index < num_addresses. Addresses ascend; several functions may start at one.
 */
GSYM_API uint64_t gsym_reader_address(const struct gsym_reader *reader, uint32_t index);

/* Memory for decoded functions, reusable from call to call. One thread at a time. */
struct gsym_decoder;

/* NULL: no memory. */
GSYM_API struct gsym_decoder *gsym_decoder_new(void);

/* NULL is allowed. */
GSYM_API void gsym_decoder_free(struct gsym_decoder *decoder);

/*
 * Decodes a function as a whole.
 *
 * @index:   below num_addresses
 * @decoder: memory for the arrays of @ret, which are valid until it is used again or freed
 * @ret:     the function
 * @diag:    of a failure; may be NULL
 *
 * 0, -EINVAL when there is no such function, -EBADMSG when its record is damaged, -ENOMEM.
 */
GSYM_API int gsym_reader_function(const struct gsym_reader *reader, uint32_t index,
				  struct gsym_decoder *decoder, struct gsym_func *ret,
				  struct gsym_diag *diag);

/*
 * The function that contains @addr: the innermost sized one, otherwise one of unknown size that starts at
 * or before it. Writes its index. -ENOENT when there is none.
 */
GSYM_API int gsym_reader_find(const struct gsym_reader *reader, uint64_t addr, uint32_t *ret_index,
			      struct gsym_diag *diag);

/* ---- Looking up ---- */

/* One frame. Strings are borrowed from the reader, terminated, never NULL. */
struct gsym_frame {
	const char *name; /* as stored: not demangled */
	const char *dir;  /* "" when not known */
	const char *base; /* "" when not known */
	uint64_t offset;  /* address - start of this function or of this inlined body's first range */
	uint32_t line;    /* 0 = not known */
	bool inlined;     /* all but the last */
	bool approximate; /* the line is that of other code nearby */
};

/*
 * An answer: the innermost frame first, the concrete function last. Zero-initialise, reuse, then deinit.
 * After a lookup that failed it holds no frames, and the rest of it means nothing.
 */
struct gsym_answer {
	struct gsym_frame *frames;
	size_t n_frames;
	size_t cap_frames;
	uint64_t func_start;
	uint64_t func_size;  /* 0 = not known */
	uint32_t func_index; /* which record answered */
	uint32_t n_merged;   /* functions that share this code, 1 = not folded */
	bool has_rows;       /* false: no line and no inlined call is known here, only the symbol */
};

/* Frees the frames and resets the answer to its initial state. */
GSYM_API void gsym_answer_deinit(struct gsym_answer *answer);

/* Looks up a link-time address: 0, -ENOENT, -EBADMSG (the record is damaged), -ENOMEM. */
GSYM_API int gsym_lookup(const struct gsym_reader *reader, uint64_t addr, struct gsym_answer *answer,
			 struct gsym_diag *diag);

/*
 * Likewise, but where the line of the address is 0, which compilers use for code that belongs to no line,
 * the innermost frame gets the nearest line before it in the same function and is marked approximate.
 */
GSYM_API int gsym_lookup_near(const struct gsym_reader *reader, uint64_t addr, struct gsym_answer *answer,
			      struct gsym_diag *diag);

/*
 * gsym_lookup() for one body of a folded function: @which = 0 is the record gsym_lookup() answers with, then
 * its merged functions. -ENOENT when @which is past the last.
 */
GSYM_API int gsym_lookup_merged(const struct gsym_reader *reader, uint64_t addr, uint32_t which,
				struct gsym_answer *answer, struct gsym_diag *diag);

enum gsym_lookup_flags {
	GSYM_LOOKUP_NEAR = 1,     /* as gsym_lookup_near() */
	GSYM_LOOKUP_FIRST_ROW = 2 /* of several rows at one address the first that has a line, not the last */
};

/*
 * gsym_lookup_merged() with flags. Files of Mach-O programs hold the first and the last of several rows at
 * one address, others the last alone.
 *
 * @addr:   link-time address
 * @which:  as for gsym_lookup_merged()
 * @flags:  any of enum gsym_lookup_flags
 * @answer: overwritten; gsym_answer_deinit() frees it
 * @diag:   of a failure; may be NULL
 *
 * The errnos of gsym_lookup_merged(), and -EINVAL for an unknown flag.
 */
GSYM_API int gsym_lookup_flags(const struct gsym_reader *reader, uint64_t addr, uint32_t which,
			       unsigned flags, struct gsym_answer *answer, struct gsym_diag *diag);

/* ---- Printing ---- */

enum gsym_demangle_flags {
	GSYM_DEMANGLE_ADA = 1 /* Ada's names as well, which have no prefix: only for programs written in it */
};

/*
 * Writes @name as people write it: C++, Rust, D and OCaml; any other name as it is stored, and one that is
 * malformed or costs too much. At most @size bytes, terminated if @size is not 0; the text is not escaped.
 *
 * @name:  of a frame
 * @flags: any of enum gsym_demangle_flags
 *
 * The length of the whole text, as of snprintf(3): it was cut if that is not less than @size.
 */
GSYM_API size_t gsym_demangle(const char *name, unsigned flags, char *buf, size_t size);

/*
 * Writes the path of a file, from the directory and name of a frame: joined by "/", or by a backslash if the
 * directory was written on Windows. "" if both are. Buffer and result are as of gsym_demangle().
 */
GSYM_API size_t gsym_path(const char *dir, const char *base, char *buf, size_t size);

/* ---- Writing ---- */

struct gsym_writer;

struct gsym_writer_options {
	size_t struct_size; /* sizeof(struct gsym_writer_options) of the caller */
	uint16_t version;   /* 1 or 2; 0 = 1 */
	bool big_endian;
	bool has_base_address; /* false: the start of the first function */
	uint64_t base_address;
	const uint8_t *uuid; /* copied; at most 20 bytes in version 1 */
	size_t uuid_size;
};

/*
 * A writer without functions. -EINVAL for options that this library does not know, -ENOTSUP for another
 * version, -EOVERFLOW for a UUID that is too long for it.
 */
GSYM_API int gsym_writer_new(const struct gsym_writer_options *options, struct gsym_writer **ret,
			     struct gsym_diag *diag);

/* NULL is allowed. */
GSYM_API void gsym_writer_free(struct gsym_writer *writer);

/*
 * Stores a string once and gives its string table offset; "" is 0. -EINVAL when there is a NUL within @size,
 * -EOVERFLOW when the table would grow past 4 GiB in version 1.
 */
GSYM_API int gsym_writer_string(struct gsym_writer *writer, const char *text, size_t size, uint64_t *ret);

/* Stores a file once and gives its index; two empty strings are entry 0. -EINVAL for strings never stored. */
GSYM_API int gsym_writer_file(struct gsym_writer *writer, uint64_t dir, uint64_t base, uint32_t *ret);

/*
 * Encodes one function; nothing of @func is kept. Functions come in ascending order of start address.
 * -EINVAL names what is wrong with the record (rows that descend, a child range outside its parent).
 */
GSYM_API int gsym_writer_add(struct gsym_writer *writer, const struct gsym_func *func,
			     struct gsym_diag *diag);

/*
 * Adds many functions: the same bytes as adding them one by one. Strings and files must be stored before.
 *
 * @n:       number of functions
 * @threads: that encode them, at most
 * @get:     fills function @index, on any thread and in any order; a failure ends the whole
 * @user:    passed to @get
 * @diag:    of a failure; may be NULL
 *
 * The errnos of gsym_writer_add() and of @get; after a failure none of the functions has been added.
 */
GSYM_API int gsym_writer_add_many(struct gsym_writer *writer, size_t n, unsigned threads,
				  int (*get)(void *user, size_t index, struct gsym_func *ret), void *user,
				  struct gsym_diag *diag);

/* Lays out the file and writes it at offset 0 of @fd, whose old content should be empty. Ends the writing. */
GSYM_API int gsym_writer_finish(struct gsym_writer *writer, int fd, struct gsym_diag *diag);

/* The same into memory the caller frees with free(). */
GSYM_API int gsym_writer_finish_memory(struct gsym_writer *writer, void **ret_data, size_t *ret_size,
				       struct gsym_diag *diag);

#ifdef __cplusplus
}
#endif

#endif

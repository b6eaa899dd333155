/*
 * filter_types.h - what the filter shares with its caller and with its parts: modules, images, options. No
 * functions of the filter itself, see filter.h.
 */
#ifndef LOG_LINE_FILTER_TYPES_H
#define LOG_LINE_FILTER_TYPES_H

#include "gsym/gsym.h"
#include "gsym/render/demangle/demangle.h"

enum {
	FILTER_LINE_MAX = 4096,          /* bytes of a line; longer ones are copied unchanged */
	FILTER_STACK_BYTES = 128 * 1024, /* of the lines of one stack */
	FILTER_REPORT_MAX = 4 << 20,     /* bytes of a report that is buffered as a whole */
	FILTER_ID_SIZE = 129,            /* an id and a NUL */
	FILTER_NAME_SIZE = 256,          /* a module's name or path and a NUL; of longer ones their end */
	FILTER_RELEASE_SIZE = 80,        /* a kernel's release and a NUL */
	FILTER_SYMBOL_SIZE = 512,        /* a symbol and a NUL; longer ones are not frames */
};

/* What an address in a stack is. */
enum frame_pc {
	/* the address of the instruction itself: the innermost frame, or one that was interrupted */
	PC_EXACT,
	PC_RETURN,   /* a return address */
	PC_ADJUSTED, /* a return address that the writer of the stack has moved back into the call */
};

struct name_table;

/* A module as a log identifies it. */
struct filter_module {
	/* Hexadecimal digits in lower case, perhaps with "xxh3-" before them: a build id, a UUID, or a
	 * Breakpad debug id with its age. "": not in the log. */
	char id[FILTER_ID_SIZE];
	bool needs_names;            /* frames give a symbol and offset: name_index.h will be used */
	bool needs_shown;            /* the symbol may be demangled: shown_names.h will be used, too */
	char name[FILTER_NAME_SIZE]; /* file name or path; "vmlinux" for the kernel itself; "": not known */
	bool is_kernel; /* the kernel or a module of it, which has no ".ko" in its name, and '_' for '-' */
	/* Of the kernel, as "6.1.0-13-amd64". "": not known. Images of another release are other builds. */
	char release[FILTER_RELEASE_SIZE];
	bool is_windows; /* @name may lack ".exe" or ".dll", and have '_' for what is no letter or digit */
	bool is_word;    /* @name may just as well be something else: not worth a search */
};

/* Endings of file names that the name of a module of Windows may lack, the likely ones first. */
enum { WINDOWS_ENDINGS = 6, WINDOWS_ENDING_SIZE = 4 };
static const char windows_endings[WINDOWS_ENDINGS][WINDOWS_ENDING_SIZE + 1] = {".exe", ".dll", ".sys",
									       ".efi", ".drv", ".ocx"};

/*
 * Sets the id from @size bytes of text, in any spelling: case, dashes, braces. False, and no id, when it is
 * none.
 */
bool filter_module_set_id(struct filter_module *module, const char *text, size_t size);

/* A part of an image's file that is loaded. */
struct filter_segment {
	uint64_t off, addr, size; /* in the file; link-time; bytes */
};

/* The image of a module, from the caller. */
struct filter_image {
	const struct gsym_reader *reader;
	uint64_t base;                  /* link-time address of the first byte that is loaded */
	uint64_t relative_end;          /* 0, or the end of its code if the base is not known */
	bool has_ada;                   /* partly written in Ada: demangle names of Ada, too */
	const void *segments;           /* for segment() */
	const struct name_table *shown; /* of shown_names.h, if the module needs it; NULL: none */
	const char *roots[2];           /* directories to strip from the beginning of paths; NULL: none */
};

struct filter_images {
	/*
	 * Finds an image: 0; -ENOENT, and only the errnos listed here, when there is none; -ENODATA when the
	 * module has no id and names are not searched; -ENOTUNIQ when several images have its name; -ESTALE
	 * when those that have it are of other releases of the kernel; -EAGAIN
	 * when it may be available later; -ENOMEM. The image must stay open until the call of
	 * filter_write() that requested it returns. After -EAGAIN the other images of the stack are still
	 * requested, so that they can be converted concurrently.
	 */
	int (*find)(void *user, const struct filter_module *module, struct filter_image *ret);
	/*
	 * Segment @i of the image: false after the last. NULL: what needs them, as offsets in files, is not
	 * explained.
	 */
	bool (*segment)(void *user, const struct filter_image *image, size_t i, struct filter_segment *ret);
	/*
	 * Module @i of the kernel @kernel, for functions that it does not have itself: -ENOENT after the
	 * last; -ENOMEM. NULL: there are none.
	 */
	int (*module)(void *user, const struct filter_module *kernel, size_t i, struct filter_image *ret);
	void *user;
};

/* The form of the output. */
enum filter_output {
	FILTER_LOG,     /* the log */
	FILTER_RECORDS, /* a JSON object for each frame, and for the text of each line between */
	FILTER_STACKS,  /* the frames that gsym stack takes, an empty line after each stack */
	FILTER_FOLDED,  /* the log, a line of which is a folded stack */
};

struct filter_options {
	enum filter_output output;
	enum demangle_mode demangle;
	bool mark_merged; /* tell of functions that share the code, where no call site decides */
	bool near;        /* where a line is 0, the nearest before it, in formats that can mark it */
	bool colored;     /* mark what was added, but in JSON, for a terminal */
	bool brief;       /* fold long names, and count the inlined calls that a line goes on behind */
	/* Directories to strip from the beginning of paths; the first match counts. Borrowed for the lifetime
	 * of the filter. */
	const char *const *strip;
	size_t n_strip;
};

/* Code addresses and symbols in the input so far. */
struct filter_counts {
	uint64_t met;   /* of which the log did not tell all that could be found */
	uint64_t found; /* of those, with an answer in the output */
	uint64_t known; /* others: the log has a source line, or as much as the image */
	uint64_t bare;  /* numbers that may be addresses of code, if nothing tells what is in memory */
	/*
	 * These count found frames whose number beside an id has another reading that is in a function, too:
	 * numbers taken for offsets in the file, which may be link-time addresses; for link-time addresses,
	 * and for offsets from the load address, which may both be offsets in the file.
	 */
	uint64_t as_offsets, as_addresses, as_relative;
};

/* Why frames of a module were left as they are. */
enum filter_cause {
	FILTER_NO_IMAGE,       /* no image has the id, or else the name */
	FILTER_NO_ID,          /* the log has no id, and names are not searched */
	FILTER_AMBIGUOUS,      /* the log has no id, and several images have the name */
	FILTER_OTHER_RELEASE,  /* the images with the name are of other releases of the kernel */
	FILTER_NO_MAPPING,     /* the log has an address in memory that no known mapping covers */
	FILTER_NO_FUNCTION,    /* the image has no function there */
	FILTER_NO_DEBUG_DATA,  /* as before, and was made without debug data */
	FILTER_NO_NAME,        /* it has none of that name */
	FILTER_FILE_OFFSET,    /* as before, but it has one at that offset in the file */
	FILTER_SEVERAL,        /* several functions of the image have the name */
	FILTER_NO_SEGMENTS,    /* the log has an offset in the file, and the image's segments are not known */
	FILTER_OTHER_BUILD,    /* the log gives a function another size than the image */
	FILTER_OTHER_FUNCTION, /* the function that the log names is elsewhere in the image */
	FILTER_REJECTED,       /* it did so for several: no frame of the module is explained */
};

struct filter_unexplained {
	enum filter_cause cause;
	struct filter_module module;
	uint64_t n_frames;
	/* Of those with another size. The first of them; of FILTER_REJECTED the one whose size led to it, or
	 * whose start, with sizes of 0. */
	char symbol[FILTER_SYMBOL_SIZE];
	uint64_t logged_size, image_size; /* of the function, bytes */
};

#endif

/*
 * filter.h - logs with their addresses explained.
 *
 * Bytes in, bytes out: a log is copied, and what is known of the code addresses in it is written where
 * readers of each kind of log look for it. gsym(1), "gsym filter", lists the kinds, and what becomes of each.
 * Every other byte comes out as it went in, in its place.
 *
 * Consecutive frames are resolved as one stack (stack_resolver.h), so they are held until it ends: at the
 * next line that is no frame, or when the caller says that no more comes for now. The report of a crash on
 * Apple's systems names its images behind the frames, so it is held as a whole. All that is held has limits;
 * beyond them it is copied as it is, or cut into two stacks.
 *
 * Images belong to the caller, who may still have to make them: then filter_write() returns -EAGAIN and is
 * called again.
 */
#ifndef GSYM_FILTER_FILTER_H
#define GSYM_FILTER_FILTER_H

#include "gsym/gsym.h"
#include "gsym/render/demangle/demangle.h"
#include "gsym/base/text_buf.h"

enum {
	FILTER_LINE_MAX = 4096,          /* bytes of a line: a longer one is copied without being looked at */
	FILTER_STACK_BYTES = 128 * 1024, /* of the lines of a stack */
	FILTER_REPORT_MAX = 4 << 20,     /* bytes of a report that is held as a whole */
	FILTER_ID_SIZE = 129,            /* an id and a NUL */
	FILTER_NAME_SIZE = 256,          /* a module's name or path and a NUL; of a longer one the end */
};

/* An image, as a log speaks of it. */
struct filter_module {
	/* Hexadecimal digits in lower case, perhaps with "xxh3-" before them: a build id, a UUID, or a
	 * Breakpad debug id with its age. "": the log does not say. */
	char id[FILTER_ID_SIZE];
	bool needs_names; /* places in it are called by functions' names: name_index.h will be used */
	char name[FILTER_NAME_SIZE]; /* file name or path; "vmlinux" for the kernel itself; "": not known */
	bool is_kernel; /* the kernel or a module of it, which has no ".ko" in its name, and '_' for '-' */
};

/* Sets the id from @size bytes of text, in any spelling: case, dashes. False, and no id, when it is none. */
bool filter_module_set_id(struct filter_module *module, const char *text, size_t size);

/* What the caller knows of it. */
struct filter_image {
	const struct gsym_reader *reader;
	uint64_t base; /* link-time address of what is loaded first: that of the module's beginning in memory
			*/
	bool has_ada;  /* some of it is written in Ada: its names are demangled so, too */
};

struct filter_images {
	/*
	 * Finds an image: 0; -ENOENT, and no other negative errno but those that follow, when there is none
	 * to be had; -EAGAIN when it may be there later; -ENOMEM. What it gives has to stay open until the
	 * call of filter_write() returns that asked for it. After -EAGAIN others of the same stack are asked
	 * for, too, so that they can be made at the same time.
	 */
	int (*find)(void *user, const struct filter_module *module, struct filter_image *ret);
	void *user;
};

struct filter_options {
	enum demangle_mode demangle;
	/* Directories that are left out at the beginning of paths: the first that fits. Borrowed for as long
	 * as the filter lives. */
	const char *const *strip;
	size_t n_strip;
};

/* What comes behind the bytes at hand. */
enum filter_rest {
	FILTER_MORE,  /* more bytes */
	FILTER_PAUSE, /* nothing for now: an open stack ends here. What is not a whole line, or a whole
			 report, waits */
	FILTER_END,   /* nothing: the last line may be without its newline */
};

struct filter;

/* @images is copied; its user lives as long as the filter. NULL without memory. */
struct filter *filter_new(const struct filter_images *images, const struct filter_options *options);
/* NULL is allowed. */
void filter_free(struct filter *filter);

/*
 * Takes the @size bytes of @bytes and appends to @out what they become; *ret_used is how many were taken, all
 * of them on success. How a log is cut into calls with FILTER_MORE makes no difference.
 *
 * 0; -EAGAIN when an image is being made: call again, with the bytes that were not taken and the same @rest;
 * -ENOMEM, after which the filter may only be freed. So it may when reading an image raises a signal (its
 * file was cut short).
 */
int filter_write(struct filter *filter, const char *bytes, size_t size, enum filter_rest rest,
		 struct text_buf *out, size_t *ret_used);

/* Addresses and names of places in code that were met so far, and those of them that are in known functions.
 */
struct filter_counts {
	uint64_t met, found;
};
struct filter_counts filter_count(const struct filter *filter);

/* Bytes of memory that the filter holds: they have a limit whatever the log. */
size_t filter_memory(const struct filter *filter);

#endif

/*
 * object_lookup.h - an object file as GSYM: from the user's cache, else from a mounted gsymfs, else converted
 * by a caged worker.
 */
#ifndef CLI_LOOKUP_OBJECT_LOOKUP_H
#define CLI_LOOKUP_OBJECT_LOOKUP_H

#include "work/cache/handle.h"

struct convert_request;
struct image_details;
struct converter;
struct lookup_image;
struct search_path;

enum { OBJECT_ARCHES_MAX = 8 };

/* The architectures of the images in a file, at most so many. */
struct object_arches {
	size_t n;
	char name[OBJECT_ARCHES_MAX][16];
};

/* All borrowed. */
struct object_options {
	const char *arch; /* which image of a fat file; NULL: it has to be the only one */
	bool any_alone;   /* a file of one image needs not be for @arch */
	/* Set to what there is to choose from, with -EINVAL, if @arch names none of several. Or NULL. */
	struct object_arches *choices;
	const char
		*advice;   /* what to do about a fat file with no such image, or with several; NULL: --arch */
	const char *cache; /* the directory; NULL: $GSYMFS_CACHE, or the default, which is that of gsymfs */
	const char *mount; /* where gsymfs is mounted; NULL: $GSYMFS_MOUNT, or those of fstab */
	/* Directories of debug files, absolute, NULL-terminated; NULL: the default one alone. */
	const char *const *debug_dirs;
	const char *package; /* the DWARF package of the file, absolute; NULL: the one beside it */
	/*
	 * Addresses that are waited for, WORKER_ASKED_MAX at most. A file that was not converted is first
	 * read around these alone: @early is called with an image that has those functions that are certain,
	 * and ends with the call. It returns whether nothing else will be asked: then the rest is not waited
	 * for. Of a file that is asked about again it is converted by a process that outlives this one.
	 */
	const struct convert_address *asked;
	size_t n_asked;
	bool (*early)(void *user, const struct lookup_image *image);
	bool has_details; /* the image is asked for what GSYM does not hold */
	/* Where other files are searched, instead of everywhere; NULL: see @debug_dirs. */
	const struct search_path *search;
	/*
	 * Does what is to be done with the image, which is identified and not opened then; its value is that
	 * of object_lookup_open(). @request: as for convert_run(). @fd: the object file. NULL: it is opened.
	 */
	int (*use)(void *user, const struct converter *converter, const struct convert_request *request,
		   int fd, struct gsym_diag *diag);
	void *user;
};

/* Zero-initialised is closed. */
struct lookup_image {
	const struct gsym_reader *reader; /* of either of the next two */
	struct handle *handle;            /* an entry of the cache: one reference, or NULL */
	struct gsym_reader *opened;       /* a GSYM file, as in a mount, or NULL */
	enum demangle_mode demangle;      /* that fits its names */
	uint64_t base;                    /* image base */
	/* 0, or where the base is not known the end of the code: see address_from_usual_base() */
	uint64_t relative_end;
	struct image_details *details; /* NULL: it has none, or they are not wanted */
};

/*
 * Opens the image in the object file @path; lookup_image_close() closes it. 0; -ENOEXEC when it is no object
 * file; -EALREADY when early() has answered all; or another errno with a message in @diag, -ENODATA when no
 * function in it is known. The message is empty if a signal ended it: SIGINT, SIGTERM and SIGHUP end a
 * conversion, and then the process.
 */
int object_lookup_open(const char *path, const struct object_options *options, struct lookup_image *ret,
		       struct gsym_diag *diag);

/*
 * After -ENOEXEC, for a file that could not be opened as GSYM either: sets @diag to what the file is, unless
 * it has the magic number of GSYM files, of which the reader has said in @diag what is wrong.
 */
void object_lookup_explain(const char *path, struct gsym_diag *diag);

void lookup_image_close(struct lookup_image *image);

#endif

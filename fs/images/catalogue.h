/*
 * catalogue.h - all images there are: scans add files and names to them, and drop what is gone.
 */
#ifndef FS_IMAGES_CATALOGUE_H
#define FS_IMAGES_CATALOGUE_H

#include "fs/images/images.h"

void images_init(struct images *images);
void images_deinit(struct images *images);
void image_free(struct image *image);

/*
 * Keeps an image, until it is unpinned, beyond the time inside images.readers. The last unpinning releases
 * one of which nothing is left. NULL is allowed.
 */
void image_pin(struct images *images, struct image *image) EXCLUDES(&images->lock);
void image_unpin(struct images *images, struct image *image) EXCLUDES(&images->lock);
void image_unpin_locked(struct images *images, struct image *image) REQUIRES(&images->lock);

/* Prepares for about @n more images, each in a file; without memory, they are added slower. */
void images_expect(struct images *images, size_t n) EXCLUDES(&images->lock);

/* A path of a file, as by-path has it. */
struct found_at {
	const char *basename; /* NULL: it has none of these */
	uint32_t directory;   /* of images_add_directory() */
	bool last;            /* the file has no more images */
	uint32_t pass;        /* of the scan */
};

/*
 * The directory @name of SOURCE, in the directory @parent: its number, or PATH_NONE without memory; see
 * path_tree_enter().
 */
uint32_t images_add_directory(struct images *images, uint32_t parent, const char *name,
			      const struct path_attr *attr) EXCLUDES(&images->lock);

/* If by-path has the directory @path, it looks like @attr from now on. */
void images_set_directory(struct images *images, const char *path, const struct path_attr *attr)
	EXCLUDES(&images->lock);

/*
 * The directory called so in by-path, or NULL: one with images; during the first scan, which may find some,
 * also one that was asked for.
 */
const struct path_dir *images_find_directory(const struct images *images, uint32_t parent, const char *name)
	REQUIRES(&images->lock);

/* What the scanner found at one path. */
struct finding {
	const char *id; /* canonical text */
	struct found_at at;
	struct source source; /* path and all are borrowed */
	bool alone;           /* the file has no other path: its permissions are known */
};

/*
 * Adds a file, or notes that it is still there. Calls that waited for this image go to @woken, to be resumed
 * without the lock. 0 or -ENOMEM.
 */
int images_add(struct images *images, const struct finding *finding, struct list *woken)
	EXCLUDES(&images->lock);

/* Adds a further name of the image @id, if there is such an image: that of a symbolic link to its file. */
int images_add_name(struct images *images, const char *id, const struct found_at *at) EXCLUDES(&images->lock);

/*
 * Adds a name that a file of an image tells of itself, if there is such an image; see basename_add_title().
 * @id: of the image
 * @name: what the file tells
 * @dir: the directory of the file in by-path
 * @pass: of the scan that sees it
 * 0 or -ENOMEM.
 */
int images_add_title(struct images *images, const char *id, const char *name, uint32_t dir, uint32_t pass)
	EXCLUDES(&images->lock);

/*
 * Drops what was at a path.
 * @path: below SOURCE
 * @pass: what this scan has seen there stays
 * @gone: told of every file that has no other path, with @user
 * False when a walk has to find out: another path leads to the same image, maybe to the same file.
 */
bool images_forget_path(struct images *images, const char *path, uint32_t pass,
			void (*gone)(void *user, dev_t dev, ino_t ino), void *user) EXCLUDES(&images->lock);

/* Does so of all below the directory @path. */
bool images_forget_below(struct images *images, const char *path, uint32_t pass,
			 void (*gone)(void *user, dev_t dev, ino_t ino), void *user) EXCLUDES(&images->lock);

/* Drops the file of the image @id that was fetched, if it has one. */
void images_drop_fetched(struct images *images, const char *id) EXCLUDES(&images->lock);

/* How a scan ended. */
struct scan_report {
	int err;      /* 0, or why it did not see all files */
	int unknown;  /* 0, or why it does not know what some file holds */
	bool hashing; /* some file has no id yet, because it is being hashed */
};

/*
 * After scan @pass: drops what it did not see if it saw all files, and wakes calls that waited for it. Until
 * a scan has neither error, one of them is the answer for what is not known.
 */
void images_scanned(struct images *images, uint32_t pass, const struct scan_report *report,
		    struct list *woken) EXCLUDES(&images->lock);

/*
 * After a look at what has changed: wakes calls that waited because the file of their image was replaced, if
 * the image has another by now. Not before the end: a debug file and its program may change together.
 */
void images_looked(struct images *images, struct list *woken) EXCLUDES(&images->lock);

/* With the lock: moves all calls that wait for a scan or a revision to @woken. */
void images_wake_all(struct images *images, struct list *woken) REQUIRES(&images->lock);

#endif

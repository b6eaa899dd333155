/* images_fixture.h - a catalogue of images for tests, and files to put into it as a scan does. */
#ifndef TESTS_UNIT_FS_IMAGES_FIXTURE_H
#define TESTS_UNIT_FS_IMAGES_FIXTURE_H

#include "fs/images/revision.h"

#define ID "0123456789abcdef"

enum { OWNER = 1000, GROUP = 1000, STRANGER = 2000 };
enum { GSYM_SIZE = 12345 }; /* of the handles */

struct images_fixture {
	struct images images;
	uint32_t top, pass;
	ino_t ino; /* the last one of put_new() */
};

int images_fixture_set_up(void **state);
int images_fixture_tear_down(void **state);

/* Files of OWNER that all may read. A program with @richness DWARF is as linked, else as installed. */
struct source source_file(const char *path, enum richness richness);
struct source debug_file(void);
struct source program_file(enum richness richness);

/* The file @base with other attributes: assignments to members of @w. */
#define WITH(base, ...)                 \
	({                              \
		struct source w = base; \
		__VA_ARGS__;            \
		w;                      \
	})

/* The scan @f->pass meets a file of the image ID; one with an inode of its own; a file of the image @id. */
void put(struct images_fixture *f, struct source s);
void put_new(struct images_fixture *f, struct source s);
void put_as(struct images_fixture *f, const char *id, struct source s);

/* The scan ends with @err, the next one begins. */
void scanned(struct images_fixture *f, int err);

/* The revision of an image, and of ID. */
struct revision *revision_of(struct images_fixture *f, const char *id);
struct revision *current(struct images_fixture *f);

/* How many there are. */
size_t revisions(struct images_fixture *f);

/* The files of the revision of ID must be these; @binary may be NULL: none. */
void expect(struct images_fixture *f, const char *source, const char *binary);

struct handle *new_handle(void);

/* @rev gets a fragment, which displaces none, or loses all that it has. */
void give_fragment(struct images_fixture *f, struct revision *rev, struct handle *fragment);
void take_fragments(struct images_fixture *f, struct revision *rev);

/* Returns the handle that the caller has to put: that of another revision, @handle itself, or none. */
struct handle *make_ready(struct images_fixture *f, struct revision *rev, struct handle *handle);

#endif

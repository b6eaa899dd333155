/*
 * gsym_source.h - GSYM that somebody else made: a file of it, or a section of an object file.
 *
 * It is not believed: every record, string and file goes through the reader and is written anew.
 */
#ifndef CONVERT_OBJECT_GSYM_SOURCE_H
#define CONVERT_OBJECT_GSYM_SOURCE_H

#include "convert/object/object_file.h"
#include "convert/record/oddity.h"

/*
 * Opens what an object file has in its section ".gsym" or "__gsym", as object->gsym. One that is damaged, or
 * belongs to another build, is counted and left alone. 0 or -ENOMEM.
 */
int gsym_source_embedded(struct object_file *object, struct oddities *odd);

struct gsym_copy_job {
	const struct gsym_reader *from;
	struct oddities *odd;
	int (*progress)(void *user, uint64_t done, uint64_t total); /* non-zero stops */
	void *user;
	uint64_t n_written;
};

/* Copies all that @job->from holds, but for damaged records. 0, -ENODATA when nothing is left, or what went
 * wrong. */
int gsym_source_copy(struct gsym_copy_job *job, struct gsym_writer *writer, struct gsym_diag *diag);

#endif

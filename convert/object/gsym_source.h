/*
 * gsym_source.h - existing GSYM as a source: a GSYM file, or a section of an object file.
 *
 * It is not trusted: every record, string and file is decoded and encoded anew.
 */
#ifndef CONVERT_OBJECT_GSYM_SOURCE_H
#define CONVERT_OBJECT_GSYM_SOURCE_H

#include "convert/object/object_file.h"
#include "convert/record/warning.h"

/*
 * Opens the section ".gsym" or "__gsym" of @object as object->gsym. One that is damaged, or belongs to
 * another build, is counted in @warnings and ignored. 0 or -ENOMEM.
 */
int gsym_source_embedded(struct object_file *object, struct warnings *warnings);

struct gsym_copy_job {
	const struct gsym_reader *from;
	struct warnings *warnings;
	int (*progress)(void *user, uint64_t done, uint64_t total); /* non-zero stops */
	void *user;
	uint64_t n_written;
};

/* Copies all of job->from except damaged records. 0, -ENODATA when all are damaged, -ECANCELED, -ENOMEM, or
 * the writer's errno. */
int gsym_source_copy(struct gsym_copy_job *job, struct gsym_writer *writer, struct gsym_diag *diag);

#endif

/*
 * recursive.h - converts all object files of a directory, several at a time.
 */
#ifndef CLI_CONVERT_RECURSIVE_H
#define CLI_CONVERT_RECURSIVE_H

/* What became of a file. Beside these, any enum command_status. */
enum { RECURSIVE_NOT_OBJECT = 100 };

struct recursive_job {
	const char *dir; /* is searched, without following symbolic links in it */
	const char
		*output; /* directory for the GSYM files, made if there is none; NULL: beside the objects */
	unsigned jobs;   /* files at a time; 0: as many as there are processors */
	/* Converts one file, in a child process. Returns an enum command_status, or RECURSIVE_NOT_OBJECT. */
	int (*convert)(void *user, const char *input, const char *output);
	void *user;
};

/* The outcome of all: counts of files. */
struct recursive_outcome {
	unsigned long converted, failed, skipped;
};

/*
 * Converts the regular files below job->dir, each to the same path below job->output, with ".gsym" after its
 * name. GSYM files are not converted, nor is what is in job->output if that is a directory in job->dir.
 * Continues after failures. The caller must have no other threads. 0, or the negative errno of reading
 * the directory or making one, after printing it.
 */
int recursive_convert(const struct recursive_job *job, struct recursive_outcome *ret);

/* Makes the directories that lead to @path, which is written to meanwhile. 0 or a negative errno. */
int recursive_make_parents(char *path);

#endif

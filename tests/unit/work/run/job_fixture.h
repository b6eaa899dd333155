/* job_fixture.h - a conversion of real files in a directory, with a real cache beside them. */
#ifndef TESTS_UNIT_JOB_FIXTURE_H
#define TESTS_UNIT_JOB_FIXTURE_H

#include "work/run/convert_job.h"
#include "tests/lib/unit.h"

struct job_fixture {
	char root[64], cache_path[80];
	struct log log;
	struct cache cache;
	struct converter converter;
	struct cache_key key;
	struct convert_request request; /* of the files "source" and "binary" */
	struct outcome out;
	struct convert_job job;
};

int job_set_up(void **state);
int job_tear_down(void **state);

/* The path of a file of the directory. */
void job_path(const struct job_fixture *f, const char *name, char ret[static 128]);
void job_write_file(const struct job_fixture *f, const char *name, const char *text);

/* The file as it is now. */
struct convert_input job_scanned(const struct job_fixture *f, const char *name);

/* The job as it is before job_prepare(). */
struct convert_job *job_begin(struct job_fixture *f);

/* Removes the files of the cache that end with @ending; how many there were. */
unsigned job_take_cached(struct job_fixture *f, const char *ending);

/* Writes GSYM with the id of the key and one function, as a worker does; returns its size. */
uint64_t job_write_gsym(int fd);

#endif

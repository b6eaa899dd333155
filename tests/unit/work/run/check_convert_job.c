/* The files of a conversion before its worker starts: what is wrong with one decides what is remembered. */

#include "work/cache/publish.h"
#include "work/run/convert_job.h"
#include "tests/unit/work/run/job_fixture.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static bool has_memory = true; /* for files in memory */

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags)
{
	if (has_memory)
		return __real_memfd_create(name, flags);
	errno = ENOMEM;
	return -1;
}

static int tear_down(void **state)
{
	has_memory = true;
	return job_tear_down(state);
}

/* It fails with this outcome, and nothing is left open or in the cache. */
static void assert_fails(struct job_fixture *f, enum verdict verdict, int err, const char *message)
{
	int lowest = dup(STDIN_FILENO);
	close(lowest);
	assert_true(job_prepare(job_begin(f)) < 0);
	job_close(&f->job);
	int after = dup(STDIN_FILENO);
	close(after);
	assert_int_equal(after, lowest);
	assert_int_equal(f->out.verdict, verdict);
	assert_int_equal(f->out.err, err);
	if (!strstr(f->out.diag.text, message))
		fail_msg("'%s' in '%s'", message, f->out.diag.text);
	assert_int_equal(job_take_cached(f, ""), 0);
}

TEST_OF(all_are_opened, struct job_fixture, f)
{
	assert_int_equal(job_prepare(job_begin(f)), 0);
	assert_true(f->job.input >= 0 && f->job.binary >= 0 && f->job.temp.fd >= 0 && f->job.fragment >= 0);
	assert_int_equal(job_check_input(&f->job), 0);
	job_close(&f->job);
	f->request.binary.path = NULL;
	assert_int_equal(job_prepare_fragments(job_begin(f)), 0);
	assert_true(f->job.input >= 0 && f->job.binary < 0 && f->job.temp.fd < 0 && f->job.fragment >= 0);
	job_close(&f->job);
}

/* Of either file: none of that name, or another one, is a file that changed since it was scanned. */
TEST_OF(replaced, struct job_fixture, f)
{
	char link[128];
	job_write_file(f, "other", "something else");
	job_path(f, "link", link);
	assert_int_equal(symlink(link, link), 0);
	static const char *const others[] = {"none", "other", "other/file", "link", "cache"};
	for (size_t i = 0; i < 2 * ARRAY_SIZE(others); i++) {
		struct convert_input *input = i % 2 ? &f->request.binary : &f->request.source;
		const struct convert_input was = *input;
		char message[64];
		input->path = others[i / 2];
		snprintf(message, sizeof(message), "%.20s: changed since it was scanned", input->path);
		assert_fails(f, VERDICT_REPLACED, -ESTALE, message);
		*input = was;
	}
	assert_int_equal(job_prepare(job_begin(f)), 0);
	job_close(&f->job);
}

/* What the machine lacks is never taken for a fault of the file. */
TEST_OF(machine, struct job_fixture, f)
{
	static char name[NAME_MAX + 2];
	const struct convert_input was = f->request.source;
	memset(name, 'x', sizeof(name) - 1);
	f->request.source.path = name;
	assert_fails(f, VERDICT_REPLACED, -ESTALE, "changed");
	f->request.source = was;
	f->converter.root = "/none";
	assert_fails(f, VERDICT_REPLACED, -ESTALE, "source: changed");
	f->converter.root = f->root;
	has_memory = false;
	assert_fails(f, VERDICT_TRANSIENT, -EIO, "cannot make a file in memory: Cannot allocate memory");
}

TEST_OF(descriptors, struct job_fixture, f)
{
	struct rlimit was, less;
	int lowest = dup(STDIN_FILENO), n = 0;
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	for (int err = -1; err; n++) {
		less = (struct rlimit){.rlim_cur = (rlim_t)(lowest + n), .rlim_max = was.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
		err = job_prepare(job_begin(f));
		job_close(&f->job);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
		if (!err)
			continue;
		assert_int_equal(f->out.verdict, VERDICT_TRANSIENT);
		assert_int_equal(f->out.err, -EIO);
		assert_non_null(strstr(f->out.diag.text, "Too many open files"));
	}
	assert_int_equal(n, 6); /* so many at least, as a directory is open while a file in it is opened */
}

/* A cache that is full is replaced by memory, of which it may have none left. */
TEST_OF(full_cache, struct job_fixture, f)
{
	atomic_store(&f->cache.retry_at, INT64_MAX);
	assert_int_equal(job_prepare(job_begin(f)), 0);
	assert_true(f->job.in_memory && f->job.temp.fd >= 0 && !f->job.temp.name[0]);
	job_close(&f->job);
	f->cache.memory = 0;
	const time_t now = time(NULL);
	assert_int_equal(job_prepare(job_begin(f)), -ENOSPC);
	assert_true(f->job.in_memory && !f->job.no_room);
	assert_int_equal(f->out.verdict, VERDICT_FAILED);
	assert_int_equal(f->out.err, -ENOSPC);
	assert_true(f->out.again >= now + CACHE_RETRY_SECONDS);
	job_close(&f->job);
	f->job.in_memory = false;
	job_fail_for_room(&f->job);
	assert_true(f->job.no_room);
}

/* Either file may change while it is converted; then what a worker says of it is not taken. */
TEST_OF(changed_later, struct job_fixture, f)
{
	const struct worker_fragment none = {.output_size = 0}, some = {.output_size = 1};
	struct handle *handle;
	static const char *const names[] = {"source", "binary"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(job_prepare(job_begin(f)), 0);
		job_write_file(f, names[i], "changed");
		assert_int_equal(job_check_input(&f->job), -ESTALE);
		assert_int_equal(job_take_fragment(&f->job, &some, &handle), -ESTALE);
		assert_int_equal(job_take_fragment(&f->job, &none, &handle), 0);
		assert_null(handle);
		job_close(&f->job);
		f->request.source = job_scanned(f, "source");
	}
}

EACH_TEST(job_set_up, tear_down)

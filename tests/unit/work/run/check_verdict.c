/*
 * What becomes of a conversion whose worker has ended: errno, message, for how long it is remembered.
 * log_say() is wrapped: its lines would go to standard error, which is cmocka's.
 */

#include "work/cache/cache_entry.h"
#include "work/cache/publish.h"
#include "work/run/job_worker.h"
#include "tests/unit/work/run/job_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { NOW = 1000000, HOUR = 3600, ANY = -1 /* size of the output: what was written */ };

static unsigned lines;

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

time_t __wrap_time(time_t *ret)
{
	assert_null(ret);
	return NOW;
}

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
{
	(void)log, (void)level;
	assert_non_null(fmt);
	lines++;
}

/* ---- The job ---- */

static int set_up(void **state)
{
	int err = job_set_up(state);
	struct job_fixture *f = *state;
	f->request.binary.path = NULL;
	f->converter.memory = 4096;
	f->converter.seconds = 60;
	f->converter.threads = 2;
	f->converter.search.servers = 0xabc;
	f->cache.memory = CACHE_MEMORY_MAX;
	lines = 0;
	return err ? err : job_prepare(job_begin(f));
}

static int tear_down(void **state)
{
	struct job_fixture *f = *state;
	job_close(&f->job);
	handle_put(f->out.handle);
	return job_tear_down(state);
}

/* Begins anew, with another output. */
static void restart(struct job_fixture *f, bool in_memory)
{
	job_close(&f->job);
	handle_put(f->out.handle); /* which job_begin() forgets */
	job_begin(f)->in_memory = in_memory;
	atomic_store(&f->cache.retry_at, 0);
	assert_int_equal(job_prepare(&f->job), 0);
}

/* Puts a file in place of the output to which nothing more can be written. */
static void fill(const struct job_fixture *f)
{
	int fd = memfd_create("full", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	job_write_gsym(fd);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	assert_true(dup3(fd, f->job.temp.fd, O_CLOEXEC) >= 0);
	close(fd);
}

static int exited(int status)
{
	return status << 8;
}

static void decide(struct job_fixture *f, int why_killed, int status, long seconds)
{
	const struct rusage usage = {.ru_utime.tv_sec = seconds - 2, .ru_stime.tv_sec = 2};
	handle_put(f->out.handle);
	f->out = (struct outcome){.err = 0};
	verdict_decide(&f->job, why_killed, status, &usage);
}

static void expect(struct job_fixture *f, enum verdict verdict, int err, int64_t again, const char *text)
{
	assert_int_equal(f->out.verdict, verdict);
	assert_int_equal(f->out.err, err);
	assert_int_equal(f->out.again, again);
	assert_string_equal(f->out.diag.text, text);
	assert_null(f->out.handle);
	assert_int_equal(job_take_cached(f, ".gsym"), 0);
}

/* ---- It reported an error ---- */

static void report(struct job_fixture *f, int err, const char *text)
{
	f->job.has_failed = true;
	f->job.failed.error = err;
	snprintf(f->job.failed.text, sizeof(f->job.failed.text), "%s", text);
	decide(f, 0, exited(1), 2);
}

TEST_OF(reported, struct job_fixture, f)
{
	static const struct {
		int err;
		bool at_limit;
		enum verdict verdict;
		int becomes;
		int64_t again;
		const char *text, *prefix;
	} table[] = {
		{EBADMSG, false, VERDICT_FAILED_FOREVER, -EIO, 0, "section .debug_line", ""},
		{ENODATA, false, VERDICT_FAILED_FOREVER, -EIO, 0, "%s", ""},
		{EIO, false, VERDICT_TRANSIENT, -EIO, 0, "read", ""},
		{EFBIG, false, VERDICT_FAILED, -EFBIG, NOW + HOUR, "large", ""},
		{ENOMEM, false, VERDICT_TRANSIENT, -EIO, 0, "memory", ""},
		{ENOMEM, true, VERDICT_FAILED, -EFBIG, NOW + HOUR, "memory",
		 "needs more than convert_memory=4096 bytes of memory: "},
	};
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char text[128];
		snprintf(text, sizeof(text), "%s%s", table[i].prefix, table[i].text);
		f->job.failed.at_limit = table[i].at_limit;
		report(f, table[i].err, table[i].text);
		expect(f, table[i].verdict, table[i].becomes, table[i].again, text);
	}
}

/* The directory is full for this file only, unless nothing can be written to it. */
TEST_OF(no_room, struct job_fixture, f)
{
	static const int errors[] = {ENOSPC, EDQUOT};
	for (size_t i = 0; i < 2; i++) {
		lines = 0;
		restart(f, false);
		report(f, errors[i], "full");
		expect(f, VERDICT_FAILED, -ENOSPC, NOW + CACHE_RETRY_SECONDS, "full");
		assert_true(f->job.no_room && !cache_is_full(&f->cache));
		assert_int_equal(lines, 1);
		fill(f);
		report(f, errors[i], "full");
		assert_true(f->job.no_room && cache_is_full(&f->cache));
		/* In memory there was none either; that says nothing of the directory. */
		restart(f, true);
		report(f, errors[i], "full");
		expect(f, VERDICT_FAILED, -ENOSPC, NOW + CACHE_RETRY_SECONDS, "full");
		assert_true(!f->job.no_room && !cache_is_full(&f->cache));
	}
	report(f, EFBIG, "larger than the file in memory may be");
	expect(f, VERDICT_FAILED, -ENOSPC, NOW + CACHE_RETRY_SECONDS,
	       "larger than the file in memory may be");
}

/* ---- Servers ---- */

TEST_OF(unreachable, struct job_fixture, f)
{
	f->job.fetch_failure = -EHOSTDOWN;
	f->job.again = NOW + 5;
	report(f, ENODATA, "no debug data");
	expect(f, VERDICT_FAILED, -EHOSTUNREACH, NOW + 5,
	       "debuginfod: Host is down; asking again later: no debug data");
	f->job.fetch_failure = -ETIMEDOUT;
	report(f, ENODATA, "no debug data");
	assert_int_equal(f->out.err, -ETIMEDOUT);
	report(f, EBADMSG, "damaged"); /* a fault of the file all the same */
	expect(f, VERDICT_FAILED_FOREVER, -EIO, 0, "damaged");
}

/* When servers are asked again goes into the inputs. */
TEST_OF(asking_again, struct job_fixture, f)
{
	static const struct {
		int64_t again;
		bool fetched;
		uint64_t units;
		const char *text;
	} rows[] = {
		{0, false, 0, ""},
		{0, true, 1, ""},
		{0, true, 0, "0000000000000abc debuginfod 1003600\n"},
		{NOW + 5, true, 0, "0000000000000abc debuginfod 1000005\n"},
		{NOW + 5, false, 3, "0000000000000abc debuginfod 1000005\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		text_reset(&f->job.inputs);
		f->job.again = rows[i].again;
		f->job.fetched = rows[i].fetched;
		f->job.done.units = rows[i].units;
		report(f, EBADMSG, "damaged");
		assert_int_equal(f->job.inputs.n, strlen(rows[i].text));
		assert_memory_equal(f->job.inputs.n ? f->job.inputs.v : "", rows[i].text, f->job.inputs.n);
	}
}

/* ---- It was killed, by itself or by others ---- */

TEST_OF(killed, struct job_fixture, f)
{
	decide(f, -ETIMEDOUT, SIGKILL, 2);
	expect(f, VERDICT_FAILED, -EFBIG, NOW + HOUR, "took longer than convert_time=60 seconds");
	decide(f, -EPROTO, SIGKILL, 2);
	expect(f, VERDICT_CRASHED, -EIO, NOW + HOUR, "the worker violated the protocol");
	decide(f, -EPIPE, SIGKILL, 2);
	expect(f, VERDICT_TRANSIENT, -EIO, 0, "cannot speak with the worker: Broken pipe");
	job_write_file(f, "source", "changed"); /* is not looked at: the daemon ends */
	decide(f, -ECANCELED, SIGKILL, 2);
	expect(f, VERDICT_TRANSIENT, -ENOTCONN, 0, "the conversion was stopped");
}

TEST_OF(signals, struct job_fixture, f)
{
	static const char over[] = "needs more processor time than convert_time=60 allows";
	decide(f, 0, SIGXCPU, 2);
	expect(f, VERDICT_FAILED, -EFBIG, NOW + HOUR, over);
	/* 60 seconds for each of two threads, and five more until it is killed. */
	decide(f, 0, SIGKILL, 124);
	expect(f, VERDICT_FAILED, -EFBIG, NOW + HOUR, over);
	decide(f, 0, SIGKILL, 123);
	expect(f, VERDICT_TRANSIENT, -EIO, 0,
	       "the worker was killed by signal 9 (Killed), as when memory is short");
	decide(f, 0, SIGTERM, 200);
	expect(f, VERDICT_TRANSIENT, -EIO, 0, "the worker was killed by signal 15 (Terminated)");
	decide(f, 0, SIGSEGV, 2);
	expect(f, VERDICT_CRASHED, -EIO, NOW + HOUR,
	       "the worker was killed by signal 11 (Segmentation fault)");
	f->job.has_done = true; /* whatever it said before */
	decide(f, 0, SIGSEGV, 2);
	assert_int_equal(f->out.verdict, VERDICT_CRASHED);
}

/* ---- The file is another one ---- */

TEST_OF(replaced, struct job_fixture, f)
{
	f->job.has_done = true;
	f->job.done.output_size = job_write_gsym(f->job.temp.fd);
	job_write_file(f, "source", "changed");
	decide(f, 0, exited(0), 2);
	expect(f, VERDICT_REPLACED, -ESTALE, 0, "source: changed while it was converted");
	decide(f, -ETIMEDOUT, SIGKILL, 2);
	assert_int_equal(f->out.verdict, VERDICT_REPLACED);
	close(f->job.input);
	f->job.input = -1;
	decide(f, 0, exited(0), 2);
	expect(f, VERDICT_TRANSIENT, -EIO, 0, "source: cannot stat: Bad file descriptor");
}

/* ---- It has exited ---- */

TEST_OF(without_a_result, struct job_fixture, f)
{
	decide(f, 0, exited(0), 2);
	expect(f, VERDICT_CRASHED, -EIO, NOW + HOUR, "the worker exited without a result (status 0)");
	f->job.has_done = true;
	decide(f, 0, exited(1), 2);
	expect(f, VERDICT_CRASHED, -EIO, NOW + HOUR, "the worker exited without a result (status 1)");
}

static void done(struct job_fixture *f, int size, bool has_ada)
{
	f->job.has_done = true;
	f->job.done = (struct worker_done){.output_size = size == ANY ? job_write_gsym(f->job.temp.fd)
								      : (uint64_t)size,
					   .image_base = 0x400000,
					   .units = 3,
					   .functions_dwarf = 5,
					   .functions_symbols = 6,
					   .bounded_by = ".eh_frame",
					   .has_ada = has_ada};
	decide(f, 0, exited(0), 2);
}

TEST_OF(succeeded, struct job_fixture, f)
{
	static const char notes[] =
		"image_base\t0x400000\n%sunits\t3\nfunctions_dwarf\t5\nfunctions_symbols\t6\n"
		"bounded_by\t.eh_frame\n";
	for (unsigned i = 0; i < 8; i++) {
		char want[256];
		bool in_memory = i & 1, has_ada = i & 4;
		restart(f, in_memory);
		f->job.asked = i & 2; /* for neighbours, on which the entry then depends */
		text_str(&f->job.inputs, "input\n");
		done(f, ANY, has_ada);
		assert_int_equal(f->out.verdict, VERDICT_READY);
		assert_int_equal(f->out.err, 0);
		assert_int_equal(f->out.again, 0);
		const struct handle *handle = f->out.handle;
		snprintf(want, sizeof(want), notes, has_ada ? "language\tAda\n" : "");
		assert_int_equal(handle->notes.size, strlen(want));
		assert_memory_equal(handle->notes.data, want, strlen(want));
		assert_int_equal(handle->inputs.size, 6);
		assert_memory_equal(handle->inputs.data, "input\n", 6);
		assert_int_equal(handle->in_memory != NULL, in_memory);
		/* The entry's name tells whether others may use it. */
		char name[CACHE_NAME_SIZE];
		cache_entry_name(name, &f->key, !(i & 2));
		assert_int_equal(faccessat(f->cache.dir, name, F_OK, 0) == 0, !in_memory);
		assert_int_equal(job_take_cached(f, ".gsym"), !in_memory);
	}
}

TEST_OF(not_published, struct job_fixture, f)
{
	uint64_t size = job_write_gsym(f->job.temp.fd);
	fill(f);
	done(f, (int)size, false);
	assert_int_equal(f->out.verdict, VERDICT_FAILED);
	assert_int_equal(f->out.err, -ENOSPC);
	assert_int_equal(f->out.again, NOW + CACHE_RETRY_SECONDS);
	assert_true(f->job.no_room && cache_is_full(&f->cache));
	restart(f, true);
	f->cache.memory = 1;
	done(f, ANY, false);
	assert_int_equal(f->out.verdict, VERDICT_FAILED);
	assert_int_equal(f->out.err, -ENOSPC);
	assert_true(!f->job.no_room && !cache_is_full(&f->cache));
	f->cache.memory = CACHE_MEMORY_MAX;
	/* No GSYM, and a file that somebody removed. */
	restart(f, false);
	assert_int_equal(ftruncate(f->job.temp.fd, 7), 0);
	done(f, 7, false);
	assert_int_equal(f->out.verdict, VERDICT_CRASHED);
	assert_int_equal(f->out.again, NOW + HOUR);
	restart(f, false);
	assert_int_equal(unlinkat(f->cache.dir, f->job.temp.name, 0), 0);
	done(f, ANY, false);
	assert_int_equal(f->out.verdict, VERDICT_TRANSIENT);
	assert_int_equal(f->out.err, -EIO);
}

TEST_OF(output_refused, struct job_fixture, f)
{
	static const char no_memory[] = "cannot take the worker's output: Cannot allocate memory";
	done(f, (int)job_write_gsym(f->job.temp.fd) + 1, false);
	expect(f, VERDICT_CRASHED, -EIO, NOW + HOUR, "the worker's output has not the size that it reported");
	f->job.inputs.failed = true;
	done(f, ANY, false);
	expect(f, VERDICT_TRANSIENT, -EIO, 0, no_memory);
	f->job.inputs.failed = false;
	f->job.notes.failed = true;
	done(f, ANY, false);
	expect(f, VERDICT_TRANSIENT, -EIO, 0, no_memory);
	close(f->job.temp.fd);
	f->job.temp.fd = -1;
	f->job.notes.failed = false;
	done(f, 7, false);
	expect(f, VERDICT_TRANSIENT, -EIO, 0, "cannot take the worker's output: Bad file descriptor");
}

EACH_TEST(set_up, tear_down)

/* What becomes of a conversion whose worker has ended: errno, message, for how long it is remembered. */

#include "work/cache/publish.h"
#include "work/run/verdict.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOW = 1000000, HOUR = 3600, OUTPUT = 7 /* bytes */ };

static int input_error, publish_error, probe_error, noted_full;
static unsigned probes, lines;
static struct cache the_cache;
static char published[512]; /* how, and with which notes and inputs */
static struct handle *const made = (struct handle *)&published;

time_t __wrap_time(time_t *ret);
int __wrap_job_check_input(const struct convert_job *job);
int __wrap_cache_temp_probe(const struct cache_temp *temp);
void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void __wrap_cache_note_full(struct cache *cache, int err);
int __wrap_cache_publish(struct cache *cache, struct cache_temp *temp, const struct cache_key *key,
			 bool alone, uint64_t gsym_size, struct span notes, struct span inputs,
			 struct handle **ret, struct gsym_diag *diag);
int __wrap_cache_keep(struct cache *cache, struct cache_temp *temp, const struct cache_key *key, bool alone,
		      uint64_t gsym_size, struct span notes, struct span inputs, struct handle **ret,
		      struct gsym_diag *diag);

time_t __wrap_time(time_t *ret)
{
	assert_null(ret);
	return NOW;
}

int __wrap_job_check_input(const struct convert_job *job)
{
	assert_non_null(job);
	return input_error;
}

int __wrap_cache_temp_probe(const struct cache_temp *temp)
{
	assert_non_null(temp);
	probes++;
	return probe_error;
}

void __wrap_cache_note_full(struct cache *cache, int err)
{
	assert_non_null(cache);
	noted_full = err;
}

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
{
	assert_ptr_equal(log, the_cache.log);
	assert_int_equal(level, LOG_LEVEL_INFO);
	assert_non_null(fmt);
	lines++;
}

static int publish(const char *how, bool alone, uint64_t size, struct span notes, struct span inputs,
		   struct handle **ret)
{
	snprintf(published, sizeof(published), "%s %s %u\n%.*s%.*s", how, alone ? "alone" : "asked",
		 (unsigned)size, (int)notes.size, (const char *)notes.data, (int)inputs.size,
		 (const char *)inputs.data);
	if (!publish_error)
		*ret = made;
	return publish_error;
}

int __wrap_cache_publish(struct cache *cache, struct cache_temp *temp, const struct cache_key *key,
			 bool alone, uint64_t gsym_size, struct span notes, struct span inputs,
			 struct handle **ret, struct gsym_diag *diag)
{
	assert_true(cache && temp && key && diag);
	return publish("published", alone, gsym_size, notes, inputs, ret);
}

int __wrap_cache_keep(struct cache *cache, struct cache_temp *temp, const struct cache_key *key, bool alone,
		      uint64_t gsym_size, struct span notes, struct span inputs, struct handle **ret,
		      struct gsym_diag *diag)
{
	assert_true(cache && temp && key && diag);
	return publish("kept", alone, gsym_size, notes, inputs, ret);
}

/* ---- The job ---- */

static const struct log no_log;
static struct converter converter;
static const struct cache_key key;
static const struct convert_request request = {
	.id = "0102", .arch = "x86_64", .source.path = "lib.so", .key = &key};
static struct outcome out;
static struct convert_job job;
static FILE *output;

static int set_up(void **state)
{
	(void)state;
	input_error = publish_error = probe_error = noted_full = 0;
	published[0] = 0;
	output = tmpfile();
	if (!output || ftruncate(fileno(output), OUTPUT))
		return -1;
	the_cache = (struct cache){.log = &no_log};
	converter = (struct converter){.cache = &the_cache,
				       .log = &no_log,
				       .memory = 4096,
				       .seconds = 60,
				       .threads = 2,
				       .search.servers = 0xabc};
	out = (struct outcome){.err = 0};
	job = (struct convert_job){
		.converter = &converter, .request = &request, .out = &out, .temp.fd = fileno(output)};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	text_deinit(&job.notes);
	text_deinit(&job.inputs);
	return fclose(output);
}

static int exited(int status)
{
	return status << 8;
}

static void decide(int why_killed, int status, long seconds)
{
	const struct rusage usage = {.ru_utime.tv_sec = seconds - 2, .ru_stime.tv_sec = 2};
	out = (struct outcome){.err = 0};
	verdict_decide(&job, why_killed, status, &usage);
}

static void expect(enum verdict verdict, int err, int64_t again, const char *text)
{
	assert_int_equal(out.verdict, verdict);
	assert_int_equal(out.err, err);
	assert_int_equal(out.again, again);
	assert_string_equal(out.diag.text, text);
	assert_null(out.handle);
}

/* ---- It reported an error ---- */

static void report(int err, const char *text)
{
	job.has_failed = true;
	job.failed.error = err;
	snprintf(job.failed.text, sizeof(job.failed.text), "%s", text);
	decide(0, exited(1), 2);
}

TEST(reported)
{
	report(EBADMSG, "section .debug_line");
	expect(VERDICT_FAILED_FOREVER, -EIO, 0, "section .debug_line");
	report(ENODATA, "%s");
	expect(VERDICT_FAILED_FOREVER, -EIO, 0, "%s");
	report(EIO, "read");
	expect(VERDICT_TRANSIENT, -EIO, 0, "read");
	report(EFBIG, "large");
	expect(VERDICT_FAILED, -EFBIG, NOW + HOUR, "large");
	report(ENOMEM, "memory");
	expect(VERDICT_TRANSIENT, -EIO, 0, "memory");
	job.failed.at_limit = 1;
	report(ENOMEM, "memory");
	expect(VERDICT_FAILED, -EFBIG, NOW + HOUR,
	       "needs more than convert_memory=4096 bytes of memory: memory");
	assert_string_equal(published, "");
}

/* The directory is full for this file only, unless nothing can be written to it. */
TEST(no_room)
{
	static const int errors[] = {ENOSPC, EDQUOT};
	for (size_t i = 0; i < 2; i++) {
		job.in_memory = false;
		probe_error = noted_full = 0;
		probes = lines = 0;
		report(errors[i], "full");
		expect(VERDICT_FAILED, -ENOSPC, NOW + CACHE_RETRY_SECONDS, "full");
		assert_true(job.no_room);
		assert_int_equal(noted_full, 0);
		assert_int_equal(lines, 1);
		probe_error = -ENOSPC;
		report(errors[i], "full");
		assert_true(job.no_room);
		assert_int_equal(noted_full, -ENOSPC);
		/* In memory there was none either; that says nothing of the directory. */
		noted_full = 0;
		job.in_memory = true;
		report(errors[i], "full");
		expect(VERDICT_FAILED, -ENOSPC, NOW + CACHE_RETRY_SECONDS, "full");
		assert_false(job.no_room);
		assert_int_equal(noted_full, 0);
		assert_int_equal(probes, 2); /* not for this one */
		assert_int_equal(lines, 1);
	}
	report(EFBIG, "larger than the file in memory may be");
	expect(VERDICT_FAILED, -ENOSPC, NOW + CACHE_RETRY_SECONDS, "larger than the file in memory may be");
}

/* ---- Servers ---- */

TEST(unreachable)
{
	job.fetch_failure = -EHOSTDOWN;
	job.again = NOW + 5;
	report(ENODATA, "no debug data");
	expect(VERDICT_FAILED, -EHOSTUNREACH, NOW + 5,
	       "debuginfod: Host is down; asking again later: no debug data");
	job.fetch_failure = -ETIMEDOUT;
	report(ENODATA, "no debug data");
	assert_int_equal(out.err, -ETIMEDOUT);
	report(EBADMSG, "damaged"); /* a fault of the file all the same */
	expect(VERDICT_FAILED_FOREVER, -EIO, 0, "damaged");
}

/* When servers are asked again goes into the inputs. */
TEST(asking_again)
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
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		text_reset(&job.inputs);
		job.again = rows[i].again;
		job.fetched = rows[i].fetched;
		job.done.units = rows[i].units;
		report(EBADMSG, "damaged");
		assert_int_equal(job.inputs.n, strlen(rows[i].text));
		assert_memory_equal(job.inputs.n ? job.inputs.v : "", rows[i].text, job.inputs.n);
	}
}

/* ---- It was killed, by itself or by others ---- */

TEST(killed)
{
	decide(-ETIMEDOUT, SIGKILL, 2);
	expect(VERDICT_FAILED, -EFBIG, NOW + HOUR, "took longer than convert_time=60 seconds");
	decide(-EPROTO, SIGKILL, 2);
	expect(VERDICT_CRASHED, -EIO, NOW + HOUR, "the worker violated the protocol");
	decide(-EPIPE, SIGKILL, 2);
	expect(VERDICT_TRANSIENT, -EIO, 0, "cannot speak with the worker: Broken pipe");
	input_error = -ESTALE; /* is not looked at: the daemon ends */
	decide(-ECANCELED, SIGKILL, 2);
	expect(VERDICT_TRANSIENT, -ENOTCONN, 0, "the conversion was stopped");
}

TEST(signals)
{
	static const char over[] = "needs more processor time than convert_time=60 allows";
	decide(0, SIGXCPU, 2);
	expect(VERDICT_FAILED, -EFBIG, NOW + HOUR, over);
	/* 60 seconds for each of two threads, and five more until it is killed. */
	decide(0, SIGKILL, 124);
	expect(VERDICT_FAILED, -EFBIG, NOW + HOUR, over);
	decide(0, SIGKILL, 123);
	expect(VERDICT_TRANSIENT, -EIO, 0, "the worker was killed by signal 9 (Killed)");
	decide(0, SIGTERM, 200);
	expect(VERDICT_TRANSIENT, -EIO, 0, "the worker was killed by signal 15 (Terminated)");
	decide(0, SIGSEGV, 2);
	expect(VERDICT_CRASHED, -EIO, NOW + HOUR, "the worker was killed by signal 11 (Segmentation fault)");
	job.has_done = true; /* whatever it said before */
	decide(0, SIGSEGV, 2);
	assert_int_equal(out.verdict, VERDICT_CRASHED);
	assert_string_equal(published, "");
}

/* ---- The file is another one ---- */

TEST(replaced)
{
	job.has_done = true;
	job.done.output_size = OUTPUT;
	input_error = -ESTALE;
	decide(0, exited(0), 2);
	expect(VERDICT_REPLACED, -ESTALE, 0, "'lib.so' changed while it was converted");
	input_error = -EACCES;
	decide(0, exited(0), 2);
	expect(VERDICT_TRANSIENT, -EIO, 0, "'lib.so': cannot stat: Permission denied");
	assert_string_equal(published, "");
	input_error = -ESTALE;
	decide(-ETIMEDOUT, SIGKILL, 2);
	assert_int_equal(out.verdict, VERDICT_REPLACED);
}

/* ---- It has exited ---- */

TEST(without_a_result)
{
	decide(0, exited(0), 2);
	expect(VERDICT_CRASHED, -EIO, NOW + HOUR, "the worker exited without a result (status 0)");
	job.has_done = true;
	decide(0, exited(1), 2);
	expect(VERDICT_CRASHED, -EIO, NOW + HOUR, "the worker exited without a result (status 1)");
	assert_string_equal(published, "");
}

static void done(void)
{
	job.has_done = true;
	job.done = (struct worker_done){.output_size = OUTPUT,
					.image_base = 0x400000,
					.units = 3,
					.functions_dwarf = 5,
					.functions_symbols = 6};
	text_reset(&job.notes);
	decide(0, exited(0), 2);
}

TEST(succeeded)
{
	text_str(&job.inputs, "input\n");
	done();
	assert_string_equal(published,
			    "published alone 7\nimage_base\t0x400000\nunits\t3\nfunctions_dwarf\t5\n"
			    "functions_symbols\t6\ninput\n");
	assert_ptr_equal(out.handle, made);
	assert_int_equal(out.verdict, VERDICT_READY);
	assert_int_equal(out.err, 0);
	assert_int_equal(out.again, 0);
	job.asked = true;
	job.in_memory = true;
	done();
	assert_memory_equal(published, "kept asked 7\n", 13);
	assert_null(strstr(published, "language\tAda\n"));
	job.done.has_ada = 1;
	text_reset(&job.notes);
	decide(0, exited(0), 2);
	assert_non_null(strstr(published, "language\tAda\n"));
}

TEST(not_published)
{
	publish_error = -ENOSPC;
	done();
	expect(VERDICT_FAILED, -ENOSPC, NOW + CACHE_RETRY_SECONDS, "");
	assert_int_equal(noted_full, -ENOSPC);
	assert_true(job.no_room);
	noted_full = 0;
	job.in_memory = true;
	done();
	expect(VERDICT_FAILED, -ENOSPC, NOW + CACHE_RETRY_SECONDS, "");
	assert_int_equal(noted_full, 0);
	publish_error = -EBADMSG;
	done();
	expect(VERDICT_CRASHED, -EIO, NOW + HOUR, "");
	publish_error = -ENOMEM;
	done();
	expect(VERDICT_TRANSIENT, -EIO, 0, "");
}

TEST(output_refused)
{
	job.done.output_size = OUTPUT + 1;
	job.has_done = true;
	decide(0, exited(0), 2);
	expect(VERDICT_CRASHED, -EIO, NOW + HOUR, "the worker's output has not the size that it reported");
	job.inputs.failed = true;
	done();
	expect(VERDICT_TRANSIENT, -EIO, 0, "cannot take the worker's output: Cannot allocate memory");
	job.inputs.failed = false;
	job.notes.failed = true;
	job.done.output_size = OUTPUT;
	decide(0, exited(0), 2);
	expect(VERDICT_TRANSIENT, -EIO, 0, "cannot take the worker's output: Cannot allocate memory");
	job.temp.fd = -1;
	done();
	expect(VERDICT_TRANSIENT, -EIO, 0, "cannot take the worker's output: Bad file descriptor");
	assert_string_equal(published, "");
}

EACH_TEST(set_up, tear_down)

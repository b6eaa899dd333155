/*
 * Conversions of object files in a store, for commands: what is opened, what is asked of the store and of the
 * converter, and what is said of it. Linked with --wrap.
 */
#include "object_share_fixture.h"

#include "cli/store/object_share.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "work/cache/handle.h"
#include "work/run/defaults.h"

/* ---- Opening ---- */

TEST(opened)
{
	open_share("");
	assert_string_equal(did, "open start");
	assert_string_equal(o.address, "http://h/a");
	char *default_dir = realpath(DEBUG_DIR_DEFAULT, NULL);
	assert_int_equal(o.dirs.n, 1);
	assert_string_equal(o.dirs.v[0], default_dir ? default_dir : DEBUG_DIR_DEFAULT);
	assert_int_equal(o.n_sources, 0);
	assert_int_equal(o.servers, 0);
	free(default_dir);
	close_share();
}

TEST(directories)
{
	static const char *const want[] = {"debug", "debug", "nowhere", "source", "debug"};
	debug_dirs = (struct option_list){{"debug", "link", "nowhere"}, 3};
	sources = (struct option_list){{in_directory("source"), "link"}, 2};
	open_share("");
	assert_int_equal(o.dirs.n, 5);
	for (size_t i = 0; i < o.dirs.n; i++)
		assert_string_equal(o.dirs.v[i], in_directory(want[i]));
	assert_int_equal(o.n_sources, 2);
	close_share();
}

/* Said once: the rest is not tried. */
TEST(bad_directories)
{
	debug_dirs = (struct option_list){{"debug", "source/object/a", "source/object/b"}, 3};
	open_share("gsym: source/object/a: Not a directory\n");
	assert_string_equal(did, "");
	close_share();
	debug_dirs.n = 1;
	sources = (struct option_list){{"source/object/a", "source/object/b"}, 2};
	open_share("gsym: source/object/a: Not a directory\n");
	close_share();
	debug_dirs.n = 2;
	open_share("gsym: source/object/a: Not a directory\n");
	close_share();
}

TEST(servers)
{
	static const char *const urls[] = {NULL, "", SERVERS};
	for (size_t i = 0; i < 3; i++) {
		object_share_reset();
		options.debuginfod = true;
		if (urls[i])
			setenv("DEBUGINFOD_URLS", urls[i], 1);
		open_share(i < 2 ? "gsym: --debuginfod: DEBUGINFOD_URLS is not set\n" : "");
		assert_string_equal(did, i < 2 ? "" : "open start");
		assert_int_equal(o.servers, i < 2 ? 0 : SERVERS_HASH);
		close_share();
	}
	/* Without the option they are not asked. */
	object_share_reset();
	open_share("");
	assert_int_equal(o.servers, 0);
	close_share();
}

TEST(cannot_open)
{
	with.signalfd_err = -EMFILE;
	open_share("gsym: http://h/a: Too many open files\n");
	assert_string_equal(did, "");
	close_share();
	object_share_reset();
	with.open_err = -ELIBACC;
	with.text = "store: no library";
	open_share("gsym: store: no library\n");
	assert_string_equal(did, "open");
	close_share();
	object_share_reset();
	with.start_err = -EAGAIN;
	open_share("gsym: http://h/a: cannot start a thread: Resource temporarily unavailable\n");
	close_share();
}

TEST(no_memory)
{
	static const char *const want[] = {
		"gsym: http://h/a: Cannot allocate memory\n",
		"gsym: debug: Cannot allocate memory\n", /* its path, and the list of them */
		"gsym: debug: Cannot allocate memory\n",
		"gsym: source: Cannot allocate memory\n",
	};
	for (size_t i = 0; i < 4; i++) {
		object_share_reset();
		debug_dirs = (struct option_list){{"debug"}, 1};
		sources = (struct option_list){{"source"}, 1};
		fail_allocation((long)i);
		open_share(want[i]);
		assert_true(has_failed_allocation());
		assert_string_equal(did, "");
		close_share();
	}
}

/* ---- Which image ---- */

/* Takes the object file @path: @want with that reason. */
static void expect_take(const char *path, int want, const char *reason)
{
	struct shared_object object = {.missing = true};
	struct gsym_diag diag = {""};
	*did = 0;
	assert_int_equal(object_share_take(&o, path, &object, &diag), want);
	assert_string_equal(diag.text, reason);
	assert_ptr_equal(object.handle, want ? NULL : any_handle);
	assert_int_equal(object.missing, want != 0); /* written on success only */
	assert_int_equal(object.key.digest[STORE_DIGEST - 1], want ? 0 : 'k');
}

#define IDENTIFIED "digest poll(0) poll(0) key admit(10,1) "

TEST(search_paths)
{
	char want[512];
	debug_dirs = (struct option_list){{"debug"}, 1};
	options.arch = "arm64";
	options.unmerged = with.unmerged = true;
	open_share("");
	/* The directory that holds the object file is the source. */
	expect_take("source/object", 0, "");
	assert_string_equal(did, IDENTIFIED "take");
	snprintf(want, sizeof(want), "source/object %s:%s: 1 arm64 -", in_directory("debug"),
		 in_directory("source"));
	assert_string_equal(searched, want);
	with.bundle = in_directory("source/object");
	expect_take("bundle", 0, "");
	snprintf(want, sizeof(want), "bundle %s:%s: 1 arm64 -", in_directory("debug"),
		 in_directory("source"));
	assert_string_equal(searched, want);
	close_share();
	object_share_reset();
	debug_dirs = (struct option_list){{"debug"}, 1};
	sources = (struct option_list){{"link", "source"}, 2};
	options.cache = "cache";
	options.debuginfod = true;
	setenv("DEBUGINFOD_URLS", SERVERS, 1);
	open_share("");
	for (unsigned i = 0; i < 2; i++) {
		expect_take("source/object", 0, "");
		snprintf(want, sizeof(want), "source/object %s:%s:%s: 2 - cache", in_directory("debug"),
			 in_directory("debug"), in_directory("source"));
		assert_string_equal(searched, want);
	}
	close_share();
}

TEST(not_identified)
{
	static const struct {
		int bundle_err, lookup_err, digest_err, key_err;
		const char *text;
		int want;
		const char *reason;
	} table[] = {
		{.bundle_err = -ENOTUNIQ, .text = "two files", .want = -ENOTUNIQ, .reason = "two files"},
		{.bundle_err = -ENAMETOOLONG, .want = -ENAMETOOLONG, .reason = "File name too long"},
		{.lookup_err = -ENOEXEC, .want = -ENOEXEC, .reason = "is no object file"},
		{.lookup_err = -ENOEXEC, .text = "odd", .want = -ENOEXEC, .reason = "odd"},
		{.lookup_err = -EBADMSG, .text = "truncated", .want = -EBADMSG, .reason = "truncated"},
		{.lookup_err = -ECANCELED, .want = -ECANCELED, .reason = ""},
		{.digest_err = -ELIBACC,
		 .want = -ELIBACC,
		 .reason = "cannot name its conversion: libsodium cannot be loaded"},
		{.digest_err = -EIO,
		 .want = -EIO,
		 .reason = "cannot name its conversion: Input/output error"},
		{.key_err = -ENOMEM,
		 .want = -ENOMEM,
		 .reason = "cannot name its conversion: Cannot allocate memory"},
	};
	open_share("");
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		with.bundle_err = table[i].bundle_err;
		with.lookup_err = table[i].lookup_err;
		with.digest_err = table[i].digest_err;
		with.key_err = table[i].key_err;
		with.text = table[i].text;
		expect_take("source/object", table[i].want, table[i].reason);
		assert_null(strstr(did, "take"));
	}
	with.key_err = 0;
	expect_take("source/other", -ENOENT, "No such file or directory");
	close_share();
}

/* As many directories as fill the list: for two more there is no memory. */
TEST(no_memory_for_paths)
{
	for (debug_dirs.n = 0; debug_dirs.n < 15;)
		debug_dirs.v[debug_dirs.n++] = "debug";
	open_share("");
	assert_int_equal(o.dirs.n, 15);
	fail_allocation(0);
	expect_take("source/object", -ENOMEM, "Cannot allocate memory");
	fail_allocation(1);
	expect_take("source/object", -ENOMEM, "no memory");
	expect_take("source/object", 0, "");
	close_share();
}

/* ---- Taking ---- */

TEST(taking)
{
	static const struct {
		int err;
		struct store_reply reply;
		const char *text;
		unsigned stop_at;
		int want;
		const char *reason, *did;
	} table[] = {
		{.reason = "", .did = IDENTIFIED "take"},
		{.stop_at = 1, .want = -ECANCELED, .reason = "", .did = "digest poll(0)"},
		{.stop_at = 2, .want = -ECANCELED, .reason = "", .did = "digest poll(0) poll(0)"},
		{.err = -ECANCELED,
		 .reply.err = -ECANCELED,
		 .stop_at = 3,
		 .want = -ECANCELED,
		 .reason = "",
		 .did = IDENTIFIED "take poll(0)"},
		{.err = -ECANCELED,
		 .reply.err = -ECANCELED,
		 .want = -ETIMEDOUT,
		 .reason = "no answer in time",
		 .did = IDENTIFIED "take poll(0)"},
		{.err = -ESTALE,
		 .want = -ESTALE,
		 .reason = "was made with other debug files than those that are here",
		 .did = IDENTIFIED "take"},
		{.err = -EXDEV,
		 .want = -EXDEV,
		 .reason = "was made by a host that searches other directories for debug files",
		 .did = IDENTIFIED "take"},
		{.err = -ENOENT,
		 .reply = {.err = -ENOENT, .text = "404"},
		 .want = -ENOENT,
		 .reason = "is not in the store",
		 .did = IDENTIFIED "take"},
		{.err = -EACCES,
		 .reply = {.err = -EACCES, .text = "403 Forbidden"},
		 .want = -EACCES,
		 .reason = "403 Forbidden",
		 .did = IDENTIFIED "take"},
		{.err = -EBADMSG,
		 .text = "damaged",
		 .want = -EBADMSG,
		 .reason = "damaged",
		 .did = IDENTIFIED "take"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		object_share_reset();
		open_share("");
		with.take_err = table[i].err;
		with.reply = table[i].reply;
		with.text = table[i].text;
		with.stop_at = table[i].stop_at;
		expect_take("source/object", table[i].want, table[i].reason);
		assert_string_equal(did, table[i].did);
		assert_int_equal(n_signals, 0);
		close_share();
		assert_int_equal(n_signals, table[i].stop_at != 0); /* it is delivered */
	}
}

/* ---- Publishing ---- */

#define LOCKED IDENTIFIED "lock cache "
#define READY  VERDICT_READY, .has_handle = true
#define ELSEWHERE(ms)                              \
	{                                          \
		VERDICT_ELSEWHERE, .wait_ms = (ms) \
	}

struct put_case {
	unsigned busy, stop_at;
	bool no_lock, is_cached;
	struct put_result results[4];
	int offer_err;
	const char *text;
	enum share_result result; /* of what is given; SHARE_HIT: not yet known */
	int want;
	bool given, missing;
	const char *reason, *did;
};

/* Publishes the object file. */
static void expect_put(const struct put_case *c)
{
	struct shared_object object = {.missing = true};
	struct gsym_diag diag = {""};
	object_share_reset();
	open_share("");
	*did = 0;
	with.busy = c->busy;
	with.stop_at = c->stop_at;
	with.no_lock = c->no_lock;
	with.is_cached = c->is_cached;
	memcpy(with.results, c->results, sizeof(with.results));
	with.offer_err = c->offer_err;
	with.text = c->text;
	with.given = c->result;
	atomic_store(&o.share.counters.shares[SHARE_GIVEN], 5);
	atomic_store(&o.share.counters.shares[SHARE_DROPPED], 5);
	assert_int_equal(object_share_put(&o, "source/object", &object, &diag), c->want);
	assert_string_equal(did, c->did);
	assert_string_equal(diag.text, c->reason ? c->reason : "");
	assert_ptr_equal(object.handle, c->want ? NULL : any_handle);
	assert_int_equal(object.given, c->given);
	assert_int_equal(object.missing, c->want ? 1 : c->missing);
	assert_true(lock_fd < 0 || fcntl(lock_fd, F_GETFD) < 0);
	close_share();
}

/* What is in neither the cache nor the store is converted. */
TEST(converting)
{
	static const struct put_case table[] = {
		{.results = {{READY, .has_offer = true}},
		 .result = SHARE_GIVEN,
		 .given = true,
		 .did = LOCKED "convert end-turn give flush poll(0)"},
		{.results = {{READY, .has_offer = true}},
		 .no_lock = true,
		 .result = SHARE_GIVEN,
		 .given = true,
		 .did = LOCKED "convert end-turn give flush poll(0)"},
		/* The store does not say, has not taken it, or it was not even offered. */
		{.results = {{READY, .has_offer = true}},
		 .did = LOCKED "convert end-turn give flush poll(0)"},
		{.results = {{READY, .has_offer = true}},
		 .result = SHARE_DROPPED,
		 .missing = true,
		 .reason = "was not published",
		 .did = LOCKED "convert end-turn give flush poll(0)"},
		{.results = {{READY}},
		 .missing = true,
		 .reason = "was not published",
		 .did = LOCKED "convert end-turn give-nothing flush poll(0)"},
		/* The store had it. */
		{.results = {{READY, .adopted = true}}, .did = LOCKED "convert end-turn poll(0)"},
		/* Failures are published, too. */
		{.results = {{VERDICT_FAILED_FOREVER, .has_offer = true, .err = -EBADMSG,
			      .text = "truncated"}},
		 .result = SHARE_GIVEN,
		 .want = -EBADMSG,
		 .reason = "truncated",
		 .did = LOCKED "convert end-turn give flush poll(0)"},
		{.results = {{VERDICT_TRANSIENT, .err = -ENOSPC, .text = "no room"}},
		 .want = -ENOSPC,
		 .reason = "no room",
		 .did = LOCKED "convert end-turn poll(0)"},
		{.results = {{VERDICT_FAILED_FOREVER, .adopted = true, .err = -EBADMSG, .text = "truncated"}},
		 .want = -EBADMSG,
		 .reason = "truncated",
		 .did = LOCKED "convert end-turn poll(0)"},
		/* Another host converts it. */
		{.results = {ELSEWHERE(700), ELSEWHERE(800), {READY, .adopted = true}},
		 .did = LOCKED "convert poll(700) convert poll(800) convert end-turn poll(0)"},
		{.results = {ELSEWHERE(700), {READY, .has_offer = true}},
		 .result = SHARE_GIVEN,
		 .given = true,
		 .did = LOCKED "convert poll(700) convert end-turn give flush poll(0)"},
		/* Another process does. */
		{.busy = 2,
		 .results = {{READY, .adopted = true}},
		 .did = IDENTIFIED "busy poll(20) busy poll(20) lock cache convert end-turn poll(0)"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		expect_put(&table[i]);
}

/* What is in the cache is offered, unless the store has it. */
TEST(offering)
{
	static const struct put_case table[] = {
		{.is_cached = true,
		 .results = {{READY}},
		 .result = SHARE_GIVEN,
		 .given = true,
		 .did = LOCKED "offer give flush poll(0)"},
		{.is_cached = true,
		 .results = {{READY}},
		 .result = SHARE_DROPPED,
		 .missing = true,
		 .reason = "was not published",
		 .did = LOCKED "offer give flush poll(0)"},
		{.is_cached = true,
		 .results = {{READY}},
		 .offer_err = -EEXIST,
		 .did = LOCKED "offer poll(0)"},
		{.is_cached = true,
		 .results = {{READY}},
		 .offer_err = -EACCES,
		 .text = "403",
		 .missing = true,
		 .reason = "403",
		 .did = LOCKED "offer poll(0)"},
		/* A failure that is known is not given: the store is asked for conversions first. */
		{.is_cached = true,
		 .results = {{VERDICT_FAILED_FOREVER, .err = -EBADMSG, .text = "truncated"}},
		 .want = -EBADMSG,
		 .reason = "truncated",
		 .did = LOCKED "poll(0)"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		expect_put(&table[i]);
}

/* A signal ends it unless all is done; it says nothing. */
TEST(stopping)
{
	static const struct put_case table[] = {
		{.stop_at = 1, .want = -ECANCELED, .did = "digest poll(0)"},
		{.stop_at = 3, .busy = 2, .want = -ECANCELED, .did = IDENTIFIED "busy poll(20)"},
		{.stop_at = 4,
		 .busy = 9,
		 .want = -ECANCELED,
		 .did = IDENTIFIED "busy poll(20) busy poll(20)"},
		{.stop_at = 3,
		 .results = {ELSEWHERE(700)},
		 .want = -ECANCELED,
		 .did = LOCKED "convert poll(700) end-turn poll(0) put-nothing"},
		{.stop_at = 3,
		 .results = {{VERDICT_TRANSIENT, .err = -ECANCELED, .text = "stopped"}},
		 .want = -ECANCELED,
		 .did = LOCKED "convert end-turn poll(0) put-nothing"},
		{.stop_at = 3,
		 .results = {{READY, .has_offer = true}},
		 .result = SHARE_GIVEN,
		 .given = true,
		 .did = LOCKED "convert end-turn give flush poll(0)"},
		{.stop_at = 3,
		 .results = {{READY, .has_offer = true}},
		 .result = SHARE_DROPPED,
		 .want = -ECANCELED,
		 .did = LOCKED "convert end-turn give flush poll(0) put"},
		{.stop_at = 3,
		 .is_cached = true,
		 .results = {{READY}},
		 .offer_err = -ECANCELED,
		 .want = -ECANCELED,
		 .did = LOCKED "offer poll(0) put"},
		{.stop_at = 3,
		 .is_cached = true,
		 .results = {{READY}},
		 .offer_err = -EEXIST,
		 .did = LOCKED "offer poll(0)"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		expect_put(&table[i]);
}

/* The lock of the entry may have any number. */
TEST(first_descriptor)
{
	static const struct put_case c = {.results = {{READY, .adopted = true}},
					  .did = LOCKED "convert end-turn poll(0)"};
	int saved = fcntl(0, F_DUPFD_CLOEXEC, 3);
	object_share_reset();
	open_share("");
	*did = 0;
	memcpy(with.results, c.results, sizeof(with.results));
	close(0);
	struct shared_object object;
	struct gsym_diag diag = {""};
	assert_int_equal(object_share_put(&o, "source/object", &object, &diag), 0);
	assert_int_equal(lock_fd, 0);
	assert_int_equal(fcntl(0, F_GETFD), -1);
	if (saved >= 0) {
		dup2(saved, 0);
		close(saved);
	}
	close_share();
}

/* ---- As a file ---- */

static size_t count_entries(const char *path)
{
	size_t n = 0;
	DIR *list = opendir(path);
	assert_non_null(list);
	while (readdir(list))
		n++;
	closedir(list);
	return n - 2;
}

static void expect_text(const char *path, const char *want)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	assert_string_equal(text, want);
}

static void expect_written(const struct handle *handle, const char *path, int want, const char *reason)
{
	struct gsym_diag diag = {""};
	size_t before = count_descriptors();
	assert_int_equal(object_share_write(handle, path, &diag), want);
	assert_string_equal(diag.text, reason);
	assert_int_equal(count_descriptors(), before);
}

TEST(writing)
{
	const long page = sysconf(_SC_PAGESIZE);
	const struct handle handle = {.gsym = {(const uint8_t *)"content", 7}};
	void *hole = mmap(NULL, (size_t)page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct handle truncated = {.gsym = {hole, 7}};
	assert_true(hole != MAP_FAILED);
	expect_written(&handle, "debug/gsym", 0, "");
	expect_text("debug/gsym", "content");
	/* What was there stays until there is something else. */
	const struct handle other = {.gsym = {(const uint8_t *)"other", 5}};
	expect_written(&truncated, "debug/gsym", -EFAULT, "cannot write: Bad address");
	with.rename_err = -EIO;
	expect_written(&other, "debug/gsym", -EIO, "debug/gsym: Input/output error");
	expect_text("debug/gsym", "content");
	assert_int_equal(count_entries("debug"), 1);
	with.rename_err = 0;
	expect_written(&other, "debug/gsym", 0, "");
	expect_text("debug/gsym", "other");
	expect_written(&other, "nowhere/gsym", -ENOENT,
		       "nowhere/gsym: cannot create a temporary file for it: No such file or directory");
	assert_int_equal(count_entries("debug"), 1);
	munmap(hole, (size_t)page);
}

EACH_TEST(object_share_set_up, object_share_tear_down)

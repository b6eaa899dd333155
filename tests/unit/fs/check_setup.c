/* What is checked before the mount: worker, store, hidden files; which part gets which option. */
#include "setup_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"

/* ---- The worker ---- */

TEST(given_worker)
{
	assert_int_equal(symlink("/dev/null", below("gsym")), 0);
	fs.options.worker = below("gsym");
	assert_int_equal(prepare(), 0);
	assert_string_equal(fs.worker, "/dev/null");
	assert_int_equal(sys.children, 1);
	assert_int_equal(sys.finished, 1);
	assert_int_equal(unlink(below("gsym")), 0);
	setup_clear();
	setup_begin();
	fs.options.worker = below("none");
	refuses(-ENOENT, "none': set -o worker=PATH");
	assert_int_equal(sys.children, 1);
	fs.options.worker = (char *)"/dev/null";
	sys.failing = "worker";
	refuses(-ENFILE, "worker failed");
	assert_int_equal(sys.children, 2);
	assert_int_equal(sys.finished, 1);
}

/* Where it is installed, in this order; it must be a program. */
TEST(found_worker)
{
	static const char *const places[] = {"cli/gsym", "libexec/gsymfs/gsym", "bin/gsym", "sbin/gsym"};
	static const char *const dirs[] = {"sbin", "bin", "libexec", "libexec/gsymfs", "cli"};
	char self[100];
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		new_dir(dirs[i]);
	fs.options.worker = NULL;
	snprintf(self, sizeof(self), "%s/sbin/gsymfs", top);
	sys.self = self;
	refuses(-ENOENT, "cannot find the gsym program 'gsym'");
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int fd = open(below(places[i]), O_CREAT | O_WRONLY, 0644);
		assert_true(fd >= 0);
		if (!i)
			refuses(-ENOENT, "cannot find the gsym program");
		fchmod(fd, 0755);
		close(fd);
		assert_int_equal(prepare(), 0);
		assert_string_equal(fs.worker, below(places[i]));
		setup_clear();
		setup_begin();
		fs.options.worker = NULL;
	}
	sys.self = NULL;
	refuses(-ENOENT, "cannot find the gsym program");
	sys.self = self;
	sys.readlink_err = ENOENT;
	refuses(-ENOENT, "cannot find the gsym program");
}

/* ---- What the mount would hide ---- */

TEST(hidden)
{
	char *mount = new_dir("mount"), *in = new_dir("mount/in"), *other = new_dir("mounts");
	GIVE(other);
	assert_int_equal(prepare(), 0);
	setup_clear();
	setup_begin();
	GIVE(mount);
	refuses(-EINVAL, "would be hidden");
	GIVE(in);
	refuses(-EINVAL, "mount/in' would be hidden");
	GIVE(other, in);
	refuses(-EINVAL, "mount/in' would be hidden");
	GIVE(in, other);
	refuses(-EINVAL, "mount/in' would be hidden");
	GIVE(new_dir("src"));
	fs.options.worker = in;
	refuses(-EINVAL, "mount/in' would be hidden");
	fs.options.worker = (char *)"/bin/sh";
	fs.options.debuginfod = true;
	sys.directory = in;
	refuses(-EINVAL, "mount/in' would be hidden");
	sys.directory = other;
	assert_int_equal(prepare(), 0);
}

/* ---- The shared store ---- */

TEST(no_store)
{
	assert_int_equal(prepare(), 0);
	assert_int_equal(sys.shares, 0);
}

TEST(store_by_address)
{
	char cwd[1000], expected[1100];
	struct file_key key = {0};
	uint8_t digest[STORE_DIGEST] = {0};
	fs.options.shared = strdup("https://store/");
	fs.options.shared_bazel = true;
	fs.options.sign_key = strdup("key");
	fs.options.shared_ca = strdup("/ca");
	fs.options.digest_rate = 1;
	assert_int_equal(prepare(), 0);
	assert_int_equal(sys.shares, 1);
	assert_string_equal(sys.share.store.address, "https://store/");
	assert_true(sys.share.store.bazel);
	assert_int_equal(sys.share.wait_ms, 500);
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(expected, sizeof(expected), "%s/key", cwd);
	assert_string_equal(sys.share.sign_key, expected);
	assert_string_equal(sys.share.store.ca_file, "/ca");
	assert_null(sys.share.trusted_keys);
	assert_null(sys.share.store.bearer_file);
	assert_ptr_equal(sys.share.digests.user, &fs.images.digests);
	assert_true(sys.share.digests.find(sys.share.digests.user, &key, digest));
	assert_ptr_equal(digests_asked, &fs.images.digests);
	digests_asked = NULL;
	kept_as_saved = true;
	sys.share.digests.keep(sys.share.digests.user, &key, digest);
	assert_ptr_equal(digests_asked, &fs.images.digests);
	assert_false(kept_as_saved);
}

/* Every file is told by the option of its own. */
TEST(files_of_the_store)
{
	fs.options.shared = strdup("https://store/");
	fs.options.trusted_keys = (char *)"/trusted";
	fs.options.shared_bearer = (char *)"/bearer";
	fs.options.shared_netrc = (char *)"/netrc";
	fs.options.shared_cert = (char *)"/cert";
	fs.options.shared_key = (char *)"/key";
	assert_int_equal(prepare(), 0);
	assert_string_equal(sys.share.trusted_keys, "/trusted");
	assert_string_equal(sys.share.store.bearer_file, "/bearer");
	assert_string_equal(sys.share.store.netrc_file, "/netrc");
	assert_string_equal(sys.share.store.cert_file, "/cert");
	assert_string_equal(sys.share.store.key_file, "/key");
	assert_false(sys.share.store.bazel);
	assert_null(sys.share.digests.keep); /* no lane digests */
}

TEST(store_in_a_directory)
{
	char cwd[1000];
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	new_dir("store");
	assert_int_equal(chdir(top), 0);
	fs.options.shared = strdup("store");
	assert_int_equal(prepare(), 0);
	assert_string_equal(sys.share.store.address, below("store"));
	assert_string_equal(fs.options.shared, below("store"));
	setup_clear();
	setup_begin();
	fs.options.shared = strdup("missing");
	refuses(-ENOENT, "shared store 'missing': cannot open");
	fs.options.shared = strdup("cache");
	refuses(-EINVAL, "is the cache");
	assert_int_equal(sys.shares, 1);
	fs.options.shared = strdup("store");
	sys.failing = "share";
	refuses(-ENFILE, "share failed");
	assert_int_equal(sys.fetchers, 0);
	sys.failing = NULL;
	fs.options.shared = strdup("https://store/");
	fs.options.sign_key = strdup("key");
	sys.no_cwd = true;
	refuses(-ENOMEM, "no memory");
	assert_int_equal(sys.shares, 2);
	assert_int_equal(chdir(cwd), 0);
}

/* ---- The other parts ---- */

TEST(fetcher)
{
	assert_int_equal(prepare(), 0);
	assert_int_equal(sys.fetchers, 0);
	assert_string_equal(fs.fetcher.worker, fs.worker);
	assert_ptr_equal(fs.fetcher.log, &fs.log);
	assert_ptr_equal(fs.fetcher.counters, &fs.counters);
	assert_int_equal(fs.fetcher.size, 1000);
	assert_int_equal(fs.fetcher.seconds, 60);
	assert_int_equal(fs.fetcher.stop_fd, 77);
	setup_clear();
	setup_begin();
	fs.options.debuginfod = true;
	assert_int_equal(prepare(), 0);
	assert_int_equal(sys.fetchers, 1);
}

TEST(limits)
{
	sys.cur = 1024;
	sys.max = 524288;
	assert_int_equal(prepare(), 0);
	assert_int_equal(sys.limits, 1);
	assert_int_equal(sys.cur, 524288);
	assert_int_equal(sys.max, 524288);
	setup_clear();
	setup_begin();
	sys.getrlimit_err = EINVAL;
	assert_int_equal(prepare(), 0);
	assert_int_equal(sys.limits, 1);
}

/* The first step that fails is the last. */
TEST(failing_steps)
{
	static const struct {
		const char *step, *text;
		unsigned *calls;
	} rows[] = {
		{"mount", "mount failed", &sys.mounts},
		{"cache", "cache failed", &sys.caches},
		{"worker", "worker failed", &sys.children},
		{"fetcher", "fetcher failed", &sys.fetchers},
		{"guard", "cannot install a signal handler: Too many open files in system", &sys.guards},
		{"slots", "cannot count conversions: Too many open files in system", &sys.slots},
	};
	fs.options.debuginfod = true;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(&sys, 0, sizeof(sys));
		sys.failing = rows[i].step;
		refuses(-ENFILE, rows[i].text);
		for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
			assert_int_equal(*rows[k].calls, k <= i);
	}
	memset(&sys, 0, sizeof(sys));
	assert_int_equal(prepare(), 0);
	assert_string_equal(diag.text, "");
}

/* Each allocation fails in turn, and is told. */
TEST(without_memory)
{
	char text[300];
	int err = -ENOMEM;
	snprintf(text, sizeof(text), "%s:%s", new_dir("a"), new_dir("b"));
	long n = 0;
	for (; err; n++) {
		GIVE(text);
		fs.options.shared = strdup("https://store/");
		fs.options.sign_key = strdup("key");
		fail_allocation(n);
		err = prepare();
		bool failed = allocation_failed();
		fail_allocation(-1);
		assert_true(!err || (failed && n < 100));
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_string_equal(diag.text, "no memory");
		}
		setup_clear();
		setup_begin();
	}
	assert_true(n > 4);
}

EACH_TEST(setup_set_up, setup_tear_down)

int main(void)
{
	return mkdtemp(top) ? setup_main(unit_run()) : 1;
}

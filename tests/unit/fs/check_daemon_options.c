/* The command line of the daemon: values that are allowed, what goes to libfuse, and what is refused. */
#include "fs/daemon_options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/captured_stderr.h"

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

enum {
	SOURCE_AND_MOUNT = 2, /* operands */
	ARGUMENTS = 24,
	PATH_BYTES = 4000,
};

static char said[1 << 14]; /* on standard error */

/* Parses "gsymfs" and @words, which end with NULL. */
static int parse_words(const char *const *words, struct options *ret)
{
	char *argv[ARGUMENTS] = {(char *)(uintptr_t) "gsymfs"};
	int n = 1;
	for (; words[n - 1]; n++)
		argv[n] = (char *)(uintptr_t)words[n - 1];
	return options_parse(n, argv, ret);
}

/* The same of "src mnt", and of "-o OPTION" if there is one. */
static int parse(const char *option, struct options *ret)
{
	const char *const words[] = {"src", "mnt", option ? "-o" : NULL, option, NULL};
	return parse_words(words, ret);
}

/* What is refused says so on standard error. */
static void expect_usage(const char *const *words)
{
	struct options o;
	struct captured_stderr captured = capture_begin();
	int err = parse_words(words, &o);
	capture_end(&captured, said, sizeof(said));
	options_deinit(&o);
	assert_int_equal(err, -EINVAL);
}

static void expect_refused(const char *option, const char *words)
{
	const char *const all[] = {"src", "mnt", "-o", option, NULL};
	expect_usage(all);
	if (!strstr(said, words))
		fail_msg("'%s' is refused with '%s', without '%s'", option, said, words);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

#define EXPECT(option, member, value)                    \
	do {                                             \
		struct options o_;                       \
		assert_int_equal(parse(option, &o_), 0); \
		assert_int_equal(o_.member, value);      \
		options_deinit(&o_);                     \
	} while (0)

#define EXPECT_TEXT(option, member, value)               \
	do {                                             \
		struct options o_;                       \
		assert_int_equal(parse(option, &o_), 0); \
		assert_string_equal(o_.member, value);   \
		options_deinit(&o_);                     \
	} while (0)

/* gsymfs(1) promises them. */
TEST(defaults)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct options o;
	assert_int_equal(parse(NULL, &o), 0);
	assert_int_equal(o.cache_size, UINT64_C(10) << 30);
	assert_int_equal(o.cache_free, UINT64_C(1) << 30);
	assert_int_equal(o.shared_wait, 250);
	assert_string_equal(o.debug_dirs, "/usr/lib/debug");
	assert_int_equal(o.jobs, 2);
	assert_int_equal(o.threads, cpus < 1 ? 1 : cpus > 256 ? 256 : cpus);
	assert_int_equal(o.convert_memory, UINT64_C(4) << 30);
	assert_int_equal(o.convert_time, 600);
	assert_int_equal(o.idle_load, 50);
	assert_int_equal(o.idle_time, 30);
	assert_int_equal(o.merged, MERGED_YES);
	assert_int_equal(o.batch_threads, 2);
	assert_int_equal(o.open_images, 4096);
	assert_int_equal(o.kept_answers, 64 << 20);
	assert_int_equal(o.rescan, 60);
	assert_int_equal(o.max_read, 0);
	assert_true(o.eager && o.demangle && o.watch);
	assert_false(o.debuginfod || o.unknown_print || o.approximate || o.foreground || o.debug ||
		     o.single_thread || o.show_help || o.show_version || o.allow_other ||
		     o.default_permissions || o.has_fsname);
	assert_null(o.cache);
	assert_null(o.shared);
	assert_null(o.worker);
	options_deinit(&o);
}

TEST(words)
{
	EXPECT("eager=no", eager, false);
	EXPECT("eager=yes", eager, true);
	EXPECT("watch=no,watch=yes", watch, true); /* the last one counts */
	EXPECT("debuginfod=yes", debuginfod, true);
	EXPECT("demangle=no", demangle, false);
	EXPECT("unknown=print", unknown_print, true);
	EXPECT("unknown=enoent", unknown_print, false);
	EXPECT("merged=no", merged, MERGED_NO);
	EXPECT("merged=mark", merged, MERGED_MARK);
	EXPECT("merged=yes", merged, MERGED_YES);
	expect_refused("eager=on", "option 'eager': invalid value 'on'; allowed is yes or no\n");
	expect_refused("eager", "yes or no");
	expect_refused("eager=nox", "yes or no");
	expect_refused("eager=n", "yes or no");
	expect_refused("eager=yesno", "yes or no");
	expect_refused("unknown=enoen", "enoent or print");
	expect_refused("unknown=print2", "enoent or print");
	expect_refused("unknown=enoent|print", "enoent or print");
	expect_refused("merged=yes|no", "yes, no or mark");
	expect_refused("merged=marks", "yes, no or mark");
	expect_refused("merged=", "yes, no or mark");
}

TEST(numbers)
{
	EXPECT("jobs=1", jobs, 1);
	EXPECT("jobs=64", jobs, 64);
	EXPECT("threads=256", threads, 256);
	EXPECT("shared_wait=60000", shared_wait, 60000);
	EXPECT("idle_load=0", idle_load, 0);
	EXPECT("idle_load=100000", idle_load, 100000);
	EXPECT("batch_threads=16", batch_threads, 16);
	EXPECT("open_images=60000", open_images, 60000);
	EXPECT("rescan=0", rescan, 0);
	EXPECT("rescan=604800", rescan, 604800);
	EXPECT("convert_time=1", convert_time, 1);
	EXPECT("idle_time=604800", idle_time, 604800);
	static const char *const bad[] = {
		"jobs=0",  "jobs=65", "jobs=",    "jobs=-1",         "jobs= 1",
		"jobs=+1", "jobs=1x", "jobs=0x1", "jobs=4294967297", "jobs=99999999999999999999",
		"jobs=:",  "jobs=/"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		expect_refused(bad[i], "allowed is a number from 1 to 64\n");
	expect_refused("threads=257", "a number from 1 to 256");
	expect_refused("threads=0", "a number from 1 to 256");
	expect_refused("shared_wait=0", "a number from 1 to 60000");
	expect_refused("shared_wait=60001", "a number from 1 to 60000");
	expect_refused("idle_load=100001", "a number from 0 to 100000");
	expect_refused("batch_threads=17", "a number from 1 to 16");
	expect_refused("open_images=60001", "a number from 1 to 60000");
	expect_refused("rescan=604801", "a number of seconds from 0 to 604800\n");
	expect_refused("convert_time=0", "a number of seconds from 1 to 604800\n");
	expect_refused("idle_time=1h", "a number of seconds from 1 to 604800\n");
}

TEST(sizes)
{
	EXPECT("cache_size=1", cache_size, 1);
	EXPECT("cache_size=3K", cache_size, 3 << 10);
	EXPECT("cache_size=3m", cache_size, 3 << 20);
	EXPECT("cache_size=3G", cache_size, UINT64_C(3) << 30);
	EXPECT("cache_size=3t", cache_size, UINT64_C(3) << 40);
	EXPECT("cache_size=18446744073709551615", cache_size, UINT64_MAX);
	EXPECT("cache_size=16777215T", cache_size, UINT64_C(16777215) << 40);
	EXPECT("cache_free=0", cache_free, 0);
	EXPECT("kept_answers=1M", kept_answers, 1 << 20);
	static const char *const bad[] = {"cache_size=0",         "cache_size=",
					  "cache_size=K",         "cache_size=-1",
					  "cache_size= 1",        "cache_size=1P",
					  "cache_size=1KB",       "cache_size=1 K",
					  "cache_size=1.5G",      "cache_size=18446744073709551616",
					  "cache_size=16777216T", "cache_size=18014398509481984K"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		expect_refused(bad[i], "allowed is a number of bytes above 0, such as 512M or 10G\n");
	expect_refused("cache_free=x", "allowed is a number of bytes, such as 512M or 10G\n");
	expect_refused("kept_answers=1048575", "allowed is at least 1048576 bytes, such as 512M or 10G\n");
}

TEST(paths)
{
	EXPECT_TEXT("cache=/var/cache", cache, "/var/cache");
	EXPECT_TEXT("cache=one,cache=two", cache, "two");
	EXPECT_TEXT("worker=gsym", worker, "gsym");
	EXPECT_TEXT("sign_key=a", sign_key, "a");
	EXPECT_TEXT("shared=/mnt/store", shared, "/mnt/store");
	EXPECT_TEXT("shared=s3\\://bucket/path", shared, "s3://bucket/path");
	EXPECT_TEXT("shared=http\\://h", shared, "http://h");
	EXPECT_TEXT("shared=https\\://h/p", shared, "https://h/p");
	expect_refused("cache=", "allowed is a directory\n");
	expect_refused("cache=https\\://host", "allowed is a directory\n");
	expect_refused("worker=", "allowed is the path of a file\n");
	expect_refused("sign_key", "allowed is the path of a file\n");
	static const char *const bad[] = {"shared=", "shared=https\\://", "shared=s3\\://",
					  "shared=ftp\\://host", "shared=xhttp\\://h"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		expect_refused(bad[i],
			       "a directory, or an address that begins with https://, http:// or s3://\n");
}

/* @n directories, of @size bytes with what separates them. */
static const char *directories(size_t n, size_t size)
{
	static char option[PATH_BYTES];
	char *at = stpcpy(option, "debug_dirs=");
	for (size_t i = 0; i < n; i++)
		at = stpcpy(at, i ? ":/d" : "/d");
	while ((size_t)(at - strchr(option, '/')) < size)
		*at++ = 'x';
	*at = 0;
	return option;
}

TEST(debug_directories)
{
	static const char *const bad[] = {"debug_dirs=relative", "debug_dirs=/a:b", "debug_dirs=:/a",
					  "debug_dirs=/a::/b"};
	EXPECT_TEXT("debug_dirs=", debug_dirs, "");
	EXPECT_TEXT("debug_dirs=/a:/b", debug_dirs, "/a:/b");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		expect_refused(bad[i], "at most 32 absolute directories, separated by colons\n");
	EXPECT(directories(DEBUG_DIRS_MAX, 0), n_operands, SOURCE_AND_MOUNT);
	expect_refused(directories(DEBUG_DIRS_MAX + 1, 0), "at most 32");
	EXPECT(directories(2, DEBUG_DIRS_TEXT_MAX), n_operands, SOURCE_AND_MOUNT);
	expect_refused(directories(2, DEBUG_DIRS_TEXT_MAX + 1), "at most 32");
}

/* ---- libfuse and mount(8) ---- */

/* The arguments for libfuse after the program's name, separated by blanks. */
static void expect_fuse(const char *option, const char *arguments)
{
	struct options o;
	char text[PATH_BYTES] = "";
	assert_int_equal(parse(option, &o), 0);
	for (int i = 1; i < o.fuse.argc; i++)
		strcat(strcat(text, i > 1 ? " " : ""), o.fuse.argv[i]);
	assert_string_equal(text, arguments);
	options_deinit(&o);
}

TEST(options_of_libfuse)
{
	expect_fuse(NULL, "");
	expect_fuse("jobs=1", "");
	expect_fuse("ro,noexec", "-o ro,noexec");
	expect_fuse("subtype=x,jobs=1,nodev", "-o subtype=x,nodev");
	expect_fuse("max_read=4096", "-o max_read=4096");
	EXPECT("max_read=4096", max_read, 4096);
	EXPECT("max_read=1073741824", max_read, 1 << 30);
	EXPECT("fsname=x", has_fsname, true);
	EXPECT("subtype=x", has_fsname, false);
	EXPECT("debug", debug, true);
	EXPECT("debug", foreground, true);
	expect_refused("max_read=4095", "allowed is a number of bytes from 4096 to 1073741824\n");
	expect_refused("max_read=1073741825", "allowed is a number of bytes from 4096 to 1073741824\n");
	expect_refused("fsname=", "option 'fsname': invalid value ''; allowed is a name\n");
	expect_refused("fsname", "option 'fsname': unknown");
	expect_refused("ro=1", "option 'ro=1': unknown");
	expect_refused("clone_fd", "option 'clone_fd': unknown");
	expect_refused("remount", "unmount it and mount it");
}

/* Else the kernel checks no modes, and other users read all images. */
TEST(other_users)
{
	expect_fuse("allow_other", "-o allow_other -odefault_permissions");
	expect_fuse("allow_root", "-o allow_root -odefault_permissions");
	expect_fuse("allow_other,default_permissions", "-o allow_other,default_permissions");
	expect_fuse("default_permissions", "-o default_permissions");
	EXPECT("allow_other", default_permissions, true);
	EXPECT("allow_root", allow_other, true);
	EXPECT("ro", default_permissions, false);
}

TEST(options_of_mount)
{
	expect_fuse("", "");
	expect_fuse("_netdev,noauto,nofail,defaults,loud,X-mount.mkdir,x-systemd.automount,comment=a,users",
		    "");
	expect_refused("comment", "option 'comment': unknown");
	expect_refused("autox", "option 'autox': unknown");
	expect_refused("x", "option 'x': unknown");
}

TEST(suggestions)
{
	expect_refused("cahce=/tmp",
		       "option 'cahce=/tmp': unknown; did you mean 'cache'? allowed are cache= ");
	expect_refused("alow_other", "unknown; did you mean 'allow_other'?");
	expect_refused("no_such_option=1", "unknown; allowed are cache= cache_size= ");
	assert_non_null(strstr(said, " watch= allow_other allow_root "));
	assert_non_null(strstr(said, " fsname= subtype= max_read= ro "));
}

/* ---- Switches and operands ---- */

TEST(switches)
{
	struct options o;
	assert_int_equal(parse_words(WORDS("-f", "-s", "src", "mnt"), &o), 0);
	assert_true(o.foreground && o.single_thread && !o.debug);
	assert_int_equal(o.fuse.argc, 1);
	options_deinit(&o);
	assert_int_equal(parse_words(WORDS("-d", "src", "mnt"), &o), 0);
	assert_true(o.foreground && o.debug && !o.single_thread);
	options_deinit(&o);
	assert_int_equal(parse_words(WORDS("--help"), &o), 0);
	assert_true(o.show_help && !o.show_version);
	options_deinit(&o);
	assert_int_equal(parse_words(WORDS("-h"), &o), 0);
	assert_true(o.show_help);
	options_deinit(&o);
	assert_int_equal(parse_words(WORDS("-V"), &o), 0);
	assert_true(o.show_version && !o.show_help);
	options_deinit(&o);
	expect_usage(WORDS("-x", "src", "mnt"));
	assert_non_null(strstr(said, "option '-x': unknown"));
}

TEST(operands)
{
	const char *many[SOURCES_MAX + 3] = {NULL};
	struct options o;
	for (size_t i = 0; i < SOURCES_MAX + 2; i++)
		many[i] = i % 2 ? "odd" : "even";
	expect_usage(many);
	assert_string_equal(said,
			    "gsymfs: extra operand 'odd'; operands are at most 16 times SOURCE, and MOUNT\n");
	assert_int_equal(parse_words(many + 1, &o), 0);
	assert_int_equal(o.n_sources, SOURCES_MAX);
	assert_string_equal(o.mountpoint, "odd");
	options_deinit(&o);
	assert_int_equal(parse_words(WORDS("one", "two"), &o), 0);
	assert_int_equal(o.n_sources, 1);
	assert_string_equal(o.operands[0], "one");
	assert_string_equal(o.mountpoint, "two");
	options_deinit(&o);
	expect_usage(WORDS(NULL));
	assert_string_equal(said, "gsymfs: missing operand 'SOURCE'; try 'gsymfs --help'\n");
	expect_usage(WORDS("one"));
	assert_string_equal(said, "gsymfs: missing operand 'MOUNT'; try 'gsymfs --help'\n");
	expect_usage(WORDS("", "mnt"));
	assert_string_equal(said, "gsymfs: operand 'SOURCE' is empty (number 1); try 'gsymfs --help'\n");
	expect_usage(WORDS("one", "", "mnt"));
	assert_string_equal(said, "gsymfs: operand 'SOURCE' is empty (number 2); try 'gsymfs --help'\n");
	expect_usage(WORDS("one", ""));
	assert_string_equal(said, "gsymfs: missing operand 'MOUNT'; try 'gsymfs --help'\n");
	expect_usage(WORDS(""));
	assert_string_equal(said, "gsymfs: missing operand 'SOURCE'; try 'gsymfs --help'\n");
}

/* ---- Memory ---- */

static int copies_left = -1; /* negative: any number */

char *__real_strdup(const char *text);

char *__wrap_strdup(const char *text)
{
	return copies_left && copies_left-- ? __real_strdup(text) : NULL;
}

/* An option that cannot be kept is not taken for one that was not given. */
TEST(without_memory)
{
	struct options o;
	copies_left = 0; /* of the default of debug_dirs */
	assert_int_equal(parse_words(WORDS("-f"), &o), -ENOMEM);
	options_deinit(&o);
	for (int n = 1; n < 4; n++) {
		copies_left = n;
		expect_usage(WORDS("src", "mnt", "-o", "cache=/c"));
	}
	copies_left = 4;
	EXPECT_TEXT("cache=/c", cache, "/c");
	assert_int_equal(copies_left, 0);
	copies_left = -1;
}

/* All that is allocated: for a sanitizer that finds leaks. */
TEST(every_path)
{
	struct options o;
	assert_int_equal(parse("cache=a,debug_dirs=/b,shared=c,sign_key=d,trusted_keys=e,shared_bearer=f,"
			       "shared_netrc=g,shared_ca=h,shared_cert=i,shared_key=j,worker=k",
			       &o),
			 0);
	assert_string_equal(o.shared_bearer, "f");
	assert_string_equal(o.shared_netrc, "g");
	assert_string_equal(o.shared_ca, "h");
	assert_string_equal(o.shared_cert, "i");
	assert_string_equal(o.shared_key, "j");
	options_deinit(&o);
}

/* A description begins in one column, unless the option reaches into it, and names the default. */
TEST(help)
{
	FILE *file = tmpfile();
	char text[1 << 14];
	options_print_help(file);
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	assert_non_null(strstr(text, "\n    -o jobs=N                concurrent conversions (default 2)\n"));
	assert_non_null(strstr(text, "\n    -h, --help               print this help\n"));
	assert_non_null(strstr(text, "\n    -s                       serve requests with one thread\n"));
	assert_non_null(strstr(text, "\n    -o worker=PATH           the gsym program that converts\n"));
	assert_non_null(strstr(text, "\n\nAnswers:\n    -o unknown="));
}

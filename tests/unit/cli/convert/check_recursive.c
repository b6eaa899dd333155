/* A directory that is converted: which files, where their results go, and what becomes of the children. */
#include "cli/command/message.h" /* has a function called as a macro of cmocka */

#include "cli/convert/recursive.h"
#include "tests/unit/captured_stderr.h"
#include "tests/lib/unit.h"
#include "tests/unit/temp_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/check_recursive.XXXXXX";
static pid_t parent;

static const char *in_directory(const char *name)
{
	static char path[4][96];
	static unsigned turn;
	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", directory, name);
	return path[turn];
}

static void put_file(const char *name, const char *text, size_t size)
{
	FILE *file = fopen(in_directory(name), "we");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

/* In a child: notes what it was asked for, and ends as the file's name says. */
static int convert(void *user, const char *input, const char *output)
{
	const char *name = strrchr(input, '/') + 1;
	if (getpid() == parent)
		abort();
	FILE *log = fopen(user, "ae");
	if (!log)
		return STATUS_FAILED;
	fprintf(log, "%s %s\n", input + strlen(directory), output + strlen(directory));
	fclose(log);
	if (strcmp(name, "killed") == 0)
		raise(SIGKILL);
	return strcmp(name, "bad") == 0     ? STATUS_FAILED
	       : strcmp(name, "other") == 0 ? RECURSIVE_NOT_OBJECT
					    : STATUS_OK;
}

/* Runs the job; @log: what the children noted, @message: on standard error. */
static int run(const char *dir, struct recursive_outcome *ret, char log[2000], char message[1000])
{
	char path[96];
	strcpy(path, in_directory("log"));
	unlink(path);
	const struct recursive_job job = {.dir = dir, .jobs = 1, .convert = convert, .user = path};
	struct captured_stderr captured = capture_begin();
	int err = recursive_convert(&job, ret);
	capture_end(&captured, message, 1000);
	FILE *file = fopen(path, "re");
	log[file ? fread(log, 1, 1999, file) : 0] = 0;
	if (file)
		fclose(file);
	return err;
}

static int make_tree(void **state)
{
	(void)state;
	parent = getpid();
	umask(022);
	assert_non_null(mkdtemp(directory));
	assert_int_equal(mkdir(in_directory("in"), 0755), 0);
	assert_int_equal(mkdir(in_directory("in/d"), 0755), 0);
	put_file("in/a", "aaaa", 4);
	put_file("in/bad", "", 0);
	put_file("in/d/killed", "x", 1);
	put_file("in/d/other", "x", 1);
	put_file("in/gsym", "MYSG", 4);
	put_file("in/gsym_big", "GSYM", 4);
	put_file("in/short", "MYS", 3);
	assert_int_equal(symlink("a", in_directory("in/link")), 0);
	assert_int_equal(mkfifo(in_directory("in/pipe"), 0600), 0);
	return 0;
}

static int remove_made(void **state)
{
	(void)state;
	return remove_tree(directory);
}

/* Beside their files; GSYM files, links and what is no file are not converted. */
TEST(beside)
{
	struct recursive_outcome outcome;
	char log[2000], message[1000];
	assert_int_equal(run(in_directory("in"), &outcome, log, message), 0);
	assert_string_equal(log, "/in/a /in/a.gsym\n/in/bad /in/bad.gsym\n/in/d/killed /in/d/killed.gsym\n"
				 "/in/d/other /in/d/other.gsym\n/in/short /in/short.gsym\n");
	assert_int_equal(outcome.converted, 2);
	assert_int_equal(outcome.skipped, 3);
	assert_int_equal(outcome.failed, 2);
	assert_non_null(strstr(message, "in/d/killed: conversion ended by signal 9\n"));
	assert_null(strstr(message, "bad"));
}

/* After so many calls of readdir(3) one fails; negative: none does. */
static int readable = -1;

struct dirent *__real_readdir64(DIR *dir);

struct dirent *__wrap_readdir64(DIR *dir)
{
	if (readable == 0) {
		errno = EIO;
		return NULL;
	}
	readable -= readable > 0;
	return __real_readdir64(dir);
}

/* What was read before is converted, and the outcome tells that there may be more. */
TEST(directory_that_cannot_be_read)
{
	struct recursive_outcome outcome;
	char log[2000], message[1000];
	readable = 0;
	assert_int_equal(run(in_directory("in"), &outcome, log, message), 0);
	assert_string_equal(log, "");
	assert_int_equal(outcome.failed, 1);
	assert_non_null(strstr(message, "/in: Input/output error"));
	readable = 3; /* of them one may be a file, if "." and ".." come first */
	assert_int_equal(run(in_directory("in/d"), &outcome, log, message), 0);
	assert_non_null(strstr(message, "/in/d: Input/output error"));
	assert_true(outcome.failed >= 1);
	assert_true(outcome.failed + outcome.converted <= 3);
	readable = -1;
}

/* The directories above a path. */
TEST(parents)
{
	char path[100];
	struct stat st;
	strcpy(path, in_directory("p/q/r"));
	assert_int_equal(recursive_make_parents(path), 0);
	assert_int_equal(recursive_make_parents(path), 0);
	assert_string_equal(path, in_directory("p/q/r"));
	assert_int_equal(stat(in_directory("p/q"), &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0755);
	assert_int_equal(stat(path, &st), -1);
	strcpy(path, in_directory("in/a/x/y"));
	assert_int_equal(recursive_make_parents(path), -ENOTDIR);
	assert_string_equal(path, in_directory("in/a/x/y"));
}

ALL_TESTS(make_tree, remove_made)

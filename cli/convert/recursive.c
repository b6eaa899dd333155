/*
 * recursive.c - each file is converted by a child process, so that what one needs is given back when it is
 * done, and a file that kills its child fails alone.
 */
#include "cli/convert/recursive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command/message.h"
#include "gsym/base/parallel.h"
#include "gsym/base/vec.h"
#include "gsym/codec/header.h"

struct recursive_child {
	pid_t pid;
	char *input;
};

struct recursive_walk {
	const struct recursive_job *job;
	struct recursive_outcome *outcome;
	struct stat output; /* the directory of the results; of no file while there is none */
	VEC(struct recursive_child) children;
	unsigned jobs; /* children at most */
};

/* ---- Paths ---- */

int recursive_make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		int failed = mkdir(path, 0777) && errno != EEXIST;
		int err = failed ? -errno : 0;
		*slash = '/';
		if (err)
			return err;
	}
	return 0;
}

/* The path of the result for @input, which is below the directory. NULL without memory. */
static char *result_path(const struct recursive_job *job, const char *input)
{
	char *path;
	const char *below = input + strlen(job->dir);
	while (job->output && *below == '/')
		below++;
	int n = job->output ? asprintf(&path, "%s/%s.gsym", job->output, below)
			    : asprintf(&path, "%s.gsym", input);
	return n < 0 ? NULL : path;
}

/* Whether the file is of a kind that has nothing to convert. */
static bool is_gsym(const char *path)
{
	uint8_t magic[MAGIC_SIZE];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	bool is = read(fd, magic, sizeof(magic)) == sizeof(magic) && header_has_magic(magic);
	close(fd);
	return is;
}

/* ---- Children ---- */

static void count_file(struct recursive_outcome *outcome, const struct recursive_child *child, int status)
{
	if (WIFSIGNALED(status))
		complain("%s: conversion ended by signal %d", child->input, WTERMSIG(status));
	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_OK)
		outcome->converted++;
	else if (WIFEXITED(status) && WEXITSTATUS(status) == RECURSIVE_NOT_OBJECT)
		outcome->skipped++;
	else
		outcome->failed++;
}

/* Waits for one of the children. */
static void wait_for_one(struct recursive_walk *tree)
{
	int status;
	pid_t pid;
	while ((pid = wait(&status)) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < tree->children.n; i++) {
		struct recursive_child *child = &tree->children.v[i];
		if (child->pid != pid)
			continue;
		count_file(tree->outcome, child, status);
		free(child->input);
		*child = tree->children.v[--tree->children.n];
		return;
	}
}

static void run_child(const struct recursive_job *job, const char *input, const char *output)
{
	int status = job->convert(job->user, input, output);
	fflush(NULL);
	_exit(status);
}

static int start_child(struct recursive_walk *tree, const char *input, const char *output)
{
	struct recursive_child child = {.input = strdup(input)};
	if (!child.input || vec_reserve(&tree->children, 1)) {
		free(child.input);
		return -ENOMEM;
	}
	fflush(NULL);
	child.pid = fork();
	if (child.pid == 0)
		run_child(tree->job, input, output);
	if (child.pid < 0) {
		free(child.input);
		return -errno;
	}
	tree->children.v[tree->children.n++] = child;
	return 0;
}

/* ---- The walk ---- */

typedef VEC(char *) name_vec;

static int convert_one(struct recursive_walk *tree, const char *input)
{
	CLEANUP(freep) char *output = result_path(tree->job, input);
	if (!output)
		return fail(input, -ENOMEM, NULL), -ENOMEM;
	while (tree->children.n >= tree->jobs)
		wait_for_one(tree);
	int err = start_child(tree, input, output);
	return err ? (fail(input, err, NULL), err) : 0;
}

static bool is_output(const struct recursive_walk *tree, const struct stat *st)
{
	return tree->job->output && st->st_ino == tree->output.st_ino && st->st_dev == tree->output.st_dev;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * The names in a directory, in order. Not by fts(3): that of glibc takes a directory whose reading fails for
 * one that ends there.
 */
static int read_names(const char *path, name_vec *ret)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int err = dir ? 0 : -errno;
	while (!err && (errno = 0, entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		char *name = strdup(entry->d_name);
		err = name ? vec_push(ret, name) : -ENOMEM;
		if (err)
			free(name);
	}
	if (!err)
		err = -errno;
	if (dir)
		closedir(dir);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_name);
	return err;
}

static int fail_at(struct recursive_walk *tree, const char *path, int err)
{
	tree->outcome->failed++;
	return fail(path, err, NULL), err;
}

static int walk_directory(struct recursive_walk *tree, const char *path);

/* What cannot be looked at is reported, and does not end the walk. */
static int visit(struct recursive_walk *tree, const char *path)
{
	struct stat st;
	if (lstat(path, &st)) {
		fail_at(tree, path, -errno);
		return 0;
	}
	if (S_ISDIR(st.st_mode))
		return is_output(tree, &st) ? 0 : walk_directory(tree, path);
	if (!S_ISREG(st.st_mode))
		return 0;
	if (!is_gsym(path))
		return convert_one(tree, path);
	tree->outcome->skipped++;
	return 0;
}

static int visit_below(struct recursive_walk *tree, const char *dir, const char *name)
{
	char *path;
	if (asprintf(&path, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", name) < 0)
		return fail_at(tree, dir, -ENOMEM);
	int err = visit(tree, path);
	free(path);
	return err;
}

/* A path has at most PATH_MAX bytes, which limits the depth of the recursion. */
static int walk_directory(struct recursive_walk *tree, const char *path)
{
	name_vec names = {0};
	int err = read_names(path, &names);
	if (err)
		fail_at(tree, path, err);
	err = 0;
	for (size_t i = 0; i < names.n; i++) {
		if (!err)
			err = visit_below(tree, path, names.v[i]);
		free(names.v[i]);
	}
	vec_free(&names);
	return err;
}

/* Makes the directory of the results, and those above it. 0, or -EIO after a message. */
static int make_output(const char *dir, struct stat *ret)
{
	char *path;
	int err = asprintf(&path, "%s/", dir) < 0 ? -ENOMEM : 0;
	if (!err) {
		err = recursive_make_parents(path);
		free(path);
	}
	if (!err && stat(dir, ret))
		err = -errno;
	return err ? fail(dir, err, NULL), -EIO : 0;
}

/* Whether there is a directory to search. 0 or a negative errno, after a message. */
static int check_input(const char *dir)
{
	struct stat st;
	int err = stat(dir, &st) ? -errno : S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	if (err)
		fail(dir, err, NULL);
	return err;
}

int recursive_convert(const struct recursive_job *job, struct recursive_outcome *ret)
{
	struct recursive_walk tree = {
		.job = job, .outcome = ret, .jobs = job->jobs ? job->jobs : parallel_cpus()};
	*ret = (struct recursive_outcome){0};
	int err = check_input(job->dir);
	ret->failed = err != 0;
	if (err)
		return err;
	if (job->output && make_output(job->output, &tree.output))
		return -EIO;
	signal(SIGCHLD, SIG_DFL); /* a parent may have ignored it: then there is nothing to wait for */
	err = walk_directory(&tree, job->dir);
	while (tree.children.n)
		wait_for_one(&tree);
	vec_free(&tree.children);
	return err;
}

/* key_files.h - files of keys in a private directory, for tests of signatures. */
#ifndef TESTS_KEY_FILES_H
#define TESTS_KEY_FILES_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"

/* The first key of RFC 8032, 7.1. */
#define KNOWN_SECRET_BASE64 "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="
#define KNOWN_SECRET        "gsymfs-secret-1 " KNOWN_SECRET_BASE64 "\n"
#define KNOWN_PUBLIC        "gsymfs-public-1 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
static const unsigned char known_public[32] = {
	0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a,
	0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a};

struct key_files {
	char dir[64], secret[80], trusted[80];
};

static inline void key_files_init(struct key_files *files)
{
	snprintf(files->dir, sizeof(files->dir), "/tmp/check-keys-XXXXXX");
	assert_non_null(mkdtemp(files->dir));
	snprintf(files->secret, sizeof(files->secret), "%s/secret", files->dir);
	snprintf(files->trusted, sizeof(files->trusted), "%s/trusted", files->dir);
}

static inline void key_files_deinit(struct key_files *files)
{
	unlink(files->secret);
	unlink(files->trusted);
	assert_int_equal(rmdir(files->dir), 0);
}

/* Each test begins and ends with these. */
static inline int key_files_set_up(void **state)
{
	static struct key_files files;
	key_files_init(*state = &files);
	return 0;
}

static inline int key_files_tear_down(void **state)
{
	key_files_deinit(*state);
	return 0;
}

/* Writes the file in place. */
static inline void write_bytes(const char *path, const void *bytes, size_t size, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static inline void write_keys(const char *path, const char *text, mode_t mode)
{
	write_bytes(path, text, strlen(text), mode);
}

#endif

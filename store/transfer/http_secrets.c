#include "store/transfer/http_secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gsym/base/fault.h"
#include "gsym/base/vec.h"

enum { FILE_SIZE = 256 * 1024, NAME_SIZE = 64 };

/* ---- Files ---- */

static int read_text(int fd, char *ret, size_t size)
{
	size_t n = 0;
	ssize_t got;
	while (n < size && (got = read(fd, ret + n, size - n)) != 0) {
		if (got < 0 && errno != EINTR)
			return system_error(errno);
		n += got > 0 ? (size_t)got : 0;
	}
	if (n == size)
		return -EFBIG;
	ret[n] = 0;
	return 0;
}

/* All of a file, which may be a pipe, as a string. */
static int read_file(const char *path, char *ret, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return system_error(errno);
	int err = read_text(fd, ret, size);
	close(fd);
	return err;
}

int secret_errno(int err)
{
	if (!err)
		return 0;
	switch (fault_of(err)) {
	case FAULT_FILE:
	case FAULT_LIMIT:
	case FAULT_ABSENT:
	case FAULT_DENIED: return -EACCES;
	case FAULT_MACHINE: return err == -EAGAIN ? -EIO : err; /* -EAGAIN: another host has the lease */
	default: return -EIO;
	}
}

/* Whether all of @text is between @first and "~". */
static bool has_only(const char *text, char first)
{
	for (; *text; text++)
		if (*text < first || *text > '~')
			return false;
	return true;
}

int bearer_read(const char *path, char *ret, size_t size)
{
	int err = read_file(path, ret, size);
	if (err)
		return err;
	ret[strcspn(ret, "\r\n")] = 0;
	return *ret && has_only(ret, ' ') ? 0 : -EINVAL;
}

/* ---- S3 ---- */

/* The value of a variable of the environment that is set and not empty, or NULL. */
static const char *environment(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

char *s3_credentials_path(void)
{
	char *path = NULL;
	const char *file = environment("AWS_SHARED_CREDENTIALS_FILE"), *home = environment("HOME");
	if (file)
		return strdup(file);
	if (!home) {
		errno = ENOENT;
		return NULL;
	}
	return asprintf(&path, "%s/.aws/credentials", home) < 0 ? NULL : path;
}

/* Takes the setting @name of the file if it is a key; false if its value cannot be one. */
static bool take_key(struct s3_credentials *ret, const char *name, const char *value)
{
	const struct {
		const char *name;
		char *to;
		size_t size;
	} keys[] = {{"aws_access_key_id", ret->key, sizeof(ret->key)},
		    {"aws_secret_access_key", ret->secret, sizeof(ret->secret)},
		    {"aws_session_token", ret->token, sizeof(ret->token)}};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(name, keys[i].name) != 0)
			continue;
		if (strlen(value) >= keys[i].size || !has_only(value, '!'))
			return false;
		strcpy(keys[i].to, value);
	}
	return true;
}

/* Lines are cut out of @text. A section begins with "[NAME]", and has lines "NAME = VALUE". */
static int parse_file(char *text, const char *profile, struct s3_credentials *ret)
{
	char name[NAME_SIZE], section[256];
	bool ours = false;
	for (char *line; (line = strsep(&text, "\n"));) {
		int at = 0;
		if (sscanf(line, " [ %255[^] \t]", section) == 1) {
			ours = strcmp(section, profile) == 0;
			continue;
		}
		if (!ours || sscanf(line, " %63[a-z_] = %n", name, &at) != 1 || !at)
			continue;
		char *value = line + at;
		size_t n = strlen(value);
		while (n > 0 && strchr(" \t\r", value[n - 1]))
			value[--n] = 0;
		if (!take_key(ret, name, value))
			return -EINVAL;
	}
	return *ret->key && *ret->secret ? 0 : -ENOENT;
}

static int from_file(struct s3_credentials *ret)
{
	const char *profile = environment("AWS_PROFILE");
	CLEANUP(freep) char *path = s3_credentials_path();
	if (!path)
		return -errno;
	CLEANUP(freep) char *text = malloc(FILE_SIZE);
	if (!text)
		return -ENOMEM;
	int err = read_file(path, text, FILE_SIZE);
	if (!err)
		err = parse_file(text, profile ? profile : "default", ret);
	explicit_bzero(text, FILE_SIZE);
	return err;
}

int s3_credentials_read(struct s3_credentials *ret)
{
	memset(ret, 0, sizeof(*ret));
	const char *key = environment("AWS_ACCESS_KEY_ID"), *secret = environment("AWS_SECRET_ACCESS_KEY");
	const char *token = environment("AWS_SESSION_TOKEN");
	if (!key || !secret)
		return from_file(ret);
	bool valid = take_key(ret, "aws_access_key_id", key) &&
		     take_key(ret, "aws_secret_access_key", secret) &&
		     take_key(ret, "aws_session_token", token ? token : "");
	return valid ? 0 : -EINVAL;
}

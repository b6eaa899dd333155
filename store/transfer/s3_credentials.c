#include "store/transfer/s3_credentials.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/transfer/secret_file.h"
#include "gsym/base/ascii.h"

enum { FILE_SIZE = 256 * 1024 };

/* The value of a variable of the environment that is set and not empty, or NULL. */
static const char *environment(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* A key: visible, and shorter than its buffer. */
static bool copy_key(const char *value, size_t n, char *ret, size_t size)
{
	if (n >= size)
		return false;
	for (size_t i = 0; i < n; i++)
		if (value[i] < 0x21 || value[i] > 0x7e)
			return false;
	memcpy(ret, value, n);
	ret[n] = 0;
	return true;
}

static int from_environment(const char *key, const char *secret, struct s3_credentials *ret)
{
	const char *token = environment("AWS_SESSION_TOKEN");
	if (!token)
		token = "";
	return copy_key(key, strlen(key), ret->key, sizeof(ret->key)) &&
			       copy_key(secret, strlen(secret), ret->secret, sizeof(ret->secret)) &&
			       copy_key(token, strlen(token), ret->token, sizeof(ret->token))
		       ? 0
		       : -EINVAL;
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

/* ---- The file ---- */

static void trim(const char **text, size_t *n)
{
	while (*n > 0 && is_blank(**text))
		(*text)++, (*n)--;
	while (*n > 0 && is_line_padding((*text)[*n - 1]))
		(*n)--;
}

/* "[NAME]" */
static bool is_section(const char *line, size_t n, const char *name)
{
	if (n < 2 || line[0] != '[' || line[n - 1] != ']')
		return false;
	line++;
	n -= 2;
	trim(&line, &n);
	return n == strlen(name) && memcmp(line, name, n) == 0;
}

/* "NAME = VALUE" of the section. */
static bool take_line(const char *line, size_t n, struct s3_credentials *ret)
{
	const struct {
		const char *name;
		char *to;
		size_t size;
	} keys[] = {{"aws_access_key_id", ret->key, sizeof(ret->key)},
		    {"aws_secret_access_key", ret->secret, sizeof(ret->secret)},
		    {"aws_session_token", ret->token, sizeof(ret->token)}};
	const char *equals = memchr(line, '=', n);
	if (!equals)
		return true;
	const char *name = line, *value = equals + 1;
	size_t n_name = (size_t)(equals - line), n_value = n - n_name - 1;
	trim(&name, &n_name);
	trim(&value, &n_value);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (n_name == strlen(keys[i].name) && memcmp(name, keys[i].name, n_name) == 0)
			return copy_key(value, n_value, keys[i].to, keys[i].size);
	return true;
}

static int parse_file(const char *text, const char *profile, struct s3_credentials *ret)
{
	bool ours = false, valid = true;
	while (*text && valid) {
		const char *line = text;
		size_t n = strcspn(text, "\n");
		text += n + (text[n] == '\n');
		trim(&line, &n);
		if (n > 0 && line[0] == '[')
			ours = is_section(line, n, profile);
		else if (ours && n > 0 && line[0] != '#' && line[0] != ';')
			valid = take_line(line, n, ret);
	}
	if (!valid)
		return -EINVAL;
	return *ret->key && *ret->secret ? 0 : -ENOENT;
}

static int from_file(struct s3_credentials *ret)
{
	const char *profile = environment("AWS_PROFILE");
	char *path = s3_credentials_path(), *text = NULL;
	int err = path ? 0 : -errno;
	if (!err && !(text = malloc(FILE_SIZE)))
		err = -ENOMEM;
	if (!err)
		err = secret_file_read(path, text, FILE_SIZE);
	if (!err)
		err = parse_file(text, profile ? profile : "default", ret);
	if (text)
		explicit_bzero(text, FILE_SIZE);
	free(text);
	free(path);
	return err;
}

int s3_credentials_read(struct s3_credentials *ret)
{
	memset(ret, 0, sizeof(*ret));
	const char *key = environment("AWS_ACCESS_KEY_ID"), *secret = environment("AWS_SECRET_ACCESS_KEY");
	return key && secret ? from_environment(key, secret, ret) : from_file(ret);
}

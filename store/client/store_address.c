#include "store/client/store_address.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work/worker/worker.h"
#include "gsym/base/diag.h"
#include "gsym/base/vec.h"

enum { ANSWER_MS = 2000 /* of a directory, at the start */ };

static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

enum store_scheme store_scheme_of(const char *address)
{
	return begins_with(address, "s3://") ? STORE_S3 : *address == '/' ? STORE_DIRECTORY : STORE_HTTP;
}

/* ---- Addresses of servers ---- */

/* Where the part after "SCHEME://" begins; NULL: of no known scheme. */
static const char *after_scheme(const char *address)
{
	static const char *const schemes[] = {"http://", "https://", "s3://"};
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (begins_with(address, schemes[i]))
			return address + strlen(schemes[i]);
	return NULL;
}

/* Whether the first @size characters of @text are letters, digits, or some of @more. */
static bool has_only(const char *text, size_t size, const char *more)
{
	size_t i = 0;
	while (i < size && (isalnum((unsigned char)text[i]) || strchr(more, text[i])))
		i++;
	return i == size;
}

/* No empty component, "." or ".."; slashes at the end are allowed. */
static bool path_is_plain(const char *path)
{
	while (*path == '/' && path[strspn(path, "/")]) {
		size_t n = strcspn(++path, "/");
		if (!n || (n <= 2 && strspn(path, ".") == n))
			return false;
		path += n;
	}
	return true;
}

static int check_server(const char *address, struct gsym_diag *diag)
{
	const char *host = after_scheme(address);
	if (!host)
		return diag_set(diag, -EINVAL,
				"store '%s': expected /DIRECTORY, http://, https:// or s3://BUCKET", address);
	size_t n = strcspn(host, "/");
	if (memchr(host, '@', n))
		return diag_set(diag, -EINVAL,
				"the address of the store holds a user or password: put them into a file");
	if (!n || !has_only(host, n, store_scheme_of(address) == STORE_S3 ? ".-" : ".-_:[]"))
		return diag_set(diag, -EINVAL, "store '%s': no valid %s", address,
				store_scheme_of(address) == STORE_S3 ? "bucket" : "host");
	if (!has_only(host + n, strlen(host + n), "/._~-") || !path_is_plain(host + n))
		return diag_set(diag, -EINVAL,
				"store '%s': the path may hold letters, digits and '-', '.', '_', '~'",
				address);
	return 0;
}

/* ---- Options ---- */

static int check_files(const struct store_options *o, struct gsym_diag *diag)
{
	const char *const files[] = {o->bearer_file, o->netrc_file, o->cert_file, o->key_file, o->ca_file};
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (files[i] && *files[i] != '/')
			return diag_set(diag, -EINVAL, "store: '%s' is no absolute path", files[i]);
		if (files[i] && strlen(files[i]) >= WORKER_STORE_PATH)
			return diag_set(diag, -ENAMETOOLONG, "store: '%.64s...': %s", files[i],
					strerror(ENAMETOOLONG));
	}
	if (o->key_file && !o->cert_file)
		return diag_set(diag, -EINVAL, "store: a key of the client without its certificate");
	return 0;
}

int store_options_check(const struct store_options *options, struct gsym_diag *diag)
{
	const struct store_options *o = options;
	if (strlen(o->address) >= WORKER_STORE_PATH)
		return diag_set(diag, -ENAMETOOLONG, "the address of the store is longer than %d bytes",
				WORKER_STORE_PATH - 1);
	enum store_scheme scheme = store_scheme_of(o->address);
	int err = scheme == STORE_DIRECTORY ? 0 : check_server(o->address, diag);
	if (err)
		return err;
	if (scheme != STORE_HTTP && (o->bearer_file || o->netrc_file || o->cert_file || o->key_file))
		return diag_set(diag, -EINVAL,
				"store '%s': tokens, netrc and certificates are for http:// and https://",
				o->address);
	if (scheme == STORE_DIRECTORY && o->ca_file)
		return diag_set(diag, -EINVAL, "store '%s': a directory has no certificate", o->address);
	return check_files(o, diag);
}

static bool is_set(const char *value)
{
	return value && *value;
}

/* Returns whether the store's process will find keys where it reads them (http_secrets.h). */
static bool has_s3_credentials(void)
{
	char path[PATH_MAX];
	const char *file = getenv("AWS_SHARED_CREDENTIALS_FILE"), *home = getenv("HOME");
	if (is_set(getenv("AWS_ACCESS_KEY_ID")) && is_set(getenv("AWS_SECRET_ACCESS_KEY")))
		return true;
	int n = is_set(file)   ? snprintf(path, sizeof(path), "%s", file)
		: is_set(home) ? snprintf(path, sizeof(path), "%s/.aws/credentials", home)
			       : -1;
	return n >= 0 && n < (int)sizeof(path) && !access(path, R_OK);
}

void store_options_warn(const struct store_options *options, const struct log *log)
{
	if (store_scheme_of(options->address) == STORE_S3 && !has_s3_credentials())
		log_warning(log,
			    "store '%s': there are no credentials for S3, so it is not used: set "
			    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials",
			    options->address);
	const char *const secrets[] = {options->bearer_file, options->netrc_file, options->key_file};
	struct stat st;
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		if (secrets[i] && stat(secrets[i], &st) == 0 && st.st_mode & 077)
			log_warning(log,
				    "store '%s': '%s' holds a secret and can be used by other users: "
				    "chmod it to 0600",
				    options->address, secrets[i]);
}

/* ---- Directories ---- */

static int check_owner(int fd, const char *path, struct gsym_diag *diag)
{
	struct stat st;
	if (fstat(fd, &st))
		return diag_set(diag, -errno, "store '%s': cannot stat: %s", path, strerror(errno));
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return diag_set(diag, -EPERM,
				"store '%s' belongs to user %u, which is neither the daemon's user nor root",
				path, (unsigned)st.st_uid);
	if (st.st_mode & 022)
		return diag_set(diag, -EPERM, "store '%s' is writable by others: chmod it to 0700", path);
	return 0;
}

int store_directory_open(const char *path, struct gsym_diag *diag)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return diag_set(diag, -errno, "store '%s': cannot open: %s", path, strerror(errno));
	int err = check_owner(fd, path, diag);
	if (err)
		close(fd);
	return err ? err : fd;
}

struct directory_answer {
	int err;
	struct gsym_diag diag;
};

/* In a process of its own, which a file server that is down may keep for ever. */
static void look(int to, const char *path)
{
	struct directory_answer answer = {0};
	int dir = store_directory_open(path, &answer.diag);
	answer.err = dir < 0 ? dir : 0;
	_exit(write(to, &answer, sizeof(answer)) != sizeof(answer));
}

int store_directory_check(const char *path, const struct log *log, struct gsym_diag *diag)
{
	struct directory_answer answer;
	int ends[2];
	pid_t pid = pipe2(ends, O_CLOEXEC) ? -1 : fork();
	if (pid < 0) /* it is checked when the process of the store opens it */
		return 0;
	if (!pid)
		look(ends[1], path);
	close(ends[1]);
	struct pollfd end = {.fd = ends[0], .events = POLLIN};
	poll(&end, 1, ANSWER_MS);
	bool is_answered = end.revents && read(ends[0], &answer, sizeof(answer)) == sizeof(answer);
	close(ends[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, is_answered ? 0 : WNOHANG);
	if (!is_answered)
		log_warning(log, "store '%s': the directory does not answer", path);
	return is_answered && answer.err ? diag_set(diag, answer.err, "%s", answer.diag.text) : 0;
}

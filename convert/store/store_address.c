#include "convert/store/store_address.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert/cache/cache_dir.h"
#include "convert/worker/worker.h"
#include "gsym/base/diag.h"
#include "gsym/base/vec.h"

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

static bool is_alphanumeric(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether the first @size characters of @text are letters, digits, or some of @more. */
static bool has_only(const char *text, size_t size, const char *more)
{
	for (size_t i = 0; i < size; i++)
		if (!is_alphanumeric(text[i]) && !strchr(more, text[i]))
			return false;
	return true;
}

/* No empty component, "." or ".."; one slash at the end is allowed. */
static bool path_is_plain(const char *path)
{
	while (*path == '/') {
		size_t n = strcspn(++path, "/");
		bool is_dots = n && n <= 2 && strspn(path, ".") == n;
		if (is_dots || (!n && *path))
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
		return diag_set(
			diag, -EINVAL,
			"the address of the store holds a user or password: put them into a netrc file");
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

bool store_directory_is_old(int dir)
{
	const size_t end = strlen(CACHE_GSYM_SUFFIX);
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	bool found = false;
	while (list && !found && (entry = readdir(list))) {
		size_t n = strlen(entry->d_name);
		found = n > end && strcmp(entry->d_name + n - end, CACHE_GSYM_SUFFIX) == 0;
	}
	if (list)
		closedir(list);
	else if (copy >= 0)
		close(copy);
	return found;
}

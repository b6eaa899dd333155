#include "cli/store/store_session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/command/message.h"
#include "work/run/defaults.h"
#include "gsym/base/diag.h"
#include "gsym/base/vec.h"

enum { WAIT_MS = 3600 * 1000 /* limits of the transfer end it long before */ };

/* Bytes, decompressed: what a daemon with a cache of the default size takes. */
static const uint64_t object_most = (uint64_t)CACHE_GIB_DEFAULT << 30;
static const char program[] = "/proc/self/exe";

void session_store_options(const char *address, const struct session_options *options,
			   struct store_options *ret)
{
	*ret = (struct store_options){
		.address = address,
		.bearer_file = options->bearer_file,
		.netrc_file = options->netrc_file,
		.cert_file = options->cert_file,
		.key_file = options->key_file,
		.ca_file = options->ca_file,
	};
}

int session_refuse(const struct gsym_diag *diag)
{
	complain("%s", diag->text);
	return STATUS_FAILED;
}

char *session_address(const char *given)
{
	char dir[PATH_MAX], *made;
	/* No address is no directory either: that would be the present one. */
	if (!given[0] || given[0] == '/' || strstr(given, "://") || !getcwd(dir, sizeof(dir)))
		return strdup(given);
	return asprintf(&made, "%s/%s", dir, given) < 0 ? NULL : made;
}

int session_open(struct store_session *session, const char *address, const struct session_options *options)
{
	struct gsym_diag diag = {""};
	struct store_options store;
	*session = (struct store_session){.stop_fd = eventfd(0, EFD_CLOEXEC)};
	if (session->stop_fd < 0)
		return fail(address, -errno, NULL);
	session->address = session_address(address);
	if (!session->address)
		return fail(address, -ENOMEM, NULL);
	int err = trust_open(options->sign_key, options->trusted_keys, &session->trust, &diag);
	if (err)
		return session_refuse(&diag);
	session_store_options(session->address, options, &store);
	err = store_open(&store, program, session->stop_fd, &session->log, &session->counters,
			 &session->store, &diag);
	return err ? session_refuse(&diag) : STATUS_OK;
}

void session_close(struct store_session *session)
{
	store_close(session->store);
	trust_close(session->trust);
	free(session->address);
	if (session->stop_fd >= 0)
		close(session->stop_fd);
}

int session_do(struct store_session *session, struct store_request *request, struct store_reply *ret)
{
	store_do(session->store, request, WAIT_MS, ret);
	return ret->err;
}

static const char *why(int err)
{
	switch (err) {
	case -ENOENT: return "is not in the store";
	case -EACCES: return "the store does not permit it";
	case -EHOSTUNREACH: return "cannot connect to the store";
	case -EREMOTEIO: return "the store failed";
	case -ENETDOWN: return "the store has failed too often just now";
	default: return strerror(-err);
	}
}

int session_report(int err, const struct store_reply *reply, struct gsym_diag *diag)
{
	const char *text = err == -ENOENT || !reply->text[0] ? why(err) : reply->text;
	return diag_set(diag, err, "%s", text);
}

int session_take(struct store_session *session, const struct store_key *key, int fd,
		 struct object_trailer *ret, struct gsym_diag *diag)
{
	char name[STORE_NAME_SIZE];
	struct store_reply reply = {0};
	store_name(key, STORE_CONVERSION, name);
	struct store_request request = {
		.operation = STORE_GET, .name = name, .fd = fd, .size = object_most, .object = true};
	int err = session_do(session, &request, &reply);
	if (err)
		return session_report(err, &reply, diag);
	return object_check(fd, reply.size, key, session->trust, ret, diag);
}

void session_key_text(const struct store_key *key, char ret[static KEY_TEXT_SIZE])
{
	for (size_t i = 0; i < STORE_DIGEST; i++)
		snprintf(ret + 2 * i, 3, "%02x", key->digest[i]);
}

int session_temp(void)
{
	char path[PATH_MAX];
	const char *dir = getenv("TMPDIR");
	if (!dir || !dir[0] || strlen(dir) > PATH_MAX - 32)
		dir = "/tmp";
	int fd = open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd >= 0 || errno != EOPNOTSUPP)
		return fd < 0 ? -errno : fd;
	snprintf(path, sizeof(path), "%s/gsym-XXXXXX", dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

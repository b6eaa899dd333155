#include "cli/store/store_session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/message.h"
#include "gsym/base/diag.h"
#include "gsym/base/ascii.h"

enum { STORE_WAIT_MS = 600 * 1000 /* before a conversion is begun: here, no answer waits for it */ };

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
	*session = (struct store_session){.log = {.most = LOG_LEVEL_WARNING, .program = "gsym store"}};
	int err = stop_signals_block(&session->signals);
	if (err)
		return fail(address, err, NULL);
	session->address = session_address(address);
	if (!session->address)
		return fail(address, -ENOMEM, NULL);
	const struct share_options share = {
		.store =
			{
				.address = session->address,
				.bearer_file = options->bearer_file,
				.netrc_file = options->netrc_file,
				.cert_file = options->cert_file,
				.key_file = options->key_file,
				.ca_file = options->ca_file,
			},
		.sign_key = options->sign_key,
		.trusted_keys = options->trusted_keys,
		.wait_ms = STORE_WAIT_MS,
	};
	err = share_open(&share, "/proc/self/exe", session->signals.fd, NULL, &session->log, &session->share,
			 &diag);
	return err ? session_refuse(&diag) : STATUS_OK;
}

void session_close(struct store_session *session)
{
	share_close(session->share);
	free(session->address);
	stop_signals_restore(&session->signals);
}

static const char *why(int err)
{
	switch (err) {
	case -ENOENT: return "is not in the store";
	case -EACCES: return "the store does not permit it";
	case -EHOSTUNREACH: return "cannot connect to the store";
	case -EREMOTEIO: return "the store failed";
	case -ENETDOWN: return "the store has failed too often just now";
	case -EBUSY:
		return "cannot start a thread: Resource temporarily unavailable"; /* no other request waits */
	default: return strerror(-err);
	}
}

int session_report(int err, const struct store_reply *reply, struct gsym_diag *diag)
{
	const char *text = err == -ENOENT || !reply->text[0] ? why(err) : reply->text;
	return diag_set(diag, err, "%s", text);
}

void session_key_text(const struct store_key *key, char ret[static KEY_TEXT_SIZE])
{
	hex_write(ret, key->digest, STORE_DIGEST);
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

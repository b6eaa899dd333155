/* store_session.h - a store as a command of gsym uses it: options, the open store, objects taken from it. */
#ifndef CLI_STORE_STORE_SESSION_H
#define CLI_STORE_STORE_SESSION_H

#include "cli/command/cli_options.h"
#include "cli/command/stop_signals.h"
#include "store/client/store_object.h"
#include "store/share/share.h"

/* How a store is used; NULL: not set. */
struct session_options {
	const char *sign_key, *trusted_keys;
	const char *bearer_file, *netrc_file, *cert_file, *key_file, *ca_file;
};

/* clang-format off */

/* Rows of a command's options; @member is a struct session_options. */
#define OPTIONS_SESSION(type, member)                                                                       \
	{0, "sign-key", "FILE", "sign what is published with the secret key in FILE",                       \
	 OPTION_STRING(type, member.sign_key)},                                                             \
	{0, "trusted-keys", "FILE", "take only what was signed by a public key in FILE",                    \
	 OPTION_STRING(type, member.trusted_keys)},                                                         \
	{0, "bearer-file", "FILE", "HTTP: send the token in FILE",                                          \
	 OPTION_STRING(type, member.bearer_file)},                                                          \
	{0, "netrc-file", "FILE", "HTTP: send user and password of FILE, see netrc(5)",                     \
	 OPTION_STRING(type, member.netrc_file)},                                                           \
	{0, "cert-file", "FILE", "HTTPS: the client's certificate, PEM",                                    \
	 OPTION_STRING(type, member.cert_file)},                                                            \
	{0, "key-file", "FILE", "HTTPS: the key of the certificate, PEM",                                   \
	 OPTION_STRING(type, member.key_file)},                                                             \
	{0, "ca-file", "FILE", "HTTPS: certificates of authorities, PEM, instead of\nthe system's",         \
	 OPTION_STRING(type, member.ca_file)}

/* clang-format on */

/* The name of an option that is given for a server; NULL: none is. */
static inline const char *session_secret(const struct session_options *options)
{
	return options->bearer_file  ? "bearer-file"
	       : options->netrc_file ? "netrc-file"
	       : options->cert_file  ? "cert-file"
	       : options->key_file   ? "key-file"
	       : options->ca_file    ? "ca-file"
				     : NULL;
}

/*
 * The address as store_open() takes it: a relative path becomes an absolute one. NULL without memory; the
 * caller's to free.
 */
char *session_address(const char *given);

struct store_session {
	char *address;
	struct stop_signals signals; /* blocked while it is open */
	struct log log;
	struct share *share;
};

/* STATUS_OK, or a status after a message. To be closed in any case. */
int session_open(struct store_session *session, const char *address, const struct session_options *options);
void session_close(struct store_session *session);

/* Prints why a store cannot be used, which names the store or a file of keys. Returns STATUS_FAILED. */
int session_refuse(const struct gsym_diag *diag);

/* Whether @err says that the object is bad, rather than that the store could not be asked. */
static inline bool session_is_bad(int err)
{
	return err == -EBADMSG || err == -EPROTO || err == -EPERM || err == -EFBIG;
}

/* Sets @diag to what went wrong, and returns @err, that of the reply. */
int session_report(int err, const struct store_reply *reply, struct gsym_diag *diag);

/* Formats the digest of @key as in names. */
enum { KEY_TEXT_SIZE = 2 * STORE_DIGEST + 1 };
void session_key_text(const struct store_key *key, char ret[static KEY_TEXT_SIZE]);

/* An unnamed file for what is taken, in $TMPDIR or /tmp. Its descriptor, or a negative errno. */
int session_temp(void);

#endif

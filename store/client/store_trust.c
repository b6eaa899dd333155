#include "store/client/store_trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/client/sodium.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"
#include "gsym/base/vec.h"

#define SECRET_PREFIX "gsymfs-secret-1"
#define PUBLIC_PREFIX "gsymfs-public-1"
#define BLANKS        " \t\r"

enum {
	KEY_BYTES = 32, /* a seed, or a public key */
	BASE64_SIZE = sodium_base64_ENCODED_LEN(KEY_BYTES, sodium_base64_VARIANT_ORIGINAL),
	FILE_MAX = 256 << 10, /* about 4,000 keys */
};

struct store_trust {
	char *sign_key, *trusted_keys; /* absolute; NULL: none */
};

/* ---- Files of keys ---- */

/* A file with secrets, in memory. */
struct key_text {
	char *v;
	size_t n;
};

static void key_text_deinit(struct key_text *text)
{
	if (text->v)
		sodium_library(NULL)->memzero(text->v, text->n);
	free(text->v);
}

static int check_owner(const char *path, const struct stat *st, bool is_secret, struct gsym_diag *diag)
{
	if (!S_ISREG(st->st_mode))
		return diag_set(diag, -EPERM, "'%s' is no regular file", path);
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return diag_set(diag, -EPERM, "'%s' belongs to user %u, which is neither this one nor root",
				path, (unsigned)st->st_uid);
	if (st->st_mode & 022)
		return diag_set(diag, -EPERM, "'%s' can be written by other users: chmod it to %s", path,
				is_secret ? "0600" : "0644");
	if (is_secret && st->st_mode & 077)
		return diag_set(diag, -EPERM,
				"'%s' holds a secret and can be read by other users: chmod it "
				"to 0600",
				path);
	if (st->st_size > FILE_MAX)
		return diag_set(diag, -EBADMSG, "'%s' is too large for a file of keys", path);
	return 0;
}

static int read_text(int fd, const char *path, bool is_secret, struct key_text *ret, struct gsym_diag *diag)
{
	struct stat st;
	if (fstat(fd, &st))
		return diag_set(diag, -errno, "'%s': cannot stat: %s", path, strerror(errno));
	int err = check_owner(path, &st, is_secret, diag);
	if (err)
		return err;
	struct key_text text = {calloc(1, (size_t)st.st_size + 1), (size_t)st.st_size};
	if (!text.v)
		return diag_set(diag, -ENOMEM, "no memory");
	err = read_all(fd, text.v, text.n, 0);
	if (err) {
		key_text_deinit(&text);
		return diag_set(diag, err, "'%s': %s", path,
				err == -EBADMSG ? "was cut while it was read" : strerror(-err));
	}
	*ret = text;
	return 0;
}

static int open_text(const char *path, bool is_secret, struct key_text *ret, struct gsym_diag *diag)
{
	if (!sodium_library(diag))
		return diag_prefix(diag, -ELIBACC, "signatures need libsodium");
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return diag_set(diag, -errno, "'%s': cannot open: %s", path, strerror(errno));
	int err = read_text(fd, path, is_secret, ret, diag);
	close(fd);
	return err;
}

/* The keys of a file one after the other. What a file holds is never part of a diagnosis. */
struct key_lines {
	const char *path, *prefix;
	char *rest; /* NULL at the end */
	unsigned line;
};

/* Parses "PREFIX BASE64", of which @blank is where the rest begins. NULL if it is no key. */
static char *parse_key(char *at, const char *prefix, uint8_t ret[static KEY_BYTES])
{
	size_t n = strlen(prefix), size;
	if (strncmp(at, prefix, n) != 0 || !strchr(BLANKS, at[n]) || !at[n])
		return NULL;
	at += n + strspn(at + n, BLANKS);
	n = strcspn(at, BLANKS);
	if (sodium_library(NULL)->from_base64(ret, KEY_BYTES, at, n, NULL, &size, NULL,
					      sodium_base64_VARIANT_ORIGINAL) != 0 ||
	    size != KEY_BYTES)
		return NULL;
	return at + n + strspn(at + n, BLANKS);
}

/* 1 and the next key, with *ret_rest what follows it in its line; 0 at the end; -EBADMSG. */
static int next_key(struct key_lines *lines, uint8_t ret[static KEY_BYTES], const char **ret_rest,
		    struct gsym_diag *diag)
{
	char *at;
	while ((at = strsep(&lines->rest, "\n"))) {
		lines->line++;
		at[strcspn(at, "#")] = 0;
		at += strspn(at, BLANKS);
		if (!*at)
			continue;
		*ret_rest = parse_key(at, lines->prefix, ret);
		if (*ret_rest)
			return 1;
		return diag_set(diag, -EBADMSG, "'%s', line %u: no key of the form '%s BASE64'", lines->path,
				lines->line, lines->prefix);
	}
	return 0;
}

static int begin_lines(struct key_lines *lines, const char *path, const char *prefix, struct key_text *text,
		       struct gsym_diag *diag)
{
	*lines = (struct key_lines){path, prefix, text->v, 0};
	return strlen(text->v) == text->n ? 0
					  : diag_set(diag, -EBADMSG, "'%s' is no text: it holds a NUL", path);
}

static int find_seed(struct key_lines *lines, uint8_t ret[static KEY_BYTES], struct gsym_diag *diag)
{
	uint8_t other[KEY_BYTES];
	const char *rest;
	int n = next_key(lines, ret, &rest, diag);
	if (n == 0)
		return diag_set(diag, -EBADMSG, "'%s' holds no key", lines->path);
	if (n > 0 && *rest)
		return diag_set(diag, -EBADMSG, "'%s', line %u: more than a key", lines->path, lines->line);
	if (n > 0)
		n = next_key(lines, other, &rest, diag);
	sodium_library(NULL)->memzero(other, sizeof(other));
	return n > 0 ? diag_set(diag, -EBADMSG, "'%s', line %u: a second key, but one signs", lines->path,
				lines->line)
		     : n;
}

static int read_seed(const char *path, uint8_t ret[static KEY_BYTES], struct gsym_diag *diag)
{
	CLEANUP(key_text_deinit) struct key_text text = {0};
	struct key_lines lines;
	int err = open_text(path, true, &text, diag);
	if (!err)
		err = begin_lines(&lines, path, SECRET_PREFIX, &text, diag);
	return err ? err : find_seed(&lines, ret, diag);
}

/* All lines are checked. */
int trust_file_has(const char *path, const uint8_t wanted[static 32], struct gsym_diag *diag)
{
	CLEANUP(key_text_deinit) struct key_text text = {0};
	struct key_lines lines;
	uint8_t key[KEY_BYTES];
	const char *rest;
	bool found = false, any = false;
	int n = open_text(path, false, &text, diag);
	if (!n)
		n = begin_lines(&lines, path, PUBLIC_PREFIX, &text, diag);
	if (n)
		return n;
	while ((n = next_key(&lines, key, &rest, diag)) > 0) {
		any = true;
		found |= memcmp(key, wanted, KEY_BYTES) == 0;
	}
	if (!n && !any)
		return diag_set(diag, -EBADMSG, "'%s' holds no key", path);
	return n ? n : found;
}

/* ---- The interface ---- */

/* NULL without memory; the daemon changes its directory. */
static char *absolute(const char *path)
{
	char dir[PATH_MAX], *made;
	if (path[0] == '/' || !getcwd(dir, sizeof(dir)))
		return strdup(path);
	return asprintf(&made, "%s/%s", dir, path) < 0 ? NULL : made;
}

static int try_files(const struct store_trust *trust, struct gsym_diag *diag)
{
	static const uint8_t none[KEY_BYTES];
	uint8_t seed[KEY_BYTES];
	int err = 0;
	if (trust->sign_key) {
		err = read_seed(trust->sign_key, seed, diag);
		if (!err)
			sodium_library(NULL)->memzero(seed, sizeof(seed));
	}
	if (!err && trust->trusted_keys)
		err = trust_file_has(trust->trusted_keys, none, diag);
	return err < 0 ? err : 0;
}

int trust_open(const char *sign_key, const char *trusted_keys, struct store_trust **ret,
	       struct gsym_diag *diag)
{
	struct store_trust *trust = calloc(1, sizeof(*trust));
	if (!trust)
		return diag_set(diag, -ENOMEM, "no memory");
	trust->sign_key = sign_key ? absolute(sign_key) : NULL;
	trust->trusted_keys = trusted_keys ? absolute(trusted_keys) : NULL;
	int err = 0;
	if ((sign_key && !trust->sign_key) || (trusted_keys && !trust->trusted_keys))
		err = diag_set(diag, -ENOMEM, "no memory");
	if (!err)
		err = try_files(trust, diag);
	if (err) {
		trust_close(trust);
		return err;
	}
	*ret = trust;
	return 0;
}

void trust_close(struct store_trust *trust)
{
	if (!trust)
		return;
	free(trust->sign_key);
	free(trust->trusted_keys);
	free(trust);
}

bool trust_is_demanded(const struct store_trust *trust)
{
	return trust && trust->trusted_keys;
}

bool trust_signs(const struct store_trust *trust)
{
	return trust && trust->sign_key;
}

int trust_sign(struct store_trust *trust, const uint8_t *message, size_t size, uint8_t ret_signer[static 32],
	       uint8_t ret_signature[static 64], struct gsym_diag *diag)
{
	uint8_t seed[crypto_sign_SEEDBYTES], secret[crypto_sign_SECRETKEYBYTES];
	if (!trust_signs(trust))
		return 0;
	int err = read_seed(trust->sign_key, seed, diag);
	if (err)
		return err;
	const struct sodium *sodium = sodium_library(NULL);
	sodium->sign_seed_keypair(ret_signer, secret, seed);
	sodium->sign_detached(ret_signature, NULL, message, size, secret);
	sodium->memzero(seed, sizeof(seed));
	sodium->memzero(secret, sizeof(secret));
	return 1;
}

int trust_verify(struct store_trust *trust, const uint8_t *message, size_t size, const uint8_t *signer,
		 const uint8_t *signature, struct gsym_diag *diag)
{
	if (!trust_is_demanded(trust))
		return 0;
	int found = trust_file_has(trust->trusted_keys, signer, diag);
	if (found < 0) /* the list is at fault: the object must not look damaged */
		return found == -ENOMEM ? found : -ENOKEY;
	if (!found)
		return diag_set(diag, -EPERM, "signed by a key that is not in '%s'", trust->trusted_keys);
	if (sodium_library(NULL)->sign_verify_detached(signature, message, size, signer))
		return diag_set(diag, -EPERM, "the signature is false");
	return 0;
}

/* A line of a file of keys. */
static void write_key(const char *prefix, const uint8_t *key, char ret[static 128])
{
	char text[BASE64_SIZE];
	const struct sodium *sodium = sodium_library(NULL);
	sodium->to_base64(text, sizeof(text), key, KEY_BYTES, sodium_base64_VARIANT_ORIGINAL);
	snprintf(ret, 128, "%s %s\n", prefix, text);
	sodium->memzero(text, sizeof(text));
}

int trust_make_key(char ret_secret[static 128], char ret_public[static 128], struct gsym_diag *diag)
{
	const struct sodium *sodium = sodium_library(diag);
	uint8_t public[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
	if (!sodium)
		return diag_prefix(diag, -ELIBACC, "keys need libsodium");
	/* The first half of the secret key is the seed that both keys are made of. */
	sodium->sign_keypair(public, secret);
	write_key(SECRET_PREFIX, secret, ret_secret);
	write_key(PUBLIC_PREFIX, public, ret_public);
	sodium->memzero(secret, sizeof(secret));
	return 0;
}

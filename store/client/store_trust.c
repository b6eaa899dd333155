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

static int check_owner(const char *path, const struct stat *st, bool is_secret, struct gsym_diag *diag)
{
	if (!S_ISREG(st->st_mode))
		return diag_set(diag, -EPERM, "%s: is no regular file", path);
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return diag_set(diag, -EPERM, "%s: belongs to user %u, which is neither this one nor root",
				path, (unsigned)st->st_uid);
	if (st->st_mode & 022)
		return diag_set(diag, -EPERM, "%s: can be written by other users: chmod it to %s", path,
				is_secret ? "0600" : "0644");
	if (is_secret && st->st_mode & 077)
		return diag_set(diag, -EPERM,
				"%s: holds a secret and can be read by other users: chmod it "
				"to 0600",
				path);
	if (st->st_size > FILE_MAX)
		return diag_set(diag, -EBADMSG, "%s: is too large for a file of keys", path);
	return 0;
}

/* A file in memory, as a string. */
struct key_text {
	char *v;
	size_t n;
};

static void key_text_deinit(struct key_text *text)
{
	if (text->v)
		explicit_bzero(text->v, text->n);
	free(text->v);
}

static int read_text(int fd, const char *path, bool is_secret, struct key_text *ret, struct gsym_diag *diag)
{
	struct stat st;
	if (fstat(fd, &st))
		return diag_set(diag, -errno, "%s: cannot stat: %s", path, strerror(errno));
	int err = check_owner(path, &st, is_secret, diag);
	if (err)
		return err;
	*ret = (struct key_text){calloc(1, (size_t)st.st_size + 1), (size_t)st.st_size};
	if (!ret->v)
		return diag_set(diag, -ENOMEM, "no memory");
	err = read_all(fd, ret->v, ret->n, 0);
	if (err)
		return diag_set(diag, err, "%s: %s", path,
				err == -EBADMSG ? "was cut while it was read" : strerror(-err));
	return strlen(ret->v) == ret->n ? 0
					: diag_set(diag, -EBADMSG, "%s: is no text: it holds a NUL", path);
}

/* To be freed in any case. */
static int open_text(const char *path, bool is_secret, struct key_text *ret, struct gsym_diag *diag)
{
	if (!sodium_library(diag))
		return diag_prefix(diag, -ELIBACC, "signatures need libsodium");
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return diag_set(diag, -errno, "%s: cannot open: %s", path, strerror(errno));
	int err = read_text(fd, path, is_secret, ret, diag);
	close(fd);
	return err;
}

/* Parses "PREFIX BASE64". Returns what follows that; NULL if it is no key. */
static const char *parse_key(const char *at, const char *prefix, uint8_t ret[static KEY_BYTES])
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

/*
 * Reads a file of keys, all of whose lines are checked. What it holds is never part of a diagnosis.
 *
 * @is_secret: it holds one secret key and nothing else, which is then in @key
 * @key:       else: whether it is in the file is returned, 1 or 0
 */
static int read_keys(const char *path, bool is_secret, uint8_t key[static KEY_BYTES], struct gsym_diag *diag)
{
	const char *prefix = is_secret ? SECRET_PREFIX : PUBLIC_PREFIX;
	CLEANUP(key_text_deinit) struct key_text text = {0};
	uint8_t read[KEY_BYTES];
	unsigned line = 0, n = 0;
	bool found = false;
	int err = open_text(path, is_secret, &text, diag);
	for (char *rest = text.v, *at; !err && (at = strsep(&rest, "\n"));) {
		line++;
		at[strcspn(at, "#")] = 0;
		at += strspn(at, BLANKS);
		if (!*at)
			continue;
		const char *after = parse_key(at, prefix, read);
		found |= after && !is_secret && memcmp(key, read, KEY_BYTES) == 0;
		if (!after)
			err = diag_set(diag, -EBADMSG, "%s: line %u: no key of the form '%s BASE64'", path,
				       line, prefix);
		else if (is_secret && (n || *after))
			err = diag_set(diag, -EBADMSG, "%s: line %u: more than the key that signs", path,
				       line);
		else if (is_secret)
			memcpy(key, read, KEY_BYTES);
		n++;
	}
	explicit_bzero(read, sizeof(read));
	if (!err && !n)
		err = diag_set(diag, -EBADMSG, "%s: holds no key", path);
	return err ? err : found;
}

int trust_file_has(const char *path, const uint8_t key[static 32], struct gsym_diag *diag)
{
	uint8_t wanted[KEY_BYTES];
	memcpy(wanted, key, sizeof(wanted));
	return read_keys(path, false, wanted, diag);
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
	int err = trust->sign_key ? read_keys(trust->sign_key, true, seed, diag) : 0;
	explicit_bzero(seed, sizeof(seed));
	if (err >= 0 && trust->trusted_keys)
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
	int err = read_keys(trust->sign_key, true, seed, diag);
	if (err < 0)
		return err;
	const struct sodium *sodium = sodium_library(NULL);
	sodium->sign_seed_keypair(ret_signer, secret, seed);
	sodium->sign_detached(ret_signature, NULL, message, size, secret);
	explicit_bzero(seed, sizeof(seed));
	explicit_bzero(secret, sizeof(secret));
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
	sodium_library(NULL)->to_base64(text, sizeof(text), key, KEY_BYTES, sodium_base64_VARIANT_ORIGINAL);
	snprintf(ret, 128, "%s %s\n", prefix, text);
	explicit_bzero(text, sizeof(text));
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
	explicit_bzero(secret, sizeof(secret));
	return 0;
}

/*
 * store_trust.h - the keys by which objects of a store are signed, and those that are trusted.
 *
 * Files of lines; empty ones, and from '#' on, are ignored. A secret key is one line "gsymfs-secret-1
 * <base64 of 32 bytes, the seed>" in a file that only its owner and root can read; public keys are lines
 * "gsymfs-public-1 <base64 of 32 bytes> [comment]". The files are read whenever a key is needed: keys can be
 * replaced while programs run, and no secret stays in memory. All functions may be called by any thread.
 */
#ifndef STORE_CLIENT_STORE_TRUST_H
#define STORE_CLIENT_STORE_TRUST_H

#include <stdbool.h>
#include <stdint.h>

#include "gsym/gsym.h"

struct store_trust;

/*
 * @sign_key:     file of the secret key; NULL: nothing is signed
 * @trusted_keys: file of public keys; NULL: signatures are not demanded
 *
 * Names are relative to the working directory of this call. Both files are tried. -EPERM if others could
 * read the secret, or write either file; -EBADMSG with file and line for what is no key, or if there is none;
 * -ELIBACC; -ENOMEM; or the errno of opening and reading.
 */
int trust_open(const char *sign_key, const char *trusted_keys, struct store_trust **ret,
	       struct gsym_diag *diag);
void trust_close(struct store_trust *trust); /* NULL is allowed */

/* Whether only signed objects are taken. */
bool trust_is_demanded(const struct store_trust *trust);

/* Whether there is a key to sign with. */
bool trust_signs(const struct store_trust *trust);

/* Signs @message: 1, or 0 if there is no key to sign with; or a negative errno as of trust_open(). */
int trust_sign(struct store_trust *trust, const uint8_t *message, size_t size, uint8_t ret_signer[static 32],
	       uint8_t ret_signature[static 64], struct gsym_diag *diag);

/*
 * Whether a trusted key signed @message, if signatures are demanded. 0; -EPERM with the reason: @signer is
 * not trusted, or did not sign @message; -ENOKEY: the file of keys cannot be read now, or is none; -ENOMEM.
 */
int trust_verify(struct store_trust *trust, const uint8_t *message, size_t size, const uint8_t *signer,
		 const uint8_t *signature, struct gsym_diag *diag);

/* Whether @key is one of the public keys in the file: 1, 0, or a negative errno as of trust_open(). */
int trust_file_has(const char *path, const uint8_t key[static 32], struct gsym_diag *diag);

/* Makes a new key: the lines of both files, with line breaks. 0; -ELIBACC: @diag says why. */
int trust_make_key(char ret_secret[static 128], char ret_public[static 128], struct gsym_diag *diag);

#endif

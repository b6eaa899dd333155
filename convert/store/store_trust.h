/*
 * store_trust.h - the keys by which objects of a store are signed, and those that are trusted.
 *
 * Files of lines; empty ones, and from '#' on, are ignored. A secret key is one line "gsymfs-secret-1
 * <base64 of 32 bytes, the seed>" in a file that only its owner and root can read; public keys are lines
 * "gsymfs-public-1 <base64 of 32 bytes> [comment]". The files are read again when they have changed, so that
 * keys can be replaced while programs run.
 */
#ifndef CONVERT_STORE_STORE_TRUST_H
#define CONVERT_STORE_STORE_TRUST_H

#include <stdbool.h>
#include <stdint.h>

#include "gsym/gsym.h"

struct store_trust;

/*
 * @sign_key:     file of the secret key; NULL: nothing is signed
 * @trusted_keys: file of public keys; NULL: signatures are not demanded
 *
 * -EPERM if others could read the secret, or write either file; -EBADMSG with file and line for what is no
 * key.
 */
int trust_open(const char *sign_key, const char *trusted_keys, struct store_trust **ret,
	       struct gsym_diag *diag);
void trust_close(struct store_trust *trust); /* NULL is allowed */

/* Whether only signed objects are taken. */
bool trust_is_demanded(const struct store_trust *trust);

/* Signs @message: 0 and 1 if there is a key, 0 if there is none; or a negative errno. By any thread. */
int trust_sign(struct store_trust *trust, const uint8_t *message, size_t size, uint8_t ret_signer[static 32],
	       uint8_t ret_signature[static 64], struct gsym_diag *diag);

/* 0, or -EPERM with the reason: @signer is not trusted, or did not sign @message. */
int trust_verify(struct store_trust *trust, const uint8_t *message, size_t size, const uint8_t *signer,
		 const uint8_t *signature, struct gsym_diag *diag);

/* Makes a new key: the lines of both files, with line breaks. 0, -ELIBACC. */
int trust_make_key(char ret_secret[static 128], char ret_public[static 128]);

#endif

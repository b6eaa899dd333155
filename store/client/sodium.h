/*
 * sodium.h - libsodium, loaded when it is needed: a library more to load would be a good part of the cost of
 * a small conversion. Of its interface only what is used here is passed on.
 */
#ifndef STORE_CLIENT_SODIUM_H
#define STORE_CLIENT_SODIUM_H

#include <sodium/crypto_generichash.h>
#include <sodium/crypto_hash_sha256.h>
#include <sodium/crypto_sign.h>
#include <sodium/utils.h>

#include "gsym/gsym.h"

/* Functions of libsodium under their names. */
struct sodium {
	__typeof__(crypto_hash_sha256) *sha256;
	__typeof__(crypto_hash_sha256_init) *sha256_init;
	__typeof__(crypto_hash_sha256_update) *sha256_update;
	__typeof__(crypto_hash_sha256_final) *sha256_final;
	__typeof__(crypto_generichash_init) *blake2b_init;
	__typeof__(crypto_generichash_update) *blake2b_update;
	__typeof__(crypto_generichash_final) *blake2b_final;
	__typeof__(crypto_sign_keypair) *sign_keypair;
	__typeof__(crypto_sign_seed_keypair) *sign_seed_keypair;
	__typeof__(crypto_sign_detached) *sign_detached;
	__typeof__(crypto_sign_verify_detached) *sign_verify_detached;
	__typeof__(sodium_bin2base64) *to_base64;
	__typeof__(sodium_base642bin) *from_base64;
	__typeof__(sodium_memzero) *memzero;
};

/*
 * The library, initialized; NULL, with the reason in @diag (may be NULL), if it is not there or cannot be
 * loaded now, which the next call tries again. Once it was loaded, it stays. By any thread; a sandboxed
 * worker calls it before it enters its sandbox.
 */
const struct sodium *sodium_library(struct gsym_diag *diag);

#endif

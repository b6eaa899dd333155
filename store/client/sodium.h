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

#define SODIUM_FUNCTIONS(X)                                  \
	X(sha256, crypto_hash_sha256)                        \
	X(sha256_init, crypto_hash_sha256_init)              \
	X(sha256_update, crypto_hash_sha256_update)          \
	X(sha256_final, crypto_hash_sha256_final)            \
	X(blake2b_init, crypto_generichash_init)             \
	X(blake2b_update, crypto_generichash_update)         \
	X(blake2b_final, crypto_generichash_final)           \
	X(sign_keypair, crypto_sign_keypair)                 \
	X(sign_seed_keypair, crypto_sign_seed_keypair)       \
	X(sign_detached, crypto_sign_detached)               \
	X(sign_verify_detached, crypto_sign_verify_detached) \
	X(to_base64, sodium_bin2base64)                      \
	X(from_base64, sodium_base642bin)

struct sodium {
#define SODIUM_MEMBER(name, function) __typeof__(function) *name;
	SODIUM_FUNCTIONS(SODIUM_MEMBER)
#undef SODIUM_MEMBER
};

/*
 * The library, initialized; NULL, with the reason in @diag (may be NULL), if it is not there or cannot be
 * loaded now, which the next call tries again. Once it was loaded, it stays. By any thread; a sandboxed
 * worker calls it before it enters its sandbox.
 */
const struct sodium *sodium_library(struct gsym_diag *diag);

#endif

#include "store/client/sodium.h"

#include <assert.h>
#include <dlfcn.h>
#include <stddef.h>

#include "work/os/library.h"
#include "gsym/base/vec.h"

static struct sodium functions;

static const struct library_symbol symbols[] = {
	{"crypto_hash_sha256", offsetof(struct sodium, sha256)},
	{"crypto_hash_sha256_init", offsetof(struct sodium, sha256_init)},
	{"crypto_hash_sha256_update", offsetof(struct sodium, sha256_update)},
	{"crypto_hash_sha256_final", offsetof(struct sodium, sha256_final)},
	{"crypto_generichash_init", offsetof(struct sodium, blake2b_init)},
	{"crypto_generichash_update", offsetof(struct sodium, blake2b_update)},
	{"crypto_generichash_final", offsetof(struct sodium, blake2b_final)},
	{"crypto_sign_keypair", offsetof(struct sodium, sign_keypair)},
	{"crypto_sign_seed_keypair", offsetof(struct sodium, sign_seed_keypair)},
	{"crypto_sign_detached", offsetof(struct sodium, sign_detached)},
	{"crypto_sign_verify_detached", offsetof(struct sodium, sign_verify_detached)},
	{"sodium_bin2base64", offsetof(struct sodium, to_base64)},
	{"sodium_base642bin", offsetof(struct sodium, from_base64)},
	{"sodium_memzero", offsetof(struct sodium, memzero)},
};
static_assert(sizeof(struct sodium) == ARRAY_SIZE(symbols) * sizeof(void *), "a function is not loaded");

static bool initialize(void *opened)
{
	int (*init)(void) = NULL;
	*(void **)&init = dlsym(opened, "sodium_init");
	return init && init() >= 0;
}

/* Of 1.0.12 to 1.0.18, and of later ones; what is used here is the same in both. */
static struct shared_library library = {.package = "libsodium23",
					.sonames = {"libsodium.so.23", "libsodium.so.26"},
					.symbols = symbols,
					.n_symbols = ARRAY_SIZE(symbols),
					.functions = &functions,
					.initialize = initialize,
					.lock = PTHREAD_MUTEX_INITIALIZER};

const struct sodium *sodium_library(struct gsym_diag *diag)
{
	return library_load(&library, diag) ? &functions : NULL;
}

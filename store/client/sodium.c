#include "store/client/sodium.h"

#include <dlfcn.h>
#include <stddef.h>

#include "work/os/library.h"
#include "gsym/base/vec.h"

static struct sodium functions;

#define SYMBOL(name, function) {#function, offsetof(struct sodium, name)},
static const struct library_symbol symbols[] = {SODIUM_FUNCTIONS(SYMBOL)};

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

#include "store/transfer/curl_library.h"

#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>

#include "work/os/library.h"
#include "gsym/base/vec.h"

static struct curl_library functions;

#define SYMBOL(name) {"curl_" #name, offsetof(struct curl_library, name)},
static const struct library_symbol symbols[] = {CURL_FUNCTIONS(SYMBOL)};

static bool initialize(void *opened)
{
	CURLcode (*init)(long flags) = NULL;
	*(void **)&init = dlsym(opened, "curl_global_init");
	if (!init)
		return false;
	signal(SIGPIPE, SIG_IGN);
	return init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

/* The first is what libdebuginfod brings along. */
static struct shared_library library = {.package = "libcurl3-gnutls",
					.sonames = {"libcurl-gnutls.so.4", "libcurl.so.4"},
					.symbols = symbols,
					.n_symbols = ARRAY_SIZE(symbols),
					.functions = &functions,
					.initialize = initialize,
					.lock = PTHREAD_MUTEX_INITIALIZER};

const struct curl_library *curl_library(struct gsym_diag *diag)
{
	return library_load(&library, diag) ? &functions : NULL;
}

#include "store/transfer/curl_library.h"

#include <assert.h>
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>

#include "work/os/library.h"
#include "gsym/base/vec.h"

static struct curl_library functions;

static const struct library_symbol symbols[] = {
	{"curl_easy_init", offsetof(struct curl_library, easy_init)},
	{"curl_easy_cleanup", offsetof(struct curl_library, easy_cleanup)},
	{"curl_easy_reset", offsetof(struct curl_library, easy_reset)},
	{"curl_easy_setopt", offsetof(struct curl_library, easy_set)},
	{"curl_easy_getinfo", offsetof(struct curl_library, easy_get)},
	{"curl_easy_strerror", offsetof(struct curl_library, easy_strerror)},
	{"curl_multi_init", offsetof(struct curl_library, multi_init)},
	{"curl_multi_cleanup", offsetof(struct curl_library, multi_cleanup)},
	{"curl_multi_add_handle", offsetof(struct curl_library, multi_add_handle)},
	{"curl_multi_remove_handle", offsetof(struct curl_library, multi_remove_handle)},
	{"curl_multi_perform", offsetof(struct curl_library, multi_perform)},
	{"curl_multi_poll", offsetof(struct curl_library, multi_poll)},
	{"curl_multi_info_read", offsetof(struct curl_library, multi_info_read)},
	{"curl_slist_append", offsetof(struct curl_library, slist_append)},
	{"curl_slist_free_all", offsetof(struct curl_library, slist_free_all)},
	{"curl_getdate", offsetof(struct curl_library, getdate)},
};
static_assert(sizeof(struct curl_library) == ARRAY_SIZE(symbols) * sizeof(void *),
	      "a function is not loaded");

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

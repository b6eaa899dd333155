/*
 * curl_library.h - libcurl, loaded when a store on a server is used: so it is an optional dependency, and
 * costs other commands nothing. Of its interface only what is used here is passed on.
 */
#ifndef STORE_TRANSFER_CURL_LIBRARY_H
#define STORE_TRANSFER_CURL_LIBRARY_H

#include <curl/curl.h>

#include "gsym/gsym.h"

#define CURL_FUNCTIONS(X)      \
	X(easy_init)           \
	X(easy_cleanup)        \
	X(easy_reset)          \
	X(easy_setopt)         \
	X(easy_getinfo)        \
	X(easy_header)         \
	X(easy_strerror)       \
	X(multi_init)          \
	X(multi_cleanup)       \
	X(multi_add_handle)    \
	X(multi_remove_handle) \
	X(multi_perform)       \
	X(multi_poll)          \
	X(multi_info_read)     \
	X(slist_append)        \
	X(slist_free_all)      \
	X(getdate)

/* Functions of libcurl under their names. */
struct curl_library {
#define CURL_MEMBER(name) __typeof__(curl_##name) *name;
	CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

/*
 * The library, initialized; NULL, with the reason in @diag (may be NULL), if it is not there or cannot be
 * loaded now, which the next call tries again. By any thread; a process with a sandbox calls it before it
 * enters that. SIGPIPE is ignored by the process from then on, as the library asks for.
 */
const struct curl_library *curl_library(struct gsym_diag *diag);

#endif

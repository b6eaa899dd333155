/*
 * curl_library.h - libcurl, loaded when a store on a server is used: so it is an optional dependency, and
 * costs other commands nothing. Of its interface only what is used here is passed on.
 */
#ifndef STORE_TRANSFER_CURL_LIBRARY_H
#define STORE_TRANSFER_CURL_LIBRARY_H

#include <curl/curl.h>

#include "gsym/gsym.h"

/* Functions of libcurl under their names. */
struct curl_library {
	__typeof__(curl_easy_init) *easy_init;
	__typeof__(curl_easy_cleanup) *easy_cleanup;
	__typeof__(curl_easy_reset) *easy_reset;
	__typeof__(curl_easy_setopt) *easy_set; /* not "setopt": that is a macro */
	__typeof__(curl_easy_getinfo) *easy_get;
	__typeof__(curl_easy_strerror) *easy_strerror;
	__typeof__(curl_multi_init) *multi_init;
	__typeof__(curl_multi_cleanup) *multi_cleanup;
	__typeof__(curl_multi_add_handle) *multi_add_handle;
	__typeof__(curl_multi_remove_handle) *multi_remove_handle;
	__typeof__(curl_multi_perform) *multi_perform;
	__typeof__(curl_multi_poll) *multi_poll;
	__typeof__(curl_multi_info_read) *multi_info_read;
	__typeof__(curl_slist_append) *slist_append;
	__typeof__(curl_slist_free_all) *slist_free_all;
	__typeof__(curl_getdate) *getdate;
};

/*
 * The library, initialized; NULL, with the reason in @diag (may be NULL), if it is not there or cannot be
 * loaded now, which the next call tries again. By any thread; a process with a sandbox calls it before it
 * enters that. SIGPIPE is ignored by the process from then on, as the library asks for.
 */
const struct curl_library *curl_library(struct gsym_diag *diag);

#endif

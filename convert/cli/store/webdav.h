/*
 * webdav.h - what a server of WebDAV (RFC 4918) does beyond HTTP: collections, MOVE, lists.
 */
#ifndef CONVERT_CLI_STORE_WEBDAV_H
#define CONVERT_CLI_STORE_WEBDAV_H

#include "convert/cli/store/http_store.h"

/* A server, for one transfer. */
struct webdav {
	struct http_task *task;
	const char *address;       /* without a slash at its end; borrowed */
	const char *authorization; /* value of a header, or NULL; borrowed */
};

/*
 * Sends a request for the object @name, or for the collection of a name with a slash at its end. @request
 * has no address, and no headers but @headers, which are freed.
 */
int webdav_exchange(struct webdav *dav, const char *name, struct http_request *request,
		    struct http_headers *headers, struct http_answer *ret);

/*
 * Makes the collections of @name. True if each is there now, as far as the server says: a PUT that failed
 * for lack of them may be tried again.
 */
bool webdav_make_collections(struct webdav *dav, const char *name);

/* Renames an object, unless there is one of the name @to. */
int webdav_move(struct webdav *dav, const char *from, const char *to, struct http_answer *ret);

/* STORE_LIST. -EOPNOTSUPP if the server has no lists. */
int webdav_list(struct webdav *dav);

#endif

/*
 * webdav.h - what a server of WebDAV (RFC 4918) does beyond HTTP: collections, MOVE, lists.
 */
#ifndef STORE_TRANSFER_WEBDAV_H
#define STORE_TRANSFER_WEBDAV_H

#include "store/transfer/http_store.h"

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

/*
 * A guard keeps other hosts from an object while conditions are evaluated and it is written: some servers,
 * Apache among them, do both one after another, and let two hosts make the same object. It is a collection,
 * since those are made by one call of the system. One that a host left when it crashed is removed by the next
 * that waits for it.
 *
 * webdav_take_guard() returns 0, -EAGAIN if others have it for too long, or another error.
 */
int webdav_take_guard(struct webdav *dav, const char *name);
void webdav_drop_guard(struct webdav *dav, const char *name);

/* Whether the server keeps guards: tries one for @name. 1, 0 or a negative errno. */
int webdav_probe_guard(struct webdav *dav, const char *name);

/* STORE_LIST. -EOPNOTSUPP if the server has no lists. */
int webdav_list(struct webdav *dav);

#endif

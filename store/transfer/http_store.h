/* http_store.h - what the engines of HTTP and S3 have in common: addresses, names, bodies, statuses. */
#ifndef STORE_TRANSFER_HTTP_STORE_H
#define STORE_TRANSFER_HTTP_STORE_H

#include "store/transfer/http_exchange.h"

/*
 * Checks "http://HOST[:PORT][/PATH]" or https, and copies it without slashes at its end. A user or password
 * in it is refused: they belong into a file.
 */
int http_address_make(const char *text, char **ret, struct gsym_diag *diag);

/* Whether @name may be one of an object: [0-9a-z./-], no part of it empty, "." or "..", none at its end. */
bool store_name_valid(const char *name);

/* Whether @transfer has a valid name and tag. */
bool http_transfer_valid(const struct transfer *transfer);

/* Makes @transfer the PUT of an empty object with a random name: 0 or a negative errno. */
int http_probe_name(struct transfer *transfer, char ret[static STORE_NAME_SIZE]);

/* Whether both conditions hold, as @put writes the object of a probe: 1, 0 or the error of @put. */
int http_probe_conditions(int (*put)(void *user, enum store_condition condition, const char *etag),
			  void *user);

/* The headers of a condition. */
void http_condition(struct http_headers *headers, enum store_condition condition, const char *etag);

/* What a status that is none of success means for a transfer, as of struct store_reply; sets the text. */
int http_status_error(struct http_task *task, const struct http_answer *answer);

/* Fills the times and the tag of the reply. */
void http_fill_reply(struct http_task *task, const struct http_answer *answer);

/*
 * GET into the file of the transfer: sets up @request. 0 or an error, after the exchange, by
 * http_end_get().
 */
struct http_body {
	struct http_task *task;
	uint64_t n;
};
void http_begin_get(struct http_body *ret, struct http_task *task, struct http_request *request);
int http_end_get(struct http_body *body, const struct http_answer *answer);

#endif

/*
 * http_exchange.h - one request to a server and its answer, by libcurl.
 *
 * A transfer (engine.h) is one exchange or several; all keep to its limits and end when it is canceled. The
 * server is not trusted: what it sends is counted, and it is followed to no other place.
 */
#ifndef STORE_TRANSFER_HTTP_EXCHANGE_H
#define STORE_TRANSFER_HTTP_EXCHANGE_H

#include "store/transfer/curl_library.h"
#include "store/transfer/engine.h"

/* Connections to one server, which are used again. For all threads. */
struct http_client;

/* @options: files of it are borrowed. 0; -ELIBACC if libcurl cannot be loaded; -ENOMEM. */
int http_client_open(const struct store_options *options, struct http_client **ret, struct gsym_diag *diag);
void http_client_close(struct http_client *client);

/* Header lines of a request. Zero-initialised is empty; lack of memory is sticky, found by the exchange. */
struct http_headers {
	struct curl_slist *list;
	bool failed;
};
void http_header(struct http_headers *headers, const char *name, const char *value);
void http_headers_deinit(struct http_headers *headers);

/* What the exchanges of one transfer share. */
struct http_task {
	struct http_client *client;
	struct transfer *transfer;
	int64_t until; /* monotonic_ms() */
	bool has_begun;
};
void http_task_init(struct http_task *ret, struct http_client *client, struct transfer *transfer);

/* Keys of S3. */
struct http_signature {
	const char *scope; /* CURLOPT_AWS_SIGV4 */
	const char *key, *secret;
};

struct http_request {
	const char *method, *url;
	struct http_headers *headers;           /* may be NULL */
	const struct http_signature *signature; /* or NULL */
	bool sends;                             /* the file of the transfer, of its size */
	bool receives;                          /* a body of 2xx to that file, of at most its size */
};

enum { HTTP_FAILURE_SIZE = 1024 };

struct http_answer {
	unsigned status;
	uint64_t size;              /* Content-Length, or of what was received */
	int64_t now, modified;      /* seconds since the epoch; 0: not known */
	char etag[STORE_ETAG_SIZE]; /* without the mark of weak ones, W/; "": none */
	/* The first bytes of the body if the status is not 2xx, terminated. */
	char failure[HTTP_FAILURE_SIZE];
};

/*
 * 0, with @ret, if the server answered, whatever the status; or a negative errno as of struct store_reply,
 * with the reason in the reply of the transfer.
 */
int http_exchange(struct http_task *task, const struct http_request *request, struct http_answer *ret);

/* Whether the status is 2xx. */
bool http_succeeded(const struct http_answer *answer);

/* Sets the text of the reply, from bytes of any origin, and returns @err. */
int http_fail(struct http_task *task, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif

/*
 * store.h - the client of a store of conversions that several hosts share.
 *
 * A store is a directory, an HTTP server that takes PUT, or a bucket of S3. One child process, "gsym worker
 * store", does all input and output, directories included: a file server that stops, stops only the child.
 * It is started with the first request, or by store_prepare(), and again if it ends. Nothing here waits
 * longer than its caller says.
 *
 * Functions may be called by several threads at once.
 */
#ifndef STORE_CLIENT_STORE_H
#define STORE_CLIENT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "work/os/log.h"
#include "work/run/result_store.h"
#include "gsym/gsym.h"

enum {
	STORE_NAME_SIZE = 256, /* of an object, with its end */
	STORE_ETAG_SIZE = 128,
	STORE_TEXT_SIZE = 256, /* of what went wrong */
	STORE_OVERDUE_MS =
		200, /* an answer that has not begun comes later than callers wait (LEASE_HEDGE_MS) */
	STORE_QUEUE_MAX = 64, /* requests that wait for an answer, or to be sent */
};

/*
 * Where the store is. Text is borrowed, and NULL if it is not set. Secrets are in files, which the child
 * reads.
 */
struct store_options {
	const char *address;     /* "/dir", "http://...", "https://..." or "s3://BUCKET/PREFIX" */
	const char *bearer_file; /* HTTP: a token */
	const char *netrc_file;  /* HTTP: user and password */
	const char *cert_file;   /* HTTP: of the client, PEM */
	const char *key_file;    /* HTTP: its key, PEM */
	const char *ca_file;     /* HTTP: of authorities, PEM, instead of the system's */
};

struct store;

/*
 * Checks the address, and a directory: -EPERM if another user could forge answers in it. One that does not
 * answer for two seconds is checked later. Starts no process, and connects to no server.
 *
 * @program:  the gsym program, borrowed
 * @stop_fd:  becomes readable when the client ends; requests are then -ECANCELED, but for STORE_PUT and
 *            STORE_DELETE, which spare other hosts work: these have until store_close()
 * @log:      borrowed, as is @counters
 */
int store_open(const struct store_options *options, const char *program, int stop_fd, const struct log *log,
	       struct store_counters *counters, struct store **ret, struct gsym_diag *diag);
/*
 * Cancels what is under way, but gives what is to be written a second. Never waits longer than for another
 * half. Calls that were not ended are -ECANCELED, and may be ended later. NULL is allowed.
 */
void store_close(struct store *store);

/*
 * Starts the process before the first request, which would wait for it. Does not block. If it cannot be
 * started, the first request finds that out.
 */
void store_prepare(struct store *store);

/* As it is to be shown: the address, which holds no password. Borrowed. */
const char *store_title(const struct store *store);

/* When an object is written. */
enum store_condition {
	STORE_ALWAYS,
	STORE_IF_ABSENT, /* If-None-Match: * */
	STORE_IF_MATCH,  /* If-Match: the etag */
};

struct store_request {
	enum store_operation operation;
	enum store_condition condition;
	const char *name; /* below the prefix, [0-9a-z./-]; see store_key.h. Copied. */
	const char *etag; /* with STORE_IF_MATCH. Copied. */
	/*
	 * GET: empty and writable, and readable for an object; PUT: readable, taken from offset 0.
	 * Duplicated. If the request ends without an answer, the file may still be written for a while: it is
	 * one of its own, of which the caller then makes no other use.
	 */
	int fd;
	uint64_t size; /* PUT: bytes; GET: the most that is taken */
	/*
	 * GET: the file is a conversion or a failure, see store_object.h: is decompressed, and its records
	 * are checked by the child. -EBADMSG if it is none.
	 */
	bool object;
};

struct store_reply {
	/*
	 * 0; -ENOENT: no such object; -EEXIST: the condition is not met (412), -EAGAIN: it raced with another
	 * (409); -EACCES: not permitted (401, 403, 405); -EFBIG: larger than asked; -EBADMSG: a damaged
	 * object; -ETIMEDOUT; -EHOSTUNREACH: no connection; -EREMOTEIO: the server failed (5xx), or what it
	 * says makes no sense; -ENETDOWN: not asked, because the circuit breaker is open; -EOPNOTSUPP: the
	 * server has no such condition; -ECANCELED; -EBUSY: STORE_QUEUE_MAX others wait, or no thread can be
	 * started; -ELIBACC: libcurl cannot be loaded; -ENOMEM and others of this machine.
	 */
	int err;
	uint64_t size;              /* GET, HEAD: bytes; GET: those of the file now, after decompression */
	int64_t now;                /* the server's time, seconds since the epoch; 0: not known */
	int64_t modified;           /* GET, HEAD: when it was written, by the same clock; 0: not known */
	char etag[STORE_ETAG_SIZE]; /* GET, HEAD: of the object; "": none */
	char text[STORE_TEXT_SIZE]; /* what went wrong, for the log; "" */
};

/* A request under way. */
struct store_call;

/* Starts a request. NULL, with the reason in *ret_err (as of struct store_reply), if it cannot be. */
struct store_call *store_start(struct store *store, const struct store_request *request, int *ret_err);

/* Waits until monotonic_ms() is @until. True, with @ret, if it ended. May be called again. */
bool store_wait(struct store_call *call, int64_t until, struct store_reply *ret);

/* No wait, whether it has begun or not, ends later than that from now on: for a client that ends. */
void store_limit_waits(struct store *store, int64_t until);

/* An eventfd that is readable once it ended, for poll(2). Borrowed. */
int store_call_fd(const struct store_call *call);

/*
 * Cancels the request if it is under way, unless it deletes, and frees @call; NULL is allowed. Does not wait.
 * A request whose answer is overdue (STORE_OVERDUE_MS) counts as a failure of the server, unless that has
 * answered another in time meanwhile, or one that was under way at the same time has counted: callers that go
 * on without it would else never find out that it is too slow.
 */
void store_call_end(struct store_call *call);

/*
 * store_start(), store_wait() for at most @ms and store_call_end(). -ETIMEDOUT in ret->err if it took longer.
 */
void store_do(struct store *store, const struct store_request *request, unsigned ms, struct store_reply *ret);

/* What the server can do, as far as it is known by what requests came to. */
struct store_abilities {
	bool is_known;   /* an object was written on the condition STORE_IF_ABSENT */
	bool has_leases; /* STORE_IF_ABSENT holds, or that is not known: a lease that is none does no harm */
	bool is_read_only;             /* the last PUT was not permitted: none is tried for ten minutes, */
	char refusal[STORE_TEXT_SIZE]; /* and this was said of it */
};
void store_abilities(struct store *store, struct store_abilities *ret);

/* One line for the root's status: "closed", "open for 8 s more (cannot connect)", "half open". */
void store_describe_breaker(struct store *store, char *ret, size_t size);

/* Whether requests are sent now: the breaker is not open. Cheap. */
bool store_is_up(struct store *store);

#endif

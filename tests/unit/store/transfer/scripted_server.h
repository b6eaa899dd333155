/*
 * scripted_server.h - an engine of stores on servers, and a server whose answers are a script, in place of
 * http_exchange.c. Every request has to be the one that the script has next. Linked with wrap_malloc,
 * wrap_asprintf and --wrap of getrandom() and explicit_bzero().
 */
#ifndef TESTS_UNIT_CONVERT_SCRIPTED_SERVER_H
#define TESTS_UNIT_CONVERT_SCRIPTED_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/unit.h"

#include "store/transfer/http_exchange.h"
#include "tests/unit/wrap_malloc.h"

enum { SCRIPT_MAX = 12 };

/* ---- The server ---- */

/* A request and its answer. */
struct scripted {
	/*
	 * "METHOD PATH <body>; Name: value; Name: value": the path below the address, the bytes of a short
	 * body, and the headers in their order, but for Expect. NULL: the script ends.
	 */
	const char *request;
	unsigned status;
	int err;                 /* instead of an answer, after the body of one; its text is "no answer" */
	const char *etag, *body; /* NULL: none */
	int64_t now, modified;
	uint64_t length;
};

extern struct exchange_server {
	const char *address; /* of all requests */
	const struct scripted *next;
	int open_err;                    /* of http_client_open() */
	struct http_signature signature; /* of all requests; without a scope: none */
	unsigned n_clients;              /* that are open */
} server;

void begin_script(const struct scripted *script); /* NULL: nothing is asked */
void expect_end(void);

/* ---- The machine ---- */

extern const char *secret; /* that may not stay in memory; NULL: none */
extern unsigned n_wiped;   /* how often memory that held it was cleared */

/* ---- One engine ---- */

extern void *engine;

/* Forgets what the server was told; its address is http://h/s/. */
void reset_server(void);
void open_engine(const struct engine_type *type, const struct store_options *options);
void close_engine(void); /* nothing of it is left */

/* A transfer, what it asks, and its reply, of which the size matters only without an error. */
struct transfer_row {
	struct transfer transfer;
	struct scripted script[SCRIPT_MAX];
	struct store_reply want;
};

/* With a file of its own until close_transfer(): puts "abc", or gets at most 100 bytes. */
struct transfer make_transfer(const struct transfer *from);
void close_transfer(void);
void run_row(const struct transfer_row *row);
#define RUN_ROWS(rows)                                                                  \
	do {                                                                            \
		for (size_t i_row = 0; i_row < sizeof(rows) / sizeof(*(rows)); i_row++) \
			run_row(&(rows)[i_row]);                                        \
	} while (0)

/* The parts of transfers. */
#define GET(n)  .operation = STORE_GET, .name = n
#define HEAD(n) .operation = STORE_HEAD, .name = n
#define PUT(n)  .operation = STORE_PUT, .name = n
#define DEL(n)  .operation = STORE_DELETE, .name = n
#define ABSENT  .condition = STORE_IF_ABSENT
#define MATCH   .condition = STORE_IF_MATCH, .etag = "t"

#endif

/*
 * engine.h - how a kind of store is read and written. In the child, "gsym worker store", only.
 *
 * Each engine opens one thing for all threads of the child; transfers run on several at once, and
 * block.
 *
 * A new engine is a file engine_NAME.c with a struct engine_type, its declaration here, a row of engines[] in
 * store_child.c, and its scheme in store/client/store_address.h and .c; what it may reach is decided in
 * store_child.c and sandbox.h. Its tests: engine_driver.c, store_child_fixture.c, check_store.c.
 */
#ifndef STORE_TRANSFER_ENGINE_H
#define STORE_TRANSFER_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/client/store.h"

/* Limits of a transfer, ms. */
struct transfer_limits {
	unsigned connect; /* 1,000 */
	unsigned stall;   /* without a byte; the kernel may take seconds to send what it has; 20,000 */
	unsigned whole;
};

struct transfer {
	enum store_operation operation;
	enum store_condition condition;
	const char *name, *etag;
	int fd;        /* see struct store_request */
	uint64_t size; /* likewise */
	struct transfer_limits limits;
	const atomic_bool *canceled; /* becomes true when the transfer is to end with -ECANCELED */
	/* Called when the first byte of the answer has come, at most once. */
	void (*begun)(const struct transfer *);
	void *user;
	unsigned slot; /* of the process, below WORKER_STORE_TRANSFERS: one transfer at a time has it */
	struct store_reply reply; /* filled; err is that of the return value */
};

/* A kind of engine; what it opens is its own. */
struct engine_type {
	/*
	 * Before the sandbox: loads libraries. @options: the child's copy. 0; -ELIBACC if a library is not
	 * there; -EINVAL.
	 */
	int (*open)(const struct store_options *options, void **ret, struct gsym_diag *diag);
	/*
	 * Returns and sets reply.err as of struct store_reply; the object, if there is one, is in
	 * transfer->fd. A body that is larger than transfer->size is not received. -EOPNOTSUPP: the store
	 * does not keep STORE_IF_ABSENT. -ESTALE: the engine is of no use any more, and the process has to
	 * be started anew.
	 */
	int (*run)(void *engine, struct transfer *transfer);
	void (*close)(void *engine);
};

extern const struct engine_type directory_engine; /* engine_directory.c */
extern const struct engine_type http_engine;      /* engine_http.c: WebDAV and any server that takes PUT */
extern const struct engine_type s3_engine;        /* engine_http.c: the same, signed by SigV4 */

#endif

/* converter.h - conversions by worker processes: configuration, request and outcome. */
#ifndef WORK_RUN_CONVERTER_H
#define WORK_RUN_CONVERTER_H

#include <sys/types.h>

#include "work/cache/cache.h"
#include "work/types/convert_address.h"
#include "work/run/counters.h"
#include "work/run/debuginfod.h"
#include "work/run/neighbour.h"
#include "work/run/result_store.h"

/* The version of GSYM that images are converted to: as in struct convert_options, the one that holds them. */
enum { IMAGE_GSYM_VERSION = 0 };

/* Common to all conversions. Everything is borrowed. */
struct converter {
	/* The absolute path to which paths of files are relative, "" for "/"; NULL: all are absolute. */
	const char *root;
	const char *worker;    /* the gsym program */
	struct zygote *zygote; /* forks workers; NULL: each is started */
	struct search_path search;
	struct fetcher *fetcher; /* used only if @search has servers */
	struct cache *cache;
	const struct result_store *store; /* that hosts share; NULL: none */
	struct share *share;              /* of @store */
	struct run_slots *slots;          /* of workers; NULL: as many as there are callers */
	struct run_counters *counters;
	const struct log *log;
	uint64_t memory; /* bytes */
	unsigned seconds;
	unsigned threads;
	bool merged;
	int stop_fd; /* becomes readable when conversions must stop */
};

/* A file to be converted. */
struct convert_input {
	const char *path; /* of the file, see struct converter; NULL: there is none */
	struct file_state state;
	bool fetched; /* servers have sent it: they have no other debug file of that image */
	enum image_kind kind;
};

/* One conversion. Everything is borrowed. */
struct convert_request {
	const char *id;   /* of the image, canonical */
	const char *arch; /* which image of the file */
	struct convert_input source;
	struct convert_input binary; /* the file with the code, when @source is only its debug file */
	const struct cache_key *key;
	/*
	 * Fills @ret with addresses that are waited for, at most @most, and returns their number. Asked once,
	 * when the worker is there; or NULL.
	 */
	size_t (*asked)(void *asker, struct convert_address *ret, size_t most);
	/*
	 * What the image has at some of these is in @handle, of which one reference becomes the callee's;
	 * NULL if nothing is known yet. The rest follows: an address without a function there may still have
	 * one. NULL if @asked is.
	 */
	void (*fragment)(void *asker, struct handle *handle);
	void *asker;
	/* Becomes readable when a worker that runs must stop, instead of the converter's; NULL: that one. */
	const int *stop_fd;
	/* Reports progress in per cent, below 100; or NULL. */
	void (*progress)(void *user, unsigned percent);
	/* Reports the pid of the worker, 0 when it has exited; or NULL. */
	void (*worker)(void *user, pid_t pid);
	void *user;
	/* outcome.told of the last attempt: that reason is not logged again; 0: there was none. */
	uint64_t told;
	/* Of a conversion that another host did when it was tried last, see VERDICT_ELSEWHERE; or NULL. */
	struct share_turn **turn;
};

/* How an outcome is remembered; whose fault a failure is says fault.h. */
enum verdict {
	VERDICT_READY,
	VERDICT_OUTDATED,  /* was ready, but a neighbour has changed since */
	VERDICT_REPLACED,  /* the object file changed since it was scanned */
	VERDICT_ELSEWHERE, /* another host converts it: to be tried again after @wait_ms */
	VERDICT_TRANSIENT, /* FAULT_MACHINE: not recorded in the cache; fails for seconds, see retry_soon() */
	VERDICT_CRASHED, /* the worker crashed or violated the protocol: retried a few times, then as below */
	VERDICT_FAILED,  /* FAULT_LIMIT: fails until @again; not recorded in the cache */
	VERDICT_FAILED_FOREVER, /* FAULT_FILE: fails until the file changes; recorded in the cache */
};

struct outcome {
	enum verdict verdict;
	int err;               /* for waiting calls: 0 or a negative errno */
	struct gsym_diag diag; /* of a failure */
	uint64_t told;         /* of a failure: fingerprint of @diag */
	struct handle *handle; /* with VERDICT_READY: one reference, the caller's */
	int64_t again;         /* of a failure: when to retry, in seconds since the epoch; 0: see verdict */
	char *inputs;          /* of a failure: the caller's, or NULL */
	bool killed;           /* a signal ended the worker, whoever sent it */
	double seconds;        /* duration of the conversion; 0: there was none */
	bool adopted;          /* taken from the shared store */
	unsigned wait_ms;      /* with VERDICT_ELSEWHERE */
	struct share_offer *offer; /* the caller's, for share_give(); or NULL */
};

#endif

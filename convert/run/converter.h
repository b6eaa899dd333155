/* converter.h - what conversions by worker processes need, what one is given, and what becomes of it. */
#ifndef CONVERT_RUN_CONVERTER_H
#define CONVERT_RUN_CONVERTER_H

#include <sys/types.h>

#include "convert/cache/cache.h"
#include "convert/cache/shared_dir.h"
#include "convert/run/counters.h"
#include "convert/run/debuginfod.h"
#include "convert/run/neighbour.h"

/* The version of GSYM that images are converted to. */
enum { IMAGE_GSYM_VERSION = 1 };

/* The same for all conversions. Everything is borrowed. */
struct converter {
	const char
		*root; /* an absolute path: files lie below it; NULL: their paths are absolute themselves */
	const char *worker; /* the gsym program */
	struct search_path search;
	struct fetcher *fetcher; /* asked only if @search has servers */
	struct cache *cache;
	struct shared_dir *shared; /* NULL: none */
	struct run_counters *counters;
	const struct log *log;
	uint64_t memory; /* bytes */
	unsigned seconds;
	unsigned threads;
	bool merged;
	int stop_fd; /* becomes readable when conversions are to stop */
};

/* A file to be converted. */
struct convert_input {
	const char *path; /* of the file, see struct converter; NULL: there is none */
	struct file_state state;
};

/* One conversion. Everything is borrowed. */
struct convert_request {
	const char *id;   /* of the image, canonical */
	const char *arch; /* which image of the file */
	struct convert_input source;
	struct convert_input binary; /* the file with the code, when @source is only its debug file */
	const struct cache_key *key;
	/* The work goes on: so many per cent, below 100. NULL: not wanted. */
	void (*progress)(void *user, unsigned percent);
	/* The worker has been started, or has ended: 0. NULL: not wanted. */
	void (*worker)(void *user, pid_t pid);
	void *user;
};

enum verdict {
	VERDICT_READY,
	VERDICT_OUTDATED,       /* it was ready, and what it was made of has changed */
	VERDICT_REPLACED,       /* the object file changed since it was scanned */
	VERDICT_TRANSIENT,      /* the next try may work: full disk, killed worker */
	VERDICT_CRASHED,        /* the worker broke; it may not be the file's fault, once */
	VERDICT_FAILED,         /* as long as the limits are what they are */
	VERDICT_FAILED_FOREVER, /* as long as the file is what it is */
};

struct outcome {
	enum verdict verdict;
	int err;               /* for those who wait: 0 or a negative errno */
	struct gsym_diag diag; /* why */
	struct handle *handle; /* with VERDICT_READY: one reference, the caller's */
	int64_t again;         /* of a failure: not before that, in seconds since the epoch; 0: see verdict */
	char *inputs;          /* of a failure: the caller's, or NULL */
	double seconds;        /* of the conversion, 0 = there was none */
	bool adopted;          /* another host had converted it */
	struct share_offer *offer; /* the caller's, for share_give(); or NULL */
};

#endif

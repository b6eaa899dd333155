/*
 * object_share.h - conversions of object files in a store: taken, or made and published, by the code that the
 * daemon uses, so that names, content and signatures are the same.
 */
#ifndef CLI_STORE_OBJECT_SHARE_H
#define CLI_STORE_OBJECT_SHARE_H

#include "cli/store/store_session.h"
#include "cli/command/stop_signals.h"
#include "store/share/share.h"
#include "work/cache/handle.h"
#include "gsym/base/vec.h"

/* Which image, and where its debug files are searched: as by a daemon that is to take it. All borrowed. */
struct object_share_options {
	const char *arch, *cache;             /* see object_lookup.h */
	const struct option_list *debug_dirs; /* none: the default */
	const struct option_list *sources;    /* SOURCE of daemons; none: the directory of the object file */
	bool unmerged;                        /* with the option merged=no */
	bool debuginfod;                      /* that ask the servers of $DEBUGINFOD_URLS */
};

struct object_share {
	struct object_share_options options;
	char *address;
	VEC(char *) dirs; /* owned: of debug files, then the sources; ends with NULL */
	size_t n_sources;
	uint64_t servers; /* hash of debuginfod's; 0: none */
	struct stop_signals signals;
	struct log log;
	struct share *share;
};

/* STATUS_OK, or a status after a message. To be closed in any case. */
int object_share_open(struct object_share *o, const char *address, const struct session_options *session,
		      const struct object_share_options *options);
void object_share_close(struct object_share *o);

/* A conversion, and where it is now. */
struct shared_object {
	struct store_key key;
	struct handle *handle; /* one reference */
	bool given;            /* published by this call */
	bool missing;          /* could not be published; else, if not given, the store has had it */
};

/*
 * Takes the conversion of the object file @path. 0, or a negative errno with the reason in @diag, which is
 * empty if a signal ended it.
 */
int object_share_take(struct object_share *o, const char *path, struct shared_object *ret,
		      struct gsym_diag *diag);

/*
 * The same, but converts the file unless the store or the cache has the conversion, and publishes that. 0
 * also if that fails: see ret->missing, with the reason in @diag.
 */
int object_share_put(struct object_share *o, const char *path, struct shared_object *ret,
		     struct gsym_diag *diag);

/* Writes the GSYM in @handle to the file @path. 0 or a negative errno. */
int object_share_write(const struct handle *handle, const char *path, struct gsym_diag *diag);

#endif

/* convert_shared.h - gsym convert --shared: the conversion goes into a store as well. */
#ifndef CLI_STORE_CONVERT_SHARED_H
#define CLI_STORE_CONVERT_SHARED_H

#include "cli/store/store_session.h"

/* Which image, and where its debug files are searched: as by a daemon that is to take it. All borrowed. */
struct object_share_options {
	const char *arch, *cache;             /* see object_lookup.h */
	const struct option_list *debug_dirs; /* none: the default */
	const struct option_list *sources;    /* SOURCE of daemons; none: the directory of the object file */
	bool unmerged;                        /* with the option merged=no */
	bool debuginfod;                      /* that ask the servers of $DEBUGINFOD_URLS */
};

struct convert_shared {
	const char *address;
	struct session_options session;
	struct object_share_options object;
	const char *input, *output;
	bool quiet;
};

/* Returns an enum command_status. */
int convert_shared(const struct convert_shared *c);

#endif

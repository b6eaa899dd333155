/* convert_shared.h - gsym convert --shared: the conversion goes into a store as well. */
#ifndef CLI_STORE_CONVERT_SHARED_H
#define CLI_STORE_CONVERT_SHARED_H

#include "cli/store/object_share.h"

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

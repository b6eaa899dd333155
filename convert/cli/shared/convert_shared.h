/* convert_shared.h - gsym convert --shared: the conversion goes into a store as well. */
#ifndef CONVERT_CLI_SHARED_CONVERT_SHARED_H
#define CONVERT_CLI_SHARED_CONVERT_SHARED_H

#include "convert/cli/shared/object_share.h"

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

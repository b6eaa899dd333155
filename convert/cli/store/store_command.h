/* store_command.h - the actions of "gsym store". */
#ifndef CONVERT_CLI_STORE_STORE_COMMAND_H
#define CONVERT_CLI_STORE_STORE_COMMAND_H

#include "convert/cli/cli_options.h"

enum layout_choice { LAYOUT_GSYMFS, LAYOUT_BAZEL };

struct store_command {
	enum layout_choice layout;
	uint64_t max_size; /* bytes; UINT64_MAX: any */
	unsigned max_age;  /* days; 0: any */
	bool dry_run;
};

/* Each returns an enum command_status. @operands: after the action. */
typedef int store_action(const struct store_command *c, int n, char **operands);

store_action store_keygen; /* FILE */
store_action store_prune;  /* DIR */

#endif

/* commands.h - the commands of the gsym program, one file each. */
#ifndef CLI_COMMAND_COMMANDS_H
#define CLI_COMMAND_COMMANDS_H

#include "cli/command/cli_options.h"

extern const struct command command_convert;
extern const struct command command_dump;
extern const struct command command_filter;
extern const struct command command_lookup;
extern const struct command command_segment;
extern const struct command command_stack;
extern const struct command command_statistics;
extern const struct command command_store;
extern const struct command command_transcode;
extern const struct command command_verify;

/* Internal: started by clients that convert in a sandboxed process. */
extern const struct command command_worker;

#endif

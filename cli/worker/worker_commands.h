/* worker_commands.h - workers of "gsym worker" that convert nothing. Each returns its exit status. */
#ifndef CLI_WORKER_WORKER_COMMANDS_H
#define CLI_WORKER_WORKER_COMMANDS_H

/*
 * "gsym worker fetch": receives the only order, sets limits, queries debuginfod servers, sends the answer.
 *
 * It runs in its own process because it parses data from the network, and may wait long for a server.
 */
int work_fetch(void);

/*
 * "gsym worker swift": loads the library of a toolchain that the client names, enters the sandbox, demangles.
 *
 * Only that library knows the scheme. It can end its process, and take seconds and all memory on a name made
 * for that, so it runs in a process of its own, which is caged once it is loaded.
 */
int work_swift(void);

#endif

/*
 * debuginfod_client.h - "gsym worker fetch": a debug file from the servers of debuginfod.
 *
 * A process of its own, because it parses what the network sends, and may wait as long as a server likes.
 */
#ifndef CONVERT_CLI_WORKER_DEBUGINFOD_CLIENT_H
#define CONVERT_CLI_WORKER_DEBUGINFOD_CLIENT_H

/* Reads the one order there is, limits itself, asks the servers, answers. The exit status. */
int work_fetch(void);

#endif

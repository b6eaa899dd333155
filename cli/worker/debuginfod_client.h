/*
 * debuginfod_client.h - "gsym worker fetch": downloads a debug file from debuginfod servers.
 *
 * It runs in its own process because it parses data from the network, and may wait long for a server.
 */
#ifndef CLI_WORKER_DEBUGINFOD_CLIENT_H
#define CLI_WORKER_DEBUGINFOD_CLIENT_H

/* Receives the only order, sets limits, queries the servers, sends the answer. The exit status. */
int work_fetch(void);

#endif

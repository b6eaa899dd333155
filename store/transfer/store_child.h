/* store_child.h - "gsym worker store": the process that reads and writes a store, see store.h. */
#ifndef STORE_TRANSFER_STORE_CHILD_H
#define STORE_TRANSFER_STORE_CHILD_H

/* Serves requests on WORKER_SOCKET_FD until the client closes it. The exit status of the worker. */
int work_store(void);

#endif

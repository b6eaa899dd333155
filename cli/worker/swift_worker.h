/*
 * swift_worker.h - "gsym worker swift": demangles Swift's names by the library of a toolchain.
 *
 * Only that library knows the scheme. It can end its process, and take seconds and all memory on a name made
 * for that, so it runs in a process of its own, which is caged once it is loaded.
 */
#ifndef CLI_WORKER_SWIFT_WORKER_H
#define CLI_WORKER_SWIFT_WORKER_H

/* Loads the library that the client names, enters the sandbox, demangles. The exit status. */
int work_swift(void);

#endif

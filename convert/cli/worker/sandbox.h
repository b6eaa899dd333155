/*
 * sandbox.h - what a worker process gives up before it looks at a file.
 *
 * Everything here is irrevocable for the process and its threads, and must run before the first of them.
 * In a build with ASan or TSan, whose run-time needs /proc and huge reservations, memory limits and the
 * system call and file system restrictions are left out.
 */
#ifndef CONVERT_CLI_WORKER_SANDBOX_H
#define CONVERT_CLI_WORKER_SANDBOX_H

#include <stdint.h>
#include <sys/types.h>

/* Dies when the process @parent does, also when that has happened already. */
void sandbox_die_with(pid_t parent);

/*
 * RLIMIT_DATA counts what the process allocates and leaves mapped input files alone, which RLIMIT_AS would
 * count. 0 or a negative errno.
 */
int sandbox_limits(uint64_t memory_bytes, uint64_t cpu_seconds, uint64_t file_bytes);

/*
 * No new privileges; no file can be opened; no network; no system calls but those that reading, computing and
 * writing need. What this kernel lacks of it is left out: the rest still holds.
 */
void sandbox_enter(void);

/*
 * For one that needs the network: no new privileges, no programs, and of files only those below @directory,
 * and to read what belongs to the system. File names in $SSL_CERT_FILE and the like count as such.
 */
void sandbox_enter_network(const char *directory);

#endif

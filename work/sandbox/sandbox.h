/*
 * sandbox.h - the rights that a worker process drops before it reads a file.
 *
 * Everything here is irrevocable for the process and its threads, and must run before the first of them.
 * Builds with ASan or TSan, whose run-time needs /proc and huge reservations, have no memory limit and no
 * restrictions of system calls and files.
 */
#ifndef WORK_SANDBOX_SANDBOX_H
#define WORK_SANDBOX_SANDBOX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The layers of the sandbox that are built in, as text; each holds as far as the kernel has it. */
const char *sandbox_layers(void);

/* Layers that the kernel, a container or our own rights may refuse; bits of sandbox_held(). */
enum sandbox_layer {
	LAYER_USER, /* a user without rights */
	LAYER_USER_NAMESPACE,
	LAYER_NETWORK_NAMESPACE,
	LAYER_ROOT_DIRECTORY, /* an empty one */
	LAYER_LANDLOCK,
	LAYER_SECCOMP,
	SANDBOX_LAYERS,
};

/* Their names in the file status and in metrics. */
static const char *const sandbox_layer_words[SANDBOX_LAYERS] = {
	[LAYER_USER] = "user",
	[LAYER_USER_NAMESPACE] = "user_namespace",
	[LAYER_NETWORK_NAMESPACE] = "network_namespace",
	[LAYER_ROOT_DIRECTORY] = "root_directory",
	[LAYER_LANDLOCK] = "landlock",
	[LAYER_SECCOMP] = "seccomp",
};

/* Those that this process has entered, a bit each. */
unsigned sandbox_held(void);

/* Makes the process die with @parent, at once if that has exited already. */
void sandbox_die_with(pid_t parent);

/*
 * Has the kernel choose this process first where memory is short, before its client, as far as /proc is
 * there.
 */
void sandbox_die_first(void);

/*
 * Sets resource limits. RLIMIT_DATA counts allocations but, unlike RLIMIT_AS, not mapped input files. 0 or a
 * negative errno.
 */
int sandbox_limits(uint64_t memory_bytes, uint64_t cpu_seconds, uint64_t file_bytes);

/*
 * No privileges (see privileges.c), no opening of files, no paths, no network, no system calls but those for
 * reading, computing and writing. Mechanisms that the kernel lacks are skipped. Files are examined with
 * file_stat(), since fstat(3) may use a call that takes a path. @parent: as before.
 */
void sandbox_enter(pid_t parent);

/*
 * sandbox_enter() in two steps. What a zygote's workers inherit: no privileges, and only root can trace
 * it or them. And what each needs for itself, so that none can reach another or the zygote: the rest.
 */
void sandbox_enter_common(pid_t parent);
void sandbox_enter_own(void);

/*
 * For a worker that needs the network: no capabilities, no new privileges, no executing, files only below
 * @directory and, for reading, in system directories and those named by $SSL_CERT_FILE and the like.
 */
void sandbox_enter_network(const char *directory);

/*
 * For a process that exchanges files with servers, on descriptors that it was given: likewise, but it writes
 * no file, and cannot reach other processes. @files, NULL among them: what it may read, also after each was
 * replaced by another in its directory.
 */
void sandbox_enter_transfer(const char *const *files, size_t n);

/*
 * For a process that keeps files in @directory: no capabilities, no new privileges, no network, no executing,
 * no files but those below it, and only the system calls that this takes.
 */
void sandbox_enter_directory(const char *directory);

#endif

/*
 * sandbox_parts.h - the parts of the sandbox; private to this folder.
 */
#ifndef WORK_SANDBOX_SANDBOX_PARTS_H
#define WORK_SANDBOX_SANDBOX_PARTS_H

#include <seccomp.h>
#include <stdint.h>

/* Notes that this process has entered @layer, an enum sandbox_layer. */
void sandbox_note(unsigned layer);

/* ---- System calls (call_filter.c) ---- */

/*
 * The lists are those of every architecture, so that a filter for one can be made and looked at on another.
 */

#include <stdint.h>

#ifdef HAVE_SECCOMP
#include <seccomp.h>
#endif

/* Which system calls remain. */
enum filter_kind {
	FILTER_READER,    /* those that read, compute and write */
	FILTER_DIRECTORY, /* and those that open and name files */
	FILTER_NETWORK,   /* most: which ones libraries for the network use is theirs to decide */
};

#ifdef HAVE_SECCOMP

/* What happens to system calls without a rule: an action of libseccomp. */
uint32_t call_filter_default(enum filter_kind kind);

/*
 * Adds the rules to @filter, which has the default above and is for @arch alone, one of libseccomp's
 * SCMP_ARCH_. The process may send signals to its threads: @filter is for the calling one. 0 or a negative
 * errno.
 */
int call_filter_fill(scmp_filter_ctx filter, enum filter_kind kind, uint32_t arch);

#endif

/* ---- Privileges (privileges.c) ---- */

/*
 * For processes with one thread. What the kernel, a container or the process' own rights do not permit is
 * skipped: the layers of sandbox.h hold without it. A change of user clears what prctl(PR_SET_PDEATHSIG) set.
 */

/*
 * A user without rights if this one is root and may end processes of others, no groups, no capabilities,
 * user, network and IPC namespaces of its own, and an empty root directory, in which no path leads to
 * anything.
 */
void privileges_drop(void);

/* No capabilities, whatever the user. */
void privileges_drop_capabilities(void);

#endif

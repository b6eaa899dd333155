/*
 * privileges.h - what a worker is to the kernel: its user, capabilities, namespaces and root directory.
 *
 * For processes with one thread. What the kernel, a container or the process' own rights do not permit is
 * skipped: the layers of sandbox.h hold without it. A change of user clears what prctl(PR_SET_PDEATHSIG) set.
 */
#ifndef WORK_SANDBOX_PRIVILEGES_H
#define WORK_SANDBOX_PRIVILEGES_H

/*
 * A user without rights if this one is root and may end processes of others, no groups, no capabilities,
 * user, network and IPC namespaces of its own, and an empty root directory, in which no path leads to
 * anything.
 */
void privileges_drop(void);

/* No capabilities, whatever the user. */
void privileges_drop_capabilities(void);

#endif

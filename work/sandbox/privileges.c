/*
 * The order matters. Root changes its user first, since a user namespace without a map of users permits none,
 * and keeps the capabilities that the steps after it need. The namespaces come before the empty root
 * directory, because a process in a chroot(2) may not make a user namespace; such a namespace, in turn, lets
 * a process without privileges call chroot(2).
 */
#include "work/sandbox/sandbox.h"
#include "work/sandbox/sandbox_parts.h"

#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	NOBODY = 65534, /* the user and group for what belongs to none, everywhere */
	CHILD_STACK = 32 << 10,
};

#define CAPABILITY_BIT(number) (1ULL << (number))

/* ---- What was entered ---- */

static unsigned held;

void sandbox_note(unsigned layer)
{
	held |= 1U << layer;
}

unsigned sandbox_held(void)
{
	return held;
}

/* ---- Capabilities ---- */

static uint64_t permitted(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	if (syscall(SYS_capget, &head, data))
		return 0;
	return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

/* Permitted and effective ones; none is inherited. */
static void set_capabilities(uint64_t set)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const uint32_t low = (uint32_t)set, high = (uint32_t)(set >> 32);
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{low, low, 0}, {high, high, 0}};
	syscall(SYS_capset, &head, data);
}

void privileges_drop_capabilities(void)
{
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (unsigned long capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0;)
		capability++; /* until there are no more, or it is not permitted */
	set_capabilities(0);
}

/* ---- User ---- */

static void change_user(void)
{
	const uint64_t needed =
		CAPABILITY_BIT(CAP_SYS_ADMIN) | CAPABILITY_BIT(CAP_SYS_CHROOT) | CAPABILITY_BIT(CAP_SETPCAP);
	/* A client that has no more rights than this process must be able to end it. */
	if (geteuid() != 0 || !(permitted() & CAPABILITY_BIT(CAP_KILL)))
		return;
	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	/* In a container these may fail: not all users exist in every user namespace. */
	int err = setgroups(0, NULL);
	err |= setresgid(NOBODY, NOBODY, NOBODY);
	err |= setresuid(NOBODY, NOBODY, NOBODY);
	(void)err;
	set_capabilities(permitted() & needed);
}

/* ---- Namespaces ---- */

static void enter_namespaces(void)
{
	const int others = CLONE_NEWNET | CLONE_NEWIPC;
	const bool both = unshare(CLONE_NEWUSER | others) == 0;
	const bool network = both || unshare(others) == 0;
	if (network)
		sandbox_note(LAYER_NETWORK_NAMESPACE);
	if (both || (!network && unshare(CLONE_NEWUSER) == 0))
		sandbox_note(LAYER_USER_NAMESPACE);
}

/* ---- Root directory ---- */

/* In a process that shares only its root and working directory with ours, and ends at once. */
static int enter_own_descriptors(void *unused)
{
	(void)unused;
	return chroot("/proc/self/fdinfo") || chdir("/") ? 1 : 0;
}

/* The directory of a process that has ended is empty for ever, and needs no place in a file system. */
static void empty_root(void)
{
	_Alignas(16) char stack[CHILD_STACK];
	int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	/* Else these directories belong to root. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	/* From the middle: stacks grow up on some machines. */
	pid_t pid = clone(enter_own_descriptors, stack + CHILD_STACK / 2,
			  CLONE_FS | CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	int status;
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
		sandbox_note(LAYER_ROOT_DIRECTORY);
	prctl(PR_SET_DUMPABLE, dumpable == 1, 0, 0, 0);
}

void privileges_drop(void)
{
	change_user();
	if (geteuid() != 0)
		sandbox_note(LAYER_USER);
	enter_namespaces();
	empty_root();
	privileges_drop_capabilities();
}

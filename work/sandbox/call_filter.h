/*
 * call_filter.h - which system calls remain to a process of gsym in its sandbox, as a filter for seccomp.
 *
 * The lists are those of every architecture, so that a filter for one can be made and looked at on another.
 */
#ifndef WORK_SANDBOX_CALL_FILTER_H
#define WORK_SANDBOX_CALL_FILTER_H

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

#endif

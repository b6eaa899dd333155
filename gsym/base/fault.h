/*
 * fault.h - the one judge of errors: whose fault an errno is, which decides for how long it is remembered.
 *
 * docs/design/errors.md has the same table with what callers get and when it is tried again.
 *
 * An int that says "0 or a negative errno" carries two kinds of values. Verdicts are what code found out:
 * -EBADMSG for a damaged file, -ESTALE for one in another state than expected. The rest are errors of system
 * calls. Some system calls fail with the numbers of verdicts: a disk with -EBADMSG, NFS with -ESTALE. So the
 * kinds are kept apart where errno is read: system_error() makes such a number -EIO, and what it returns is
 * never a verdict. What code finds out of itself is a verdict of the table, never the number of another kind.
 */
#ifndef GSYM_BASE_FAULT_H
#define GSYM_BASE_FAULT_H

#include <stdbool.h>

enum fault {
	/* Verdicts. */
	FAULT_FILE,  /* the file's: the same bytes fail again */
	FAULT_LIMIT, /* a limit was reached, or a worker crashed: may succeed on another day */
	FAULT_NONE,  /* nobody's: a file is in another state than expected, or the work was stopped */
	/* Of system calls. */
	FAULT_ABSENT,  /* there is no such file below such a directory */
	FAULT_DENIED,  /* the file is not for us */
	FAULT_ROOM,    /* nothing can be written there now */
	FAULT_NETWORK, /* a server, or the way to it */
	FAULT_MACHINE, /* memory, descriptors, disks; and every number that is not in the table */
};

/* Whose fault @err is, a negative errno. Pure. */
enum fault fault_of(int err);

/*
 * The negative errno for @number, which a system call has set: itself, or -EIO if it is that of a verdict. Of
 * the limit, -EFBIG, both kinds say the same. Pure.
 */
int system_error(int number);

#endif

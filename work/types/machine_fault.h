/*
 * machine_fault.h - what the machine failed at while a conversion looked for files.
 *
 * A file that an object file refers to need not be there: the conversion goes on without it. A file that
 * could not be looked at, for want of memory or descriptors, or because reading failed, is another matter:
 * what is converted without it would be kept, and be wrong for as long as nothing changes. Such faults are
 * noted wherever a file is opened, and fail the conversion in the end.
 */
#ifndef WORK_TYPES_MACHINE_FAULT_H
#define WORK_TYPES_MACHINE_FAULT_H

#include <stdatomic.h>

struct convert_opener;

/* Zero-initialized is none. */
struct machine_fault {
	atomic_int err; /* the first one: 0, or a negative errno */
};

/*
 * Notes @err, 0 or a negative errno, in the fault of @opener if it may be the machine's. @opener may be NULL.
 * Returns @err. Any thread.
 */
int machine_fault_note(const struct convert_opener *opener, int err);

#endif

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
 * Notes @err in the fault of @opener, which may be NULL, unless it says that the file is absent, is not for
 * us, or is no sound file. @err: 0 or a negative errno, of a system call or of the opener. Returns @err. Any
 * thread.
 */
int machine_fault_note(const struct convert_opener *opener, int err);

/* Likewise, for what code says of a file: notes that memory was short, and nothing else. */
int memory_fault_note(const struct convert_opener *opener, int err);

#endif

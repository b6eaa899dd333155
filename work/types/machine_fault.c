#include "work/types/machine_fault.h"

#include "work/types/convert_types.h"

#include <errno.h>
#include <stdbool.h>

#include "gsym/base/fault.h"

/* -EAGAIN is a lease, which a user may hold for ever: the file counts as one that is not for us. */
static bool is_noted(int err)
{
	if (err >= 0 || err == -EAGAIN)
		return false;
	switch (fault_of(err)) {
	case FAULT_ROOM:
	case FAULT_NETWORK:
	case FAULT_MACHINE: return true;
	default: return false;
	}
}

int machine_fault_note(const struct convert_opener *opener, int err)
{
	int none = 0;
	if (opener && opener->fault && is_noted(err))
		atomic_compare_exchange_strong(&opener->fault->err, &none, err);
	return err;
}

int memory_fault_note(const struct convert_opener *opener, int err)
{
	return err == -ENOMEM ? machine_fault_note(opener, err) : err;
}

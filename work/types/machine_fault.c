#include "work/types/machine_fault.h"

#include "work/types/convert_types.h"

#include <errno.h>
#include <stdbool.h>

/*
 * Also of disks and servers that cannot be read now. Not -EAGAIN: a user may hold a lease of a file for ever.
 * -EPROTO: the client of a worker did not answer.
 */
static bool is_of_machine(int err)
{
	switch (err) {
	case -ENOMEM:
	case -EIO:
	case -EMFILE:
	case -ENFILE:
	case -EINTR:
	case -ENOBUFS:
	case -ESTALE:
	case -ETIMEDOUT:
	case -ENOTCONN:
	case -EHOSTDOWN:
	case -EREMOTEIO:
	case -EUCLEAN:
	case -EPROTO: return true;
	}
	return false;
}

int machine_fault_note(const struct convert_opener *opener, int err)
{
	int none = 0;
	if (opener && opener->fault && is_of_machine(err))
		atomic_compare_exchange_strong(&opener->fault->err, &none, err);
	return err;
}

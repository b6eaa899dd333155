#include "fs/sys/readers.h"

/*
 * A thread may be late to count itself, in a phase that has passed: so both counters must have been zero.
 * Only that of the phase that is not on is sure to become zero; then the phases change.
 */
bool readers_grace(struct readers *readers, struct grace *grace)
{
	for (int i = 0; i < 2; i++) {
		unsigned phase = atomic_load(&readers->phase), off = (phase + 1) & 1;
		if (!grace->over[off])
			grace->over[off] = atomic_load(&readers->inside[off]) == 0;
		if (grace->over[off])
			atomic_store(&readers->phase, phase + 1);
	}
	return grace->over[0] && grace->over[1];
}

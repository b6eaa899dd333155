/*
 * readers.h - grace periods: when no thread can still use what it found before.
 *
 * A thread that finds objects and uses them without a lock does so between readers_enter() and
 * readers_leave(). What can no longer be found may be freed when all that had entered before have left, which
 * is what a struct grace finds out. As Linux's SRCU, but nothing waits: it is asked again later.
 */
#ifndef FS_SYS_READERS_H
#define FS_SYS_READERS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Zero-initialised. */
struct readers {
	atomic_uint phase;
	atomic_ulong inside[2]; /* that entered in phases of either parity */
};

/* Zero-initialised when the objects can no longer be found. */
struct grace {
	bool over[2];
};

/* Returns what readers_leave() needs. */
static inline unsigned readers_enter(struct readers *readers)
{
	unsigned parity = atomic_load(&readers->phase) & 1;
	atomic_fetch_add(&readers->inside[parity], 1);
	return parity;
}

static inline void readers_leave(struct readers *readers, unsigned parity)
{
	atomic_fetch_sub(&readers->inside[parity], 1);
}

/*
 * True when all that had entered before @grace began have left. Not from inside. One thread at a time.
 *
 * A thread may be late to count itself, in a phase that has passed: so both counters must have been zero.
 * Only the inactive phase is sure to become zero; then the phases change, as in SRCU.
 */
static inline bool readers_grace(struct readers *readers, struct grace *grace)
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

#endif

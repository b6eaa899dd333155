/*
 * unit_stream.c - units to function records while .debug_info is inflated.
 *
 * Inflating is the one part that two threads cannot share, and in C++ nearly half of all work, so it must not
 * stand still while units are read: a thread inflates some more before it takes a unit, unless another one
 * does, or enough is ready for all. Alone it inflates only what it reads next, while that is in the cache.
 * Units are numbered in the order of the file, and what is before the first one that is still read is given
 * back.
 */
#include "convert/conversion.h"

#include "convert/dwarf/dwarf_stream.h"
#include "gsym/base/parallel.h"

#include <pthread.h>
#include <string.h>

enum {
	AHEAD = 8 << 20, /* bytes inflated before they are read, at most, but for a unit that is longer */
};

struct streamed_unit {
	struct unit_header header;
	struct unit_result result;
};

struct unit_stream {
	struct conversion *conversion;
	pthread_mutex_t lock;    /* guards all below */
	pthread_cond_t progress; /* more was inflated, or nothing more will be */
	bool inflating, ended;
	int err;
	uint64_t ready;    /* bytes inflated */
	uint64_t *reading; /* offset of the unit that each thread reads; UINT64_MAX: none */
	uint64_t passed;   /* end of the last unit that was taken */
	VEC(struct streamed_unit *) units;
};

static void fail(struct unit_stream *s, int err)
{
	s->err = s->err ? s->err : err;
	s->ended = true;
	pthread_cond_broadcast(&s->progress);
}

/* Inflates some more; called and left locked. */
static void inflate_step(struct unit_stream *s)
{
	uint64_t ready = 0;
	s->inflating = true;
	pthread_mutex_unlock(&s->lock);
	int err = dwarf_stream_inflate(s->conversion->dwarf.stream, &ready);
	pthread_mutex_lock(&s->lock);
	s->inflating = false;
	if (err)
		fail(s, err);
	else
		s->ready = ready;
	pthread_cond_broadcast(&s->progress);
}

/* Takes the next unit if it is ready. 0, or as dwarf_stream_unit(). */
static int take_ready(struct unit_stream *s, unsigned thread, size_t *ret)
{
	struct unit_header header;
	int found = dwarf_stream_unit(s->conversion->dwarf.stream, s->ready, &header);
	if (found != 1)
		return found;
	struct streamed_unit *unit = calloc(1, sizeof(*unit));
	if (!unit || vec_push(&s->units, unit)) {
		free(unit);
		return -ENOMEM;
	}
	unit->header = header;
	s->reading[thread] = header.off;
	s->passed = header.end;
	*ret = s->units.n - 1;
	return 0;
}

/* The next unit and its number, or NULL after the last one. */
static struct streamed_unit *take_unit(struct unit_stream *s, unsigned thread, size_t *ret_index)
{
	struct streamed_unit *unit = NULL;
	pthread_mutex_lock(&s->lock);
	while (!s->ended && !unit) {
		/* So little is ready that threads would wait for it soon. */
		const struct conversion *c = s->conversion;
		if (c->n_builders > 1 && !s->inflating && s->ready < c->dwarf.info.size &&
		    s->ready - s->passed < AHEAD) {
			inflate_step(s);
			continue;
		}
		int err = take_ready(s, thread, ret_index);
		if (!err)
			unit = s->units.v[*ret_index];
		else if (err == -EAGAIN && s->inflating)
			pthread_cond_wait(&s->progress, &s->lock);
		else if (err == -EAGAIN)
			inflate_step(s);
		else
			fail(s, err == -ENOENT ? 0 : err);
	}
	pthread_mutex_unlock(&s->lock);
	return unit;
}

static void read_units(void *user, size_t index, unsigned thread)
{
	(void)index;
	struct unit_stream *s = user;
	struct conversion *c = s->conversion;
	struct streamed_unit *unit;
	while (!atomic_load_explicit(&c->cancelled, memory_order_relaxed) &&
	       (unit = take_unit(s, thread, &index))) {
		builder_unit_of(c->builders[thread], &unit->header, index, &unit->result);
		/* What precedes the units that are still read is given back. */
		pthread_mutex_lock(&s->lock);
		uint64_t to = s->passed;
		s->reading[thread] = UINT64_MAX;
		for (unsigned t = 0; t < s->conversion->n_builders; t++)
			to = s->reading[t] < to ? s->reading[t] : to;
		pthread_mutex_unlock(&s->lock);
		dwarf_stream_release(s->conversion->dwarf.stream, to);
		atomic_fetch_add_explicit(&c->units_done, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&c->bytes_done, unit->header.end - unit->header.off,
					  memory_order_relaxed);
		if (thread == 0) {
			const struct convert_progress progress = {
				.phase = CONVERT_READING,
				.done = atomic_load_explicit(&c->units_done, memory_order_relaxed),
				.bytes_done = atomic_load_explicit(&c->bytes_done, memory_order_relaxed),
				.bytes_total = c->dwarf.info.size,
			};
			conversion_report(c, &progress);
		}
	}
}

/* Moves the units to arrays, as those of a section that was inflated whole. */
static int list_units(struct unit_stream *s, struct unit_header **ret)
{
	size_t n = s->units.n;
	struct conversion *c = s->conversion;
	*ret = calloc(n + 1, sizeof(**ret));
	c->results = calloc(n + 1, sizeof(*c->results));
	if (!*ret || !c->results)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		(*ret)[i] = s->units.v[i]->header;
		c->results[i] = s->units.v[i]->result;
	}
	return 0;
}

/*
 * Inflates what follows the last unit: the checksum is at the end. A unit is the last one when its length
 * says so, but its bytes may be damaged.
 */
static int inflate_rest(struct unit_stream *s)
{
	int err = s->err;
	while (!err && s->ready < s->conversion->dwarf.info.size)
		err = dwarf_stream_inflate(s->conversion->dwarf.stream, &s->ready);
	return err;
}

int unit_stream_read(struct conversion *c)
{
	struct unit_stream s = {.conversion = c, .ready = dwarf_stream_ready(c->dwarf.stream)};
	struct unit_header *units = NULL;
	s.reading = malloc(c->n_builders * sizeof(*s.reading));
	if (!s.reading)
		return -ENOMEM;
	memset(s.reading, 0xff, c->n_builders * sizeof(*s.reading));
	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.progress, NULL);
	parallel_for(c->n_builders, c->n_builders, read_units, &s);
	int err = atomic_load(&c->cancelled) ? -ECANCELED : inflate_rest(&s);
	if (!err)
		err = list_units(&s, &units);
	size_t n = s.units.n;
	for (size_t i = 0; i < n; i++)
		free(s.units.v[i]);
	vec_free(&s.units);
	free(s.reading);
	pthread_cond_destroy(&s.progress);
	pthread_mutex_destroy(&s.lock);
	dwarf_stream_end(&c->dwarf, err != 0, units, n, &c->warnings);
	return err;
}

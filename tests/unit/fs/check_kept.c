/* Converted files in memory: whose goes for another. */
#include "images_fixture.h"

#include "fs/images/kept.h"
#include "tests/lib/unit.h"

#include <stdio.h>

/* That of a file of @owner, converted to @size bytes in memory and used at @used. */
static struct revision *keep(struct images_fixture *f, uid_t owner, size_t size, int64_t used)
{
	static _Atomic uint64_t sum;
	char id[24], name[24];
	unsigned n = (unsigned)++f->ino;
	snprintf(id, sizeof(id), "%016x", n);
	snprintf(name, sizeof(name), "kept%u", n);
	put_as(f, id, WITH(program_file(SOURCE_DWARF), w.path = name, w.ino = n, w.uid = owner));
	struct revision *rev = revision_of(f, id);
	struct handle *handle = new_handle();
	handle->in_memory = &sum;
	handle->map_size = size;
	assert_null(make_ready(f, rev, handle));
	rev->used = used;
	rev->fresh = false;
	return rev;
}

static bool drop(struct images_fixture *f, uid_t owner, uint64_t size)
{
	return images_drop_kept(&f->images, owner, size);
}

TEST(the_least_used_in_memory_goes)
{
	struct images_fixture *f = *state;
	struct revision *c = keep(f, OWNER, 10, 3), *a = keep(f, OWNER, 10, 1), *b = keep(f, OWNER, 10, 2);
	put_new(f, debug_file());
	assert_null(make_ready(f, current(f), new_handle())); /* in the cache, and used long ago */
	current(f)->used = 0;
	assert_true(drop(f, OWNER, 1));
	assert_int_equal(a->state, STATE_COLD);
	struct handle *used = handle_get(b->handle);
	assert_true(drop(f, OWNER, 1));
	assert_int_equal(b->state, STATE_READY);
	assert_int_equal(c->state, STATE_COLD);
	assert_false(drop(f, OWNER, 1));
	handle_put(used);
	b->fresh = true; /* for calls that are about to use it */
	assert_false(drop(f, OWNER, 1));
	b->ahead = true;
	assert_true(drop(f, OWNER, 1));
	assert_int_equal(current(f)->state, STATE_READY);
}

TEST(owners_have_shares_of_memory)
{
	struct images_fixture *f = *state;
	struct revision *small = keep(f, STRANGER, 30, 1), *old = keep(f, OWNER, 40, 2);
	struct revision *more = keep(f, OWNER, 40, 3);
	/* The other one has more, also with what f is made for. */
	assert_true(drop(f, STRANGER, 20));
	assert_int_equal(old->state, STATE_COLD);
	/* Who would have the most gives it, whatever others used longer ago. */
	assert_true(drop(f, OWNER, 40));
	assert_int_equal(more->state, STATE_COLD);
	/* And takes nothing from one who has less. */
	assert_false(drop(f, OWNER, 40));
	assert_int_equal(small->state, STATE_READY);
	assert_true(drop(f, OWNER, 20));
	assert_int_equal(small->state, STATE_COLD);
	assert_false(drop(f, OWNER, 1));
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

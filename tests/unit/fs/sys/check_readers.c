/* Grace periods: over when the readers that were inside have left, also if others enter meanwhile. */
#include "fs/sys/readers.h"

#include "tests/lib/unit.h"

TEST(without_readers)
{
	struct readers readers = {0};
	for (int i = 0; i < 5; i++) {
		struct grace grace = {{false}};
		assert_true(readers_grace(&readers, &grace));
	}
}

/* In each of the phases. */
TEST(one_inside)
{
	struct readers readers = {0};
	for (int i = 0; i < 4; i++) {
		struct grace grace = {{false}};
		unsigned parity = readers_enter(&readers);
		for (int again = 0; again < 5; again++)
			assert_false(readers_grace(&readers, &grace));
		readers_leave(&readers, parity);
		assert_true(readers_grace(&readers, &grace));
		atomic_fetch_add(&readers.phase, 1);
	}
}

/* Readers that enter later do not make it longer for ever. */
TEST(others_come_and_go)
{
	struct readers readers = {0};
	struct grace grace = {{false}};
	unsigned first = readers_enter(&readers);
	assert_false(readers_grace(&readers, &grace));
	unsigned second = readers_enter(&readers);
	readers_leave(&readers, first);
	bool over = readers_grace(&readers, &grace);
	unsigned third = readers_enter(&readers);
	over = over || readers_grace(&readers, &grace);
	assert_true(over);
	readers_leave(&readers, second);
	readers_leave(&readers, third);
	assert_int_equal(atomic_load(&readers.inside[0]) + atomic_load(&readers.inside[1]), 0);
}

/* One who read the phase before it changed counts in that which is past. */
TEST(late_to_count)
{
	struct readers readers = {0};
	struct grace first = {{false}}, second = {{false}};
	assert_true(readers_grace(&readers, &first));
	unsigned parity = (atomic_load(&readers.phase) + 1) & 1;
	atomic_fetch_add(&readers.inside[parity], 1);
	for (int again = 0; again < 5; again++)
		assert_false(readers_grace(&readers, &second));
	readers_leave(&readers, parity);
	assert_true(readers_grace(&readers, &second));
}

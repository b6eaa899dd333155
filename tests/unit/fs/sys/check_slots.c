/* Objects by number: what comes and goes leaves nothing, and no number is given out twice. */
#include "fs/sys/slots.h"

#include "tests/lib/unit.h"

enum { COUNT = 1000 };

TEST(come_and_go)
{
	struct slots slots = {.n = 0};
	int objects[COUNT];
	uint32_t number, at = 0;
	assert_null(slots_get(&slots, 0));
	assert_null(slots_from(&slots, &at));
	for (uint32_t i = 0; i < COUNT; i++) {
		assert_int_equal(slots_add(&slots, &objects[i], &number), 0);
		assert_int_equal(number, i);
	}
	for (uint32_t i = 0; i < COUNT; i++)
		if (i != 7 && i != 700)
			slots_remove(&slots, i);
	assert_int_equal(slots.n, 2);
	assert_ptr_equal(slots_get(&slots, 7), &objects[7]);
	assert_null(slots_get(&slots, 8));
	assert_null(slots_get(&slots, 300));
	assert_null(slots_get(&slots, COUNT));
	assert_ptr_equal(slots_from(&slots, &at), &objects[7]);
	assert_int_equal(at++, 7);
	assert_ptr_equal(slots_from(&slots, &at), &objects[700]);
	assert_int_equal(at++, 700);
	assert_null(slots_from(&slots, &at));
	assert_int_equal(slots_add(&slots, &objects[0], &number), 0);
	assert_int_equal(number, COUNT);
	slots_deinit(&slots);
}

/* Pages are freed with their last object. */
TEST(pages)
{
	struct slots slots = {.n = 0};
	int object;
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t number;
		assert_int_equal(slots_add(&slots, &object, &number), 0);
		slots_remove(&slots, number);
	}
	size_t kept = 0;
	for (size_t i = 0; i < slots.pages.n; i++)
		kept += slots.pages.v[i] != NULL;
	assert_int_equal(kept, 1);
	slots_deinit(&slots);
}

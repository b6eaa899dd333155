/* At which times the scanner walks over SOURCE, or looks at what has changed. */
#include "fs/scan/scan_pace.h"

#include <limits.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

enum { NOW = 5000000 };

static const struct scan_walk plain = {.limit = INT64_MAX, .watching = true};

static struct scan_pace paced(struct scan_walk walk)
{
	struct scan_pace pace = {0};
	scan_pace_walked(&pace, NOW, &walk);
	return pace;
}

/* Files that were left out, in seconds; how long after the walk the next one is due, in ms. */
TEST(next_walk)
{
	static const struct {
		struct scan_walk walk;
		int64_t due;
	} rows[] = {
		{{.limit = INT64_MAX}, INT64_MAX - NOW},
		{{.limit = INT64_MAX, .interval = 3}, 3000},
		{{.limit = INT64_MAX, .err = -EIO}, 1000},
		{{.limit = INT64_MAX, .err = -EIO, .interval = 3}, 1000},
		{{.limit = 5}, 5000},
		{{.limit = 5, .interval = 9}, 5000},
		{{.limit = 5, .interval = 3}, 3000},
		{{.limit = 5, .err = -EIO}, 1000},
		{{.limit = 1}, 1000},
		{{.limit = 0}, 1000},
		{{.limit = -5}, 1000},
		{{.limit = 9LL * INT_MAX}, INT_MAX * 1000LL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scan_pace pace = paced(rows[i].walk);
		assert_int_equal(pace.due, NOW + rows[i].due);
		assert_int_equal(pace.look, INT64_MAX);
	}
}

/* What was unknown is looked for again, ever later; from the start after a walk that was complete. */
TEST(after_failures)
{
	static const int64_t seconds[] = {1, 2, 4, 8, 16, 32, 64, 64, 64};
	const struct scan_walk failed = {.err = -EIO, .limit = INT64_MAX};
	struct scan_pace pace = {0};
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
			scan_pace_walked(&pace, NOW, &failed);
			assert_int_equal(pace.due, NOW + seconds[i] * 1000);
		}
		scan_pace_walked(&pace, NOW, &plain);
		assert_int_equal(pace.due, INT64_MAX);
	}
}

/* Soon, but not within a second of the last walk; none makes it later. */
TEST(on_request)
{
	struct scan_pace pace = paced(plain);
	scan_pace_request(&pace);
	scan_pace_request(&pace);
	assert_int_equal(pace.due, NOW + 1000);
	pace.due = NOW + 500;
	scan_pace_request(&pace);
	assert_int_equal(pace.due, NOW + 500);
}

/* Changes are looked at a tenth of a second after the last one, but at most a second after the first. */
TEST(changes)
{
	struct scan_pace pace = paced(plain);
	assert_int_equal(pace.look, NOW);
	assert_false(scan_pace_look_now(&pace, NOW + 10, true));
	scan_pace_changed(&pace, NOW + 10, false); /* nothing of files */
	assert_int_equal(pace.look, NOW + 110);
	assert_false(scan_pace_look_now(&pace, NOW + 110, false));
	for (int ms = 200; ms < 1200; ms += 90) {
		assert_false(scan_pace_look_now(&pace, NOW + ms, true));
		scan_pace_changed(&pace, NOW + ms, true);
		assert_int_equal(pace.look, NOW + ms + 100);
		assert_true(scan_pace_look_now(&pace, NOW + ms + 100, false));
	}
	assert_true(scan_pace_look_now(&pace, NOW + 1200, true));
	scan_pace_looked(&pace, NOW + 1200, 0, false);
	assert_false(scan_pace_look_now(&pace, NOW + 1200, true));
	assert_int_equal(pace.due, INT64_MAX);
}

/* The scanner rests nine times as long as the last walk, or look, has used a processor. */
TEST(rest)
{
	struct scan_walk walk = plain;
	walk.took = 123;
	struct scan_pace pace = paced(walk);
	scan_pace_looked(&pace, NOW + 150, 60, false);
	assert_int_equal(pace.look, NOW + 150 + 540);
	assert_int_equal(pace.due, INT64_MAX);
	scan_pace_looked(&pace, NOW + 150, 0, true);
	assert_int_equal(pace.due, NOW + 1107);
	walk.interval = 1;
	pace = paced(walk);
	scan_pace_looked(&pace, NOW + 150, 0, true);
	assert_int_equal(pace.due, NOW + 1000);
}

TEST(waits)
{
	struct scan_pace pace = {.due = NOW + 1000, .look = NOW + 100};
	assert_int_equal(scan_pace_timeout(&pace, NOW, false), 100);
	assert_int_equal(scan_pace_timeout(&pace, NOW, true), 1000);
	pace.look = NOW + 2000;
	assert_int_equal(scan_pace_timeout(&pace, NOW, false), 1000);
	pace.first = NOW - 1;
	assert_int_equal(scan_pace_timeout(&pace, NOW, true), 0);
	pace = (struct scan_pace){.due = INT64_MAX};
	assert_int_equal(scan_pace_timeout(&pace, NOW, true), INT_MAX);
}

/* Servers of debuginfod that rest: when what they may have is requested again. */
#include "work/run/debuginfod.h"

#include <errno.h>
#include <time.h>

#include "tests/lib/unit.h"
#include "work/worker/child.h"

static int64_t wall_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void rest_for(struct fetcher *f, int64_t ms) NOT_ANALYZED
{
	f->list[0].failure = -ETIMEDOUT;
	f->list[0].rest_until = monotonic_ms() + ms;
}

/* An image that is tried while its server still rests would be converted for nothing. */
TEST(again_after_the_rest)
{
	const uint8_t id[20] = {1};
	char directory[] = "/";
	struct fetcher f = {.directory = directory};
	mutex_init(&f.lock, LOCK_FETCH);
	assert_int_equal(fetch_servers_read(&f, "http://127.0.0.1:1"), 0);
	/* Whatever the fraction of the present second is, for some of these it and that of the rest carry. */
	for (int64_t ms = 100001; ms < 101000; ms += 37) {
		struct fetched got;
		int64_t begin = wall_ms();
		rest_for(&f, ms);
		fetcher_get(&f, id, sizeof(id), 0, &got);
		assert_int_equal(got.fd, -ETIMEDOUT);
		assert_true(got.again * 1000 >= begin + ms);
		assert_true(got.again * 1000 <= wall_ms() + ms + 1000);
	}
	fetch_servers_free(&f);
}

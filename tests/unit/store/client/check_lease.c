/* Leases: every answer of a server at every step, and clocks that say nothing or nonsense. */
#include "store/client/lease.h"

#include <errno.h>
#include <string.h>

#include "tests/lib/unit.h"

/* The server's clock; those of hosts are nowhere. */
enum { now = 1700000000 };

/* Another host has the lease. */
static struct lease waiting(unsigned predicted_ms)
{
	struct lease lease = {.seed = 7};
	lease_begin(&lease, true, predicted_ms);
	assert_int_equal(lease.step, LEASE_TAKE);
	lease_note_put(&lease, -EEXIST);
	assert_int_equal(lease.step, LEASE_LOOK);
	assert_false(lease.held);
	return lease;
}

TEST(times)
{
	assert_int_equal(lease_seconds(0), 10);
	assert_int_equal(lease_seconds(1000), 10);
	assert_int_equal(lease_seconds(1001), 11);
	assert_int_equal(lease_seconds(20000), 200);
	assert_int_equal(lease_seconds(360000), 3600);
	assert_int_equal(lease_seconds(UINT32_MAX), 3600);
}

TEST(prediction)
{
	unsigned last = 0;
	for (unsigned shift = 0; shift < 64; shift++) {
		unsigned ms = predict_conversion_ms(UINT64_C(1) << shift, 1);
		assert_true(ms >= last && ms > 0);
		last = ms;
	}
	assert_int_equal(predict_conversion_ms(UINT64_MAX, 1), UINT32_MAX);
	assert_true(predict_conversion_ms(UINT64_MAX, 0) == UINT32_MAX);
	const uint64_t gb = 1000000000;
	assert_in_range(predict_conversion_ms(gb, 1), 8000, 17000);
	assert_true(predict_conversion_ms(gb, 4) < predict_conversion_ms(gb, 2));
	assert_int_equal(predict_conversion_ms(gb, 16), predict_conversion_ms(gb, 1000));
}

TEST(no_leases)
{
	struct lease lease = {0};
	lease_begin(&lease, false, 1000);
	assert_int_equal(lease.step, LEASE_CONVERT);
	assert_false(lease.held);
}

TEST(taken)
{
	struct lease lease = {0};
	lease_begin(&lease, true, 20000);
	lease_note_put(&lease, 0);
	assert_int_equal(lease.step, LEASE_CONVERT);
	assert_true(lease.held);
	assert_int_equal(lease.seconds, 200);
}

/* Without a lease is never worse than converting. */
TEST(failures)
{
	static const int errors[] = {-EACCES,     -ETIMEDOUT, -EHOSTUNREACH, -EREMOTEIO, -ENETDOWN,
				     -EOPNOTSUPP, -ECANCELED, -ENOMEM,       -EFBIG,     -EBADMSG};
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		struct lease lease = {0};
		lease_begin(&lease, true, 1000);
		lease_note_put(&lease, errors[i]);
		assert_int_equal(lease.step, LEASE_CONVERT);
		assert_false(lease.held);
		lease = waiting(1000);
		lease_note_head(&lease, errors[i], now, now, "\"a\"");
		assert_int_equal(lease.step, LEASE_CONVERT);
		assert_false(lease.held);
	}
}

/* 409 is the answer to two that raced, of whom one has won. */
TEST(raced)
{
	struct lease lease = {0};
	lease_begin(&lease, true, 1000);
	lease_note_put(&lease, -EAGAIN);
	assert_int_equal(lease.step, LEASE_LOOK);
	lease_note_head(&lease, -ENOENT, 0, 0, "");
	assert_int_equal(lease.step, LEASE_TAKE);
	lease_note_put(&lease, 0);
	assert_true(lease.held);
}

/* Dead since long: its time is over at the first look. */
TEST(stale)
{
	struct lease lease = waiting(1000);
	lease_note_head(&lease, 0, now, now - 10, "\"a\"");
	assert_int_equal(lease.step, LEASE_LOOK);
	lease_note_head(&lease, 0, now, now - 11, "\"a\"");
	assert_int_equal(lease.step, LEASE_TAKE_OVER);
	assert_string_equal(lease.etag, "\"a\"");
	lease_note_put(&lease, -EEXIST); /* a third host was first */
	assert_int_equal(lease.step, LEASE_LOOK);
	lease_note_head(&lease, 0, now, now - 86400, "\"b\"");
	assert_int_equal(lease.step, LEASE_TAKE_OVER);
	lease_note_put(&lease, -ENOENT); /* deleted: its conversion may be there */
	assert_int_equal(lease.step, LEASE_LOOK);
	lease_note_head(&lease, -ENOENT, now, 0, "");
	assert_int_equal(lease.step, LEASE_TAKE);
	lease = waiting(1000);
	lease_note_head(&lease, 0, INT64_MAX, 1, "\"a\"");
	assert_int_equal(lease.step, LEASE_TAKE_OVER);
	lease_note_put(&lease, 0);
	assert_true(lease.held);
}

/* A lease ends in its time by the server's clock, and looks become rarer. */
TEST(running_clock)
{
	for (unsigned predicted = 0; predicted <= 60000; predicted += 5000) {
		struct lease lease = waiting(predicted);
		unsigned looks = 0;
		uint64_t waited = 0;
		for (; lease.step == LEASE_LOOK; looks++) {
			assert_true(lease.wait_ms > 0);
			waited += lease.wait_ms;
			lease_note_head(&lease, 0, now + (int64_t)waited / 1000, now, "\"a\"");
		}
		assert_int_equal(lease.step, LEASE_TAKE_OVER);
		assert_in_range(waited, lease.seconds * 1000, lease.seconds * 1000 * 5 / 4 + 1000);
		assert_in_range(looks, 10, 25);
	}
}

/* With two clocks in one server, hours apart, the lease has its whole time; without a clock, none. */
TEST(clocks)
{
	static const int64_t none[][2] = {{0, 0}, {now, 0}, {0, now}, {-now, -now}, {INT64_MIN, INT64_MAX}};
	struct lease lease = waiting(1000);
	lease_note_head(&lease, 0, now, now + 7200, "\"a\"");
	assert_int_equal(lease.step, LEASE_LOOK);
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		lease = waiting(1000);
		lease_note_head(&lease, 0, none[i][0], none[i][1], "\"a\"");
		assert_int_equal(lease.step, LEASE_CONVERT);
		assert_false(lease.held);
	}
}

/* A server without tags cannot let a lease be taken over safely. */
TEST(no_tags)
{
	struct lease lease = waiting(1000);
	lease_note_head(&lease, 0, now, now, "");
	assert_int_equal(lease.step, LEASE_CONVERT);
	assert_false(lease.held);
}

/* A tag that is too long is cut, and so matches nothing, which is no more than a conversion lost. */
TEST(long_tag)
{
	struct lease lease = waiting(1000);
	char tag[300];
	memset(tag, 'x', sizeof(tag) - 1);
	tag[sizeof(tag) - 1] = 0;
	lease_note_head(&lease, 0, now, now - 20, tag);
	assert_int_equal(strlen(lease.etag), sizeof(lease.etag) - 1);
}

/* Hosts that begin at the same moment do not ask at the same moments. */
TEST(jitter)
{
	enum { HOSTS = 100 };
	unsigned first[HOSTS], different = 0;
	for (uint32_t host = 0; host < HOSTS; host++) {
		struct lease lease = {.seed = host * 2654435761U};
		lease_begin(&lease, true, 1000);
		lease_note_put(&lease, -EEXIST);
		first[host] = lease.wait_ms;
		assert_in_range(first[host], 187, 313);
		bool is_new = true;
		for (uint32_t i = 0; i < host; i++)
			is_new &= first[i] != first[host];
		different += is_new;
	}
	assert_true(different > HOSTS / 3);
}

/* The threads of a shared store: both are waited for, also when the second cannot be started. */
#include "tests/unit/store/client/store_fixture.h"

#include "store/share/share.h"
#include "store/share/share_parts.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __real_pthread_join(pthread_t thread, void **ret);
int __wrap_pthread_join(pthread_t thread, void **ret);

static int allowed = -1; /* threads until one cannot be started; negative: all can */
static struct {
	pthread_t thread;
	bool is_joined;
} started[8];
static size_t n_started;

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	if (allowed >= 0 && allowed-- == 0)
		return EAGAIN;
	assert_true(n_started < sizeof(started) / sizeof(*started));
	int err = __real_pthread_create(ret, attr, run, arg);
	if (!err)
		started[n_started++].thread = *ret;
	return err;
}

int __wrap_pthread_join(pthread_t thread, void **ret)
{
	for (size_t i = 0; i < n_started; i++)
		if (pthread_equal(started[i].thread, thread))
			started[i].is_joined = true;
	return __real_pthread_join(thread, ret);
}

static size_t joined(void)
{
	size_t n = 0;
	for (size_t i = 0; i < n_started; i++)
		n += started[i].is_joined;
	return n;
}

struct service {
	struct fixture store;
	struct share *share;
};

static int setup(void **state)
{
	struct service *s = calloc(1, sizeof(*s));
	assert_non_null(s);
	fixture_open(&s->store);
	const struct share_options options = {.store = {.address = s->store.directory}};
	struct gsym_diag diag = {""};
	if (share_open(&options, fixture_program, s->store.stop[0], NULL, &s->store.log, &s->share, &diag))
		fail_msg("%s", diag.text);
	memset(started, 0, sizeof(started));
	n_started = 0;
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct service *s = *state;
	share_close(s->share);
	fixture_close(&s->store);
	free(s);
	return 0;
}

TEST_WITH(both_threads_are_waited_for, setup, teardown)
{
	struct service *s = *state;
	assert_int_equal(share_start(s->share), 0);
	pthread_t giver = s->share->giver, holder = s->share->holder;
	share_stop(s->share);
	assert_true(pthread_equal(started[0].thread, giver) && started[0].is_joined);
	assert_true(pthread_equal(started[1].thread, holder) && started[1].is_joined);
	size_t before = joined();
	share_stop(s->share); /* nothing is left to be waited for */
	assert_int_equal(joined(), before);
}

TEST_WITH(without_a_second_thread_the_first_ends, setup, teardown)
{
	struct service *s = *state;
	for (int n = 0; n < 2; n++) {
		n_started = 0;
		allowed = n;
		assert_int_equal(share_start(s->share), -EAGAIN);
		assert_int_equal(n_started, n);
		assert_int_equal(joined(), n);
		share_stop(s->share);
		assert_int_equal(joined(), n);
	}
	allowed = -1;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 1;
	fixture_program = argv[1];
	return unit_run();
}

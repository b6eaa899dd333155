/* The lock order and who holds a mutex are checked where assertions are on; everywhere a mutex excludes. */
#include "work/os/mutex.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/unit.h"

static struct mutex outer, inner;

static void in_order(void)
{
	mutex_lock(&outer);
	mutex_lock(&inner);
	mutex_assert_held(&outer);
	mutex_unlock(&outer); /* not nested like brackets: only the order of locking counts */
	mutex_unlock(&inner);
}

static void against_order(void) NOT_ANALYZED
{
	mutex_lock(&inner);
	mutex_lock(&outer);
}

static void same_rank(void) NOT_ANALYZED
{
	struct mutex other;
	mutex_init(&other, LOCK_NODES);
	mutex_lock(&inner);
	mutex_lock(&other);
}

static void not_held(void) NOT_ANALYZED
{
	mutex_assert_held(&inner);
}

static void unlock_twice(void) NOT_ANALYZED
{
	mutex_lock(&inner);
	mutex_unlock(&inner);
	mutex_unlock(&inner);
}

/* The signal that ends a process which calls @work; 0: it returned. */
static int signal_of(void (*work)(void))
{
	pid_t pid = fork();
	if (pid == 0) {
		close(STDERR_FILENO);
		signal(SIGABRT, SIG_DFL); /* cmocka handles it */
		work();
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(test_order)
{
	assert_int_equal(signal_of(in_order), 0);
	in_order();
#ifdef NDEBUG
	skip(); /* assertions are compiled out */
#endif
	assert_int_equal(signal_of(against_order), SIGABRT);
	assert_int_equal(signal_of(same_rank), SIGABRT);
	assert_int_equal(signal_of(not_held), SIGABRT);
	assert_int_equal(signal_of(unlock_twice), SIGABRT);
}

enum { ROUNDS = 20000 };
static unsigned counter;

static void *count(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < ROUNDS; i++) {
		mutex_lock(&outer);
		counter++;
		mutex_unlock(&outer);
	}
	return NULL;
}

TEST(test_exclusion)
{
	pthread_t threads[2];
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count, NULL), 0);
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(counter, 2 * ROUNDS);
}

/* Waiting releases the mutex, and has it again afterwards. */
TEST(test_wait)
{
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec past = {0};
	mutex_lock(&inner);
	assert_int_not_equal(mutex_wait_until(&inner, &cond, &past), 0);
	mutex_assert_held(&inner);
	mutex_unlock(&inner);
}

int main(void)
{
	mutex_init(&outer, LOCK_IMAGES);
	mutex_init(&inner, LOCK_NODES);
	return unit_run();
}

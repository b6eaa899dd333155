/* The CPU time that a thread spends on the names of an image, by a clock of the test's own. */
#include "fs/answer/symbol_names.h"

#include <time.h>

#include "tests/lib/unit.h"

enum { MANY = 10000 };

static struct timespec now;
static unsigned looks;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	assert_int_equal(clock, CLOCK_THREAD_CPUTIME_ID);
	looks++;
	*ret = now;
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	now = (struct timespec){.tv_sec = 7, .tv_nsec = 500};
	looks = 0;
	return 0;
}

/* How many questions are answered with no. */
static unsigned questions(struct cpu_budget *budget)
{
	unsigned n = 0;
	while (n < MANY && !cpu_budget_is_spent(budget))
		n++;
	return n;
}

static void expect_spent(struct cpu_budget *budget)
{
	assert_true(questions(budget) < 1000);
	for (int i = 0; i < 1000; i++) /* for good, and at once */
		assert_true(cpu_budget_is_spent(budget));
}

/* Not each question looks at the clock, but the first one does. */
TEST(some_questions_look)
{
	struct cpu_budget budget;
	cpu_budget_begin(&budget, 2, NULL);
	looks = 0;
	assert_false(cpu_budget_is_spent(&budget));
	assert_int_equal(looks, 1);
	assert_int_equal(questions(&budget), MANY);
	assert_in_range(looks, 10, MANY / 2);
}

TEST(time_passes)
{
	static const struct {
		struct timespec now;
		bool spent;
	} rows[] = {{{7, 501}, false}, {{8, 999999999}, false}, {{9, 0}, false},  {{9, 500}, false},
		    {{9, 501}, true},  {{10, 0}, true},         {{1000, 0}, true}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct cpu_budget budget;
		now = (struct timespec){.tv_sec = 7, .tv_nsec = 500};
		cpu_budget_begin(&budget, 2, NULL);
		now = rows[i].now;
		assert_int_equal(cpu_budget_is_spent(&budget), rows[i].spent);
		if (rows[i].spent)
			expect_spent(&budget);
		else
			assert_int_equal(questions(&budget), MANY);
	}
}

TEST(the_daemon_ends)
{
	struct cpu_budget budget;
	atomic_bool stopping = false;
	cpu_budget_begin(&budget, 2, &stopping);
	assert_int_equal(questions(&budget), MANY);
	atomic_store(&stopping, true);
	expect_spent(&budget);
	cpu_budget_begin(&budget, 2, &stopping);
	assert_true(cpu_budget_is_spent(&budget));
}

EACH_TEST(set_up, NULL)

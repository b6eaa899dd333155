/* The index of functions that reach past the next start, against a search of all, and from threads. */
#include "tests/unit/gsym/sample.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "tests/lib/unit.h"

enum {
	FUNCTIONS = 60,
	SPACE = 2000,
};

struct range {
	uint64_t off;
	uint32_t size;
};

static int by_start_and_size(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size;
}

static void random_ranges(struct range *ranges, unsigned *seed)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		ranges[i].off = (uint64_t)(rand_r(seed) % (SPACE / 2));
		ranges[i].size = (uint32_t)(rand_r(seed) % (rand_r(seed) % 8 ? 30 : SPACE / 2));
	}
	ranges[0].off = 0;
	qsort(ranges, FUNCTIONS, sizeof(*ranges), by_start_and_size);
}

/* The rule as it is written: the last start wins, of equals the smallest; size 0 up to the next start. */
static int expected(const struct range *ranges, uint64_t off)
{
	int best = -1, unsized = -1;
	for (int i = 0; i < FUNCTIONS; i++) {
		if (ranges[i].off > off)
			break;
		bool contains = off - ranges[i].off < ranges[i].size;
		if (contains &&
		    (best < 0 || ranges[i].off > ranges[best].off || ranges[i].size < ranges[best].size))
			best = i;
		if (unsized < 0 || ranges[i].off > ranges[unsized].off)
			unsized = i;
	}
	if (best >= 0)
		return best;
	return unsized >= 0 && ranges[unsized].size == 0 ? unsized : -1;
}

static struct gsym_reader *make(const struct range *ranges, void **ret_data)
{
	struct sample s;
	sample_init(&s, sample_kinds[0], 0);
	for (int i = 0; i < FUNCTIONS; i++)
		sample_func(&s, ranges[i].off, ranges[i].size, "f", 0);
	return sample_open(&s, ret_data);
}

TEST(random_overlaps)
{
	unsigned seed = 3;
	for (int round = 0; round < 300; round++) {
		struct range ranges[FUNCTIONS];
		void *data;
		random_ranges(ranges, &seed);
		struct gsym_reader *r = make(ranges, &data);
		for (uint64_t off = 0; off < SPACE; off++) {
			uint32_t index = UINT32_MAX;
			int want = expected(ranges, off), err = gsym_reader_find(r, off, &index, NULL);
			assert_int_equal(err, want < 0 ? -ENOENT : 0);
			if (want < 0)
				continue;
			/* twins of one range are equally good */
			assert_int_equal(ranges[index].off, ranges[want].off);
			assert_int_equal(ranges[index].size, ranges[want].size);
		}
		gsym_reader_close(r);
		free(data);
	}
}

struct job {
	const struct gsym_reader *reader;
	const struct range *ranges;
	pthread_barrier_t *barrier;
	int wrong;
};

static void *look_up_all(void *arg)
{
	struct job *job = arg;
	struct gsym_answer a = {0};
	pthread_barrier_wait(job->barrier);
	for (uint64_t off = 0; off < SPACE; off++) {
		int want = expected(job->ranges, off), err = gsym_lookup(job->reader, off, &a, NULL);
		job->wrong += err != (want < 0 ? -ENOENT : 0);
	}
	gsym_answer_deinit(&a);
	return NULL;
}

TEST(first_misses_from_many_threads)
{
	enum { THREADS = 4 };
	unsigned seed = 5;
	for (int round = 0; round < 50; round++) {
		struct range ranges[FUNCTIONS];
		pthread_t threads[THREADS];
		struct job jobs[THREADS];
		pthread_barrier_t barrier;
		void *data;
		random_ranges(ranges, &seed);
		struct gsym_reader *r = make(ranges, &data);
		assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
		for (int i = 0; i < THREADS; i++) {
			jobs[i] = (struct job){r, ranges, &barrier, 0};
			assert_int_equal(pthread_create(&threads[i], NULL, look_up_all, &jobs[i]), 0);
		}
		for (int i = 0; i < THREADS; i++) {
			pthread_join(threads[i], NULL);
			assert_int_equal(jobs[i].wrong, 0);
		}
		pthread_barrier_destroy(&barrier);
		gsym_reader_close(r);
		free(data);
	}
}

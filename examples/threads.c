/*
 * Serves lookups by several threads that share one reader: symbolicates the addresses on standard input, one
 * a line, and prints the innermost function of each, in order.
 *
 *     cc -pthread -o threads threads.c $(pkg-config --cflags --libs gsym)
 *     ./threads FILE.gsym 4 < addresses
 *
 * A reader never changes, so it needs no lock; an answer belongs to one thread, which uses it again and
 * again.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsym/gsym.h>

enum { THREADS_MAX = 64, NAME_SIZE = 256 };

struct query {
	uint64_t address;
	char name[NAME_SIZE];
};

struct worker {
	pthread_t thread;
	const struct gsym_reader *reader;
	struct query *first, *end; /* its part of all queries */
	int err;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct gsym_answer answer = {0};
	for (struct query *q = w->first; q < w->end; q++) {
		int err = gsym_lookup(w->reader, q->address, &answer, NULL);
		if (!err)
			gsym_demangle(answer.frames[0].name, 0, q->name, sizeof(q->name));
		else
			strcpy(q->name, "??");
		if (err && err != -ENOENT)
			w->err = err;
	}
	gsym_answer_deinit(&answer);
	return NULL;
}

/* The queries on standard input; NULL without memory. */
static struct query *read_queries(size_t *ret_n)
{
	size_t n = 0, room = 1024;
	struct query *v = malloc(room * sizeof(*v));
	char line[64];
	while (v && fgets(line, sizeof(line), stdin)) {
		if (n == room) {
			struct query *more = realloc(v, 2 * room * sizeof(*v));
			if (!more)
				free(v);
			v = more;
			room *= 2;
		}
		if (v)
			v[n++].address = strtoull(line, NULL, 16);
	}
	*ret_n = n;
	return v;
}

static int run(const struct gsym_reader *reader, struct query *v, size_t n, size_t threads)
{
	struct worker workers[THREADS_MAX];
	int err = 0;
	size_t started = 0;
	for (; started < threads; started++) {
		struct worker *w = &workers[started];
		*w = (struct worker){.reader = reader};
		w->first = v + n * started / threads;
		w->end = v + n * (started + 1) / threads;
		err = -pthread_create(&w->thread, NULL, work, w);
		if (err)
			break;
	}
	for (size_t i = 0; i < started; i++) {
		pthread_join(workers[i].thread, NULL);
		err = err ? err : workers[i].err;
	}
	return err;
}

int main(int argc, char **argv)
{
	struct gsym_diag diag = {""};
	struct gsym_reader *reader;
	size_t n, threads = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	if (threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "usage: %s FILE.gsym THREADS < ADDRESSES\n", argv[0]);
		return 2;
	}
	if (gsym_reader_open(argv[1], &reader, &diag)) {
		fprintf(stderr, "%s: %s\n", argv[0], diag.text);
		return 1;
	}
	struct query *queries = read_queries(&n);
	int err = queries ? run(reader, queries, n, threads) : -ENOMEM;
	for (size_t i = 0; i < n && !err; i++)
		printf("0x%" PRIx64 " %s\n", queries[i].address, queries[i].name);
	if (err)
		fprintf(stderr, "%s: %s\n", argv[0], strerror(-err));
	free(queries);
	gsym_reader_close(reader);
	return err != 0;
}

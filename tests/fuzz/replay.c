/*
 * Runs a fuzz target over files, and over seeded mutations of them, without a fuzzer: so each target and what
 * was ever found by it is an ordinary test.
 *
 *     replay [-runs=N] [-seed=N] [-timeout=SECONDS] [-artifact=FILE] FILE|DIRECTORY...
 *
 * The inputs run in a child process. The input at work lies in memory shared with the parent, which writes it
 * to the artifact file when the child dies or hangs: no signal handlers, and sanitizers end the child as they
 * like.
 */
#include "mutate.h"
#include "seeds.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	GROWTH = 4096,       /* how much longer than the longest seed a mutation may get */
	DEFAULT_TIMEOUT = 60 /* seconds until an input counts as one that hangs */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct settings {
	uint64_t runs;
	uint64_t seed;
	unsigned timeout;
	const char *artifact;
};

/* Shared between parent and child. */
struct stage {
	atomic_ulong number; /* inputs begun */
	char origin[256];    /* the seed the input was made of */
	size_t size;
	uint8_t data[];
};

static void run_one(struct stage *stage, const struct seed *seed, const struct sample *sample)
{
	snprintf(stage->origin, sizeof(stage->origin), "%s", seed->path);
	stage->size = sample->size;
	atomic_fetch_add(&stage->number, 1);
	/* A copy of exactly the input's size, so that a sanitizer sees the first byte read past the end. */
	uint8_t *exact = malloc(sample->size ? sample->size : 1);
	if (!exact)
		abort();
	memcpy(exact, sample->data, sample->size);
	LLVMFuzzerTestOneInput(exact, sample->size);
	free(exact);
}

static void run_all(struct stage *stage, const struct seeds *seeds, const struct settings *settings)
{
	struct sample sample = {.data = stage->data, .cap = seeds->max_size + GROWTH};

	for (uint64_t i = 0; i < seeds->count + settings->runs; i++) {
		const struct seed *seed = &seeds->list[i % seeds->count];
		struct chance chance = {settings->seed + i};
		memcpy(sample.data, seed->data, seed->size);
		sample.size = seed->size;
		if (i >= seeds->count) { /* the first round runs the seeds as they are */
			const struct seed *other = &seeds->list[chance_below(&chance, seeds->count)];
			mutate(&sample, other->data, other->size, &chance);
		}
		run_one(stage, seed, &sample);
	}
}

/* Waits for @child; kills it when one input takes longer than @timeout. Returns its wait status. */
static int watch(pid_t child, const struct stage *stage, unsigned timeout, bool *ret_hung)
{
	const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
	unsigned long last = 0;
	time_t since = time(NULL);

	for (int status;; nanosleep(&pause, NULL)) {
		pid_t done = waitpid(child, &status, WNOHANG);
		if (done == child)
			return status;
		unsigned long now = atomic_load(&stage->number);
		if (now != last) {
			last = now;
			since = time(NULL);
		} else if (time(NULL) - since > (time_t)timeout && !*ret_hung) {
			*ret_hung = true;
			kill(child, SIGKILL);
		}
	}
}

static void save(const struct stage *stage, const char *path)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(stage->data, 1, stage->size, file) != stage->size)
		fprintf(stderr, "\"%s\": the input could not be saved: %s\n", path, strerror(errno));
	if (file)
		fclose(file);
}

static int replay(const struct seeds *seeds, const struct settings *settings)
{
	size_t size = sizeof(struct stage) + seeds->max_size + GROWTH;
	struct stage *stage = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stage == MAP_FAILED)
		return -errno;
	pid_t child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		run_all(stage, seeds, settings);
		exit(0); /* not _exit: leaks are looked for at exit */
	}
	bool hung = false;
	int status = watch(child, stage, settings->timeout, &hung);
	unsigned long number = atomic_load(&stage->number);
	if (status == 0) {
		printf("%lu inputs from %zu seeds\n", number, seeds->count);
		munmap(stage, size);
		return 0;
	}
	save(stage, settings->artifact);
	fprintf(stderr, "input %lu, made of \"%s\", %s (wait status %#x); saved as \"%s\"\n", number,
		stage->origin, hung ? "ran too long" : "ended the process", (unsigned)status,
		settings->artifact);
	munmap(stage, size);
	return -EPROTO;
}

static bool option(const char *argument, const char *name, const char **ret)
{
	size_t size = strlen(name);

	if (strncmp(argument, name, size) != 0)
		return false;
	*ret = argument + size;
	return true;
}

int main(int argc, char **argv)
{
	struct settings settings = {.seed = 1, .timeout = DEFAULT_TIMEOUT, .artifact = "crash-input"};
	struct seeds seeds = {0};
	int err = 0;

	for (int i = 1; i < argc && !err; i++) {
		const char *value;
		if (option(argv[i], "-runs=", &value))
			settings.runs = strtoull(value, NULL, 0);
		else if (option(argv[i], "-seed=", &value))
			settings.seed = strtoull(value, NULL, 0);
		else if (option(argv[i], "-timeout=", &value))
			settings.timeout = (unsigned)strtoul(value, NULL, 0);
		else if (option(argv[i], "-artifact=", &value))
			settings.artifact = value;
		else if ((err = seeds_add(&seeds, argv[i])))
			fprintf(stderr, "\"%s\": %s\n", argv[i], strerror(-err));
	}
	if (!err && !seeds.count) {
		fprintf(stderr,
			"usage: %s [-runs=N] [-seed=N] [-timeout=S] [-artifact=FILE] FILE|DIRECTORY...\n",
			argv[0]);
		err = -EINVAL;
	}
	if (!err)
		err = replay(&seeds, &settings);
	seeds_deinit(&seeds);
	return err ? 1 : 0;
}

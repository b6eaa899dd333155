/*
 * Runs a program to its end and prints what that took: seconds, seconds of CPU time, and peak resident KiB.
 *
 *     spend FILE TIMES PROGRAM [ARGUMENT...]        the figures go to FILE, seconds for one of TIMES runs
 *
 * A process inherits the peak of the one that started it until it has run something else, so a large parent
 * would be measured in place of a small program; this one is small.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct spent {
	double seconds, cpu;
	long peak;
};

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* Adds a run; the program's exit status. */
static int run(char **argv, struct spent *spent)
{
	double begin = now();
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0)
		return 127;
	spent->seconds += now() - begin;
	spent->cpu += seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
	if (usage.ru_maxrss > spent->peak)
		spent->peak = usage.ru_maxrss;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	struct spent spent = {0};
	long times = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
	int status = 0;

	if (times < 1) {
		fprintf(stderr, "usage: %s FILE TIMES PROGRAM [ARGUMENT...]\n", argv[0]);
		return 2;
	}
	for (long i = 0; i < times && status == 0; i++)
		status = run(argv + 3, &spent);
	FILE *out = fopen(argv[1], "w");
	if (!out) {
		perror(argv[1]);
		return 1;
	}
	fprintf(out, "%.6f %.6f %ld\n", spent.seconds / (double)times, spent.cpu / (double)times, spent.peak);
	return fclose(out) ? 1 : status;
}

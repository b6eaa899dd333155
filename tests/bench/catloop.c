/*
 * What `cat` does, many times without starting a process: open, fstat, read to the end, close.
 *
 *     catloop DIRECTORY ROUNDS < names        prints the microseconds per file of each round
 *
 * The first round meets new names, the later ones names that the kernel has cached.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int cat(int dir, const char *name)
{
	char buffer[128 * 1024];
	struct stat st;
	ssize_t got;
	int fd = openat(dir, name, O_RDONLY);

	if (fd < 0)
		return -errno;
	int err = fstat(fd, &st) < 0 ? -errno : 0;
	while (!err && (got = read(fd, buffer, sizeof(buffer))) != 0)
		if (got < 0)
			err = -errno;
	close(fd);
	return err;
}

static size_t read_names(char ***ret)
{
	char **names = NULL, *line = NULL;
	size_t count = 0, cap = 0;
	ssize_t got;

	while ((got = getline(&line, &cap, stdin)) > 0) {
		char **grown = realloc(names, (count + 1) * sizeof(*names));
		if (!grown)
			break;
		names = grown;
		line[strcspn(line, "\n")] = '\0';
		names[count++] = line;
		line = NULL;
		cap = 0;
	}
	free(line);
	*ret = names;
	return count;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	char **names;
	size_t count = read_names(&names);
	int dir = argc == 3 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;

	if (dir < 0 || !count) {
		fprintf(stderr, "usage: %s DIRECTORY ROUNDS < names\n", argv[0]);
		return 2;
	}
	for (long round = 0, rounds = strtol(argv[2], NULL, 10); round < rounds; round++) {
		double begin = seconds();
		for (size_t i = 0; i < count; i++) {
			int err = cat(dir, names[i]);
			if (err) {
				fprintf(stderr, "\"%s\": %s\n", names[i], strerror(-err));
				return 1;
			}
		}
		printf("%.2f\n", (seconds() - begin) * 1e6 / (double)count);
	}
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
	close(dir);
	return 0;
}

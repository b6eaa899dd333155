/*
 * Asks an image for addresses through one open file, with open(), write() and read() alone.
 *
 *     cc -o client client.c && ./client MOUNT/ID ADDRESS...
 *
 * Prints the frames of each address, the innermost first, and an empty line behind them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Writes all of it; 0 or -1 with errno. */
static int put(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			text += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

/* Copies what was answered to standard output, to its end; 0 or -1 with errno. The next put() asks for more.
 */
static int get(int fd)
{
	char buffer[65536];
	ssize_t n;
	while ((n = read(fd, buffer, sizeof(buffer))) != 0) {
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0 && put(STDOUT_FILENO, buffer, (size_t)n))
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	char path[4096];
	if (argc < 3 || (size_t)snprintf(path, sizeof(path), "%s/q", argv[1]) >= sizeof(path)) {
		fprintf(stderr, "usage: %s MOUNT/ID ADDRESS...\n", argv[0]);
		return 2;
	}
	int fd = open(path, O_RDWR);
	int err = fd < 0;
	for (int i = 2; !err && i < argc; i++)
		err = put(fd, argv[i], strlen(argv[i])) || put(fd, "\n", 1);
	if (err || get(fd)) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	close(fd);
	return 0;
}

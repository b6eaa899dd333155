#include "fs/sys/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	FIRST_WALK_MS = 1000, /* a first walk that takes longer is not waited for */
	SERVING = 's',
	WALKED = 'w',
};

/* The starter: does not return. A daemon that ends meanwhile has failed. */
static _Noreturn void wait_and_exit(int fd)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};
	bool serving = false, walked = false;
	while (!serving || !walked) {
		char news = 0;
		int n = poll(&end, 1, serving ? FIRST_WALK_MS : -1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			break;
		if (n < 0 || read(fd, &news, 1) != 1)
			_exit(1);
		serving |= news == SERVING;
		walked |= news == WALKED;
	}
	_exit(0);
}

static void use_nothing_of_the_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	setsid();
	if (chdir("/"))
		return;
	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
}

int starter_leave(struct starter *starter)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid_t pid = fork();
	if (pid < 0) {
		int err = -errno;
		close(ends[0]);
		close(ends[1]);
		return err;
	}
	close(ends[pid == 0 ? 1 : 0]);
	if (pid > 0)
		wait_and_exit(ends[1]);
	use_nothing_of_the_terminal();
	starter->fd = ends[0];
	return 0;
}

/* The starter may have stopped waiting. */
static void tell(const struct starter *starter, char news)
{
	if (starter->fd >= 0)
		send(starter->fd, &news, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void starter_serving(const struct starter *starter)
{
	tell(starter, SERVING);
}

void starter_release(struct starter *starter)
{
	if (!starter->released)
		tell(starter, WALKED);
	starter->released = true;
}

#include "store/client/store_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gsym/base/diag.h"

enum { ANSWER_MS = 2000 };

static int check_owner(int fd, const char *path, struct gsym_diag *diag)
{
	struct stat st;
	if (fstat(fd, &st))
		return diag_set(diag, -errno, "store '%s': cannot stat: %s", path, strerror(errno));
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return diag_set(diag, -EPERM,
				"store '%s' belongs to user %u, which is neither the daemon's user nor root",
				path, (unsigned)st.st_uid);
	if (st.st_mode & 022)
		return diag_set(diag, -EPERM, "store '%s' is writable by others: chmod it to 0700", path);
	return 0;
}

int store_directory_open(const char *path, struct gsym_diag *diag)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return diag_set(diag, -errno, "store '%s': cannot open: %s", path, strerror(errno));
	int err = check_owner(fd, path, diag);
	if (err)
		close(fd);
	return err ? err : fd;
}

struct directory_answer {
	int err;
	struct gsym_diag diag;
};

/* In a process of its own, which a file server that is down may keep for ever. */
static void look(int to, const char *path)
{
	struct directory_answer answer = {0};
	int dir = store_directory_open(path, &answer.diag);
	answer.err = dir < 0 ? dir : 0;
	_exit(write(to, &answer, sizeof(answer)) != sizeof(answer));
}

int store_directory_check(const char *path, const struct log *log, struct gsym_diag *diag)
{
	struct directory_answer answer;
	int ends[2];
	pid_t pid = pipe2(ends, O_CLOEXEC) ? -1 : fork();
	if (pid < 0) /* it is checked when the process of the store opens it */
		return 0;
	if (!pid)
		look(ends[1], path);
	close(ends[1]);
	struct pollfd end = {.fd = ends[0], .events = POLLIN};
	poll(&end, 1, ANSWER_MS);
	bool is_answered = end.revents && read(ends[0], &answer, sizeof(answer)) == sizeof(answer);
	close(ends[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, is_answered ? 0 : WNOHANG);
	if (!is_answered)
		log_warning(log, "store '%s': the directory does not answer", path);
	return is_answered && answer.err ? diag_set(diag, answer.err, "%s", answer.diag.text) : 0;
}

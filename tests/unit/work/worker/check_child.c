/*
 * Worker processes: what they are given, how long their client waits for them, how they end. The worker is
 * this program itself, which acts by its mode.
 */

#include "work/worker/child.h"
#include "work/worker/fork_loop.h"
#include "gsym/base/sanitizer.h"
#include "tests/lib/unit.h"
#include "tests/unit/open_descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG_MS = 100000, HUNG_SECONDS = 100 };

/* ---- The worker ---- */

static char descriptor_letter(int fd)
{
	char letter = '-';
	return read(fd, &letter, 1) == 1 ? letter : fcntl(fd, F_GETFD) < 0 ? ' ' : '-';
}

static bool is_null_device(int fd)
{
	struct stat a, b;
	return fstat(fd, &a) == 0 && stat("/dev/null", &b) == 0 && a.st_rdev == b.st_rdev &&
	       (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

/* How many descriptors from 8 on are open. */
static int n_inherited(void)
{
	int n = 0;
	for (int fd = 8; fd < 200; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void describe(char *to, size_t size, const char *parent)
{
	sigset_t mask;
	struct sigaction action;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigaction(SIGUSR1, NULL, &action);
	const char *secret = getenv("AWS_SECRET"), *plain = getenv("AWSOME"), *now = getenv("LD_BIND_NOW");
	snprintf(to, size,
		 "fds '%c%c%c%c' and %d, %s, %s, %s, group %s, signals %s %s, secret %s, plain %s, bind %s",
		 descriptor_letter(4), descriptor_letter(5), descriptor_letter(6), descriptor_letter(7),
		 n_inherited(),
		 SANITIZER || (is_null_device(0) && is_null_device(1) && is_null_device(2)) ? "null" : "open",
		 atol(parent) == getppid() ? "child" : "orphan",
		 fcntl(3, F_GETFL) & O_NONBLOCK ? "polls" : "blocks", getpgrp() == getpid() ? "own" : "ours",
		 sigismember(&mask, SIGUSR2) ? "blocked" : "open",
		 action.sa_handler == SIG_DFL ? "default" : "ignored", secret ? secret : "none",
		 plain ? plain : "none", now ? now : "none");
}

static void await_close(void)
{
	char byte;
	while (recv(WORKER_SOCKET_FD, &byte, 1, 0) > 0)
		;
}

static int act(const char *mode, const char *parent)
{
	struct worker_ready ready = {.protocol = WORKER_PROTOCOL};
	struct worker_missing about = {.head = {0}};
	struct worker_failed failed = {.error = EIO};
	alarm(HUNG_SECONDS);
	if (strcmp(mode, "quits") == 0)
		return 3;
	if (strcmp(mode, "crashes") == 0)
		kill(getpid(), SIGILL);
	if (strcmp(mode, "hangs") == 0)
		await_close();
	if (strcmp(mode, "newer") == 0)
		ready.protocol++;
	if (strcmp(mode, "fails") == 0)
		worker_send(WORKER_SOCKET_FD, &failed.head, WORKER_FAILED, -1);
	if (strcmp(mode, "mumbles") == 0)
		(void)!write(WORKER_SOCKET_FD, "x", 1);
	worker_send(WORKER_SOCKET_FD, &ready.head, WORKER_READY, -1);
	if (strcmp(mode, "stays") == 0)
		for (;;)
			pause();
	describe(about.name, sizeof(about.name), parent);
	worker_send(WORKER_SOCKET_FD, &about.head, WORKER_MISSING, -1);
	await_close();
	return 7;
}

/* ---- Its client ---- */

static const char *gsym_program; /* NULL: not given */
static int never[2];             /* a pipe that says nothing */

static struct child_order order_of(const char *mode)
{
	return (struct child_order){.program = "/proc/self/exe", .mode = mode, .stop_fd = never[0]};
}

static void assert_description(const struct child_order *order, const char *want)
{
	struct child child;
	union worker_message msg;
	struct rusage usage = {0};
	assert_int_equal(child_start(order, &child, NULL), 0);
	assert_true(child.pid > 0);
	assert_int_equal(child_receive(&child, never[0], monotonic_ms() + LONG_MS, &msg), 1);
	assert_int_equal(msg.head.type, WORKER_MISSING);
	assert_string_equal(msg.missing.name, want);
	int status = child_finish(&child, &usage);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(child.pid, 0);
	assert_true(usage.ru_maxrss > 0);
}

/* A descriptor from which @letter is read. */
static int letter_fd(char letter)
{
	int fds[2];
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(write(fds[1], &letter, 1), 1);
	close(fds[1]);
	return fds[0];
}

TEST(what_it_is_given)
{
	sigset_t usr2;
	int fds[4];
	struct child_order order = order_of("tells");
	/* Two that execve(2) does not close, the first where those of an order may go. */
	const int low = open("/dev/null", O_RDONLY), high = fcntl(low, F_DUPFD, 20);
	assert_in_range(low, 4, 7);
	assert_true(high >= 20);
	for (int i = 0; i < 4; i++)
		fds[i] = letter_fd("abcd"[i]);
	setenv("AWS_SECRET", "key", 1);
	setenv("AWSOME", "yes", 1);
	unsetenv("LD_BIND_NOW");
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	sigprocmask(SIG_BLOCK, &usr2, NULL);
	signal(SIGUSR1, SIG_IGN);
	assert_description(&order,
			   "fds '    ' and 0, null, child, blocks, group ours, signals open default, secret "
			   "none, plain yes, bind none");
	order.own_group = true;
	order.has_credentials = true;
	order.fds = fds;
	order.n_fds = 2;
	assert_description(&order,
			   "fds 'ab  ' and 0, null, child, blocks, group own, signals open default, secret "
			   "key, plain yes, bind none");
	order.own_group = order.has_credentials = false;
	order.bind_now = true;
	order.fds = (int[]){fds[3], fds[2]};
	assert_description(&order,
			   "fds 'dc  ' and 0, null, child, blocks, group ours, signals open default, secret "
			   "none, plain yes, bind 1");
	order.fds = (int[]){letter_fd('e'), letter_fd('f'), letter_fd('g'), letter_fd('h')};
	order.n_fds = 4;
	assert_description(&order,
			   "fds 'efgh' and 0, null, child, blocks, group ours, signals open default, secret "
			   "none, plain yes, bind 1");
	/* They stay ours. */
	for (int i = 0; i < 4; i++) {
		assert_int_equal(close(order.fds[i]), 0);
		assert_int_equal(close(fds[i]), 0);
	}
	assert_int_equal(close(low), 0);
	assert_int_equal(close(high), 0);
}

static void assert_not_started(const char *mode, int err, const char *message)
{
	struct child_order order = order_of(mode);
	struct child child = {.pid = 12345};
	struct gsym_diag diag = {""};
	size_t before = count_open_descriptors();
	assert_int_equal(child_start(&order, &child, &diag), err);
	if (!strstr(diag.text, message))
		fail_msg("'%s' without '%s'", diag.text, message);
	assert_int_equal(child.pid, 12345);
	assert_int_equal(count_open_descriptors(), before);
	assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

TEST(what_is_no_worker)
{
	struct child_order order = order_of("tells");
	struct child child;
	struct gsym_diag diag = {""};
	assert_not_started("quits", -ECHILD, "is not the gsym program of version");
	assert_not_started("newer", -ECHILD, "is not the gsym program of version");
	assert_not_started("fails", -ECHILD, "is not the gsym program of version");
	assert_not_started("mumbles", -ECHILD, "is not the gsym program of version");
	if (!SANITIZER)
		assert_not_started("crashes", -ECHILD, "was killed by signal 4");
	order.program = "/nowhere/gsym";
	assert_int_equal(child_start(&order, &child, &diag), -ECHILD);
	assert_non_null(strstr(diag.text, "cannot start the worker '/nowhere/gsym': No such file"));
	order = order_of("tells");
	order.fds = (int[]){0, 0, 0, 0, 0};
	order.n_fds = 5;
	assert_int_equal(child_start(&order, &child, &diag), -EINVAL);
	order.fds = (int[]){199};
	order.n_fds = 1;
	assert_int_equal(child_start(&order, &child, &diag), -ECHILD);
	assert_non_null(strstr(diag.text, "Bad file descriptor"));
}

TEST(starting_is_stopped)
{
	struct child_order order = order_of("hangs");
	struct child child;
	struct gsym_diag diag = {""};
	order.stop_fd = letter_fd('x');
	assert_int_equal(child_start(&order, &child, &diag), -ECANCELED);
	assert_string_equal(diag.text, "the daemon is shutting down");
	close(order.stop_fd);
}

/* ---- Waiting ---- */

static void make_pair(int pair[2])
{
	struct gsym_diag diag;
	assert_int_equal(child_sockets(pair, &diag), 0);
	assert_true(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
	assert_false(fcntl(pair[1], F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(pair[0], F_GETFD) & fcntl(pair[1], F_GETFD) & FD_CLOEXEC);
}

TEST(until_the_deadline)
{
	int pair[2], fd;
	union worker_message msg;
	struct worker_ready ready = {.protocol = WORKER_PROTOCOL};
	make_pair(pair);
	const struct child child = {.sock = pair[0]};
	alarm(HUNG_SECONDS);
	assert_int_equal(child_receive(&child, never[0], monotonic_ms() - 1, &msg), -ETIMEDOUT);
	assert_int_equal(child_receive(&child, never[0], monotonic_ms(), &msg), -ETIMEDOUT);
	int64_t by = monotonic_ms() + 30;
	assert_int_equal(child_receive(&child, never[0], by, &msg), -ETIMEDOUT);
	assert_true(monotonic_ms() >= by);
	/* What came in time is there. */
	assert_int_equal(worker_send(pair[1], &ready.head, WORKER_READY, -1), 0);
	assert_int_equal(child_receive(&child, never[0], monotonic_ms() + LONG_MS, &msg), 1);
	assert_int_equal(msg.head.type, WORKER_READY);
	assert_int_equal(worker_send(pair[1], &ready.head, WORKER_READY, never[0]), 0);
	assert_int_equal(child_receive_fd(&child, never[0], monotonic_ms() + LONG_MS, &msg, &fd), 1);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(worker_send(pair[1], &ready.head, WORKER_READY, never[0]), 0);
	assert_int_equal(child_receive(&child, never[0], monotonic_ms() + LONG_MS, &msg), -EPROTO);
	/* Rather stopped than served. */
	int stop = letter_fd('x');
	assert_int_equal(worker_send(pair[1], &ready.head, WORKER_READY, -1), 0);
	assert_int_equal(child_receive(&child, stop, monotonic_ms() + LONG_MS, &msg), -ECANCELED);
	close(stop);
	assert_int_equal(child_receive(&child, never[0], monotonic_ms() + LONG_MS, &msg), 1);
	close(pair[1]);
	assert_int_equal(child_receive(&child, never[0], monotonic_ms() + LONG_MS, &msg), 0);
	alarm(0);
	close(pair[0]);
}

/* A worker that ended without reading what it was sent has closed its side. */
TEST(unread_messages)
{
	int pair[2];
	union worker_message msg;
	struct worker_ready ready = {.protocol = WORKER_PROTOCOL};
	make_pair(pair);
	const struct child child = {.sock = pair[0]};
	assert_int_equal(worker_send(pair[0], &ready.head, WORKER_READY, -1), 0);
	close(pair[1]);
	assert_int_equal(child_receive(&child, never[0], monotonic_ms() + LONG_MS, &msg), 0);
	assert_true(child_has_gone(worker_send(pair[0], &ready.head, WORKER_READY, -1)));
	close(pair[0]);
	assert_true(child_has_gone(-EPIPE));
	assert_true(child_has_gone(-ECONNRESET));
	assert_false(child_has_gone(0));
	assert_false(child_has_gone(-EIO));
}

TEST(ends_by_force)
{
	struct child_order order = order_of("stays");
	struct child child;
	assert_int_equal(child_start(&order, &child, NULL), 0);
	int64_t begin = monotonic_ms();
	int status = child_finish(&child, NULL); /* it does not care about the socket */
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_true(monotonic_ms() - begin >= 5000);
	assert_int_equal(child_start(&order, &child, NULL), 0);
	child_kill(&child);
	assert_true(WIFSIGNALED(child_finish(&child, NULL)));
}

TEST(ends_unseen)
{
	struct child_order order = order_of("tells");
	struct child child;
	assert_int_equal(child_start(&order, &child, NULL), 0);
	child_kill(&child);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	int status = child_finish(&child, NULL);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 255);
}

/* The program itself: a worker that is left alone ends, and has failed if it had nothing to do at all. */
TEST(program_ends)
{
	static const struct {
		const char *mode;
		int status;
	} cases[] = {{"scan", 0}, {"zygote", 0}, {"store", 1}, {"convert", 1}, {"fetch", 1}};
	for (size_t i = 0; gsym_program && i < sizeof(cases) / sizeof(*cases); i++) {
		struct child_order order = order_of(cases[i].mode);
		struct child child;
		order.program = gsym_program;
		order.fds = (int[]){never[0], never[0], never[0]};
		order.n_fds = strcmp(cases[i].mode, "convert") == 0 ? 3 : 0;
		assert_int_equal(child_start(&order, &child, NULL), 0);
		int status = child_finish(&child, NULL);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), cases[i].status);
	}
}

/* One that identifies files: it takes each, and sends its identity, until it is asked for something else. */
TEST(program_scans)
{
	for (int wrong = 0; gsym_program && wrong < 3; wrong++) {
		struct child_order order = order_of("scan");
		struct child child;
		union worker_message msg;
		struct worker_identify ask = {.head.serial = 7, .hash_max = 1 << 20};
		struct worker_fork other = {.n_fds = 0};
		int fd = open(gsym_program, O_RDONLY | O_CLOEXEC);
		order.program = gsym_program;
		assert_int_equal(child_start(&order, &child, NULL), 0);
		for (ask.head.serial = 7; ask.head.serial < 9; ask.head.serial++) {
			assert_int_equal(worker_send(child.sock, &ask.head, WORKER_IDENTIFY, fd), 0);
			assert_int_equal(child_receive(&child, never[0], monotonic_ms() + LONG_MS, &msg), 1);
			assert_int_equal(msg.head.type, WORKER_BEGUN);
			assert_int_equal(msg.head.serial, ask.head.serial);
			assert_int_equal(child_receive(&child, never[0], monotonic_ms() + LONG_MS, &msg), 1);
			assert_int_equal(msg.head.type, WORKER_IDENTITY);
			assert_int_equal(msg.head.serial, ask.head.serial);
			assert_int_equal(msg.identity.error, 0);
			assert_int_equal(msg.identity.more, 0);
		}
		if (wrong == 1)
			worker_send(child.sock, &ask.head, WORKER_IDENTIFY, -1);
		else if (wrong == 2)
			worker_send(child.sock, &other.head, WORKER_FORK, fd);
		close(fd);
		int status = child_finish(&child, NULL);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), wrong != 0);
	}
}

/* ---- A zygote ---- */

/* In the zygote, and in what it forks: a worker says which letters its descriptors have. */
static void serve(int sock)
{
	struct worker_missing about = {.head = {0}};
	alarm(HUNG_SECONDS);
	dup2(sock, WORKER_SOCKET_FD);
	close_range(WORKER_SOCKET_FD + 1, ~0u, 0);
	int got = fork_loop_run();
	if (got != 1)
		_exit(got == 0 ? 8 : -got);
	snprintf(about.name, sizeof(about.name), "%c%c%c", descriptor_letter(4), descriptor_letter(5),
		 descriptor_letter(6));
	worker_send(WORKER_SOCKET_FD, &about.head, WORKER_MISSING, -1);
	await_close();
	_exit(9);
}

static struct child start_zygote(void)
{
	int pair[2];
	make_pair(pair);
	pid_t pid = fork();
	if (!pid)
		serve(pair[1]);
	assert_true(pid > 0);
	close(pair[1]);
	return (struct child){.pid = pid, .sock = pair[0]};
}

static void ask_for_worker(const struct child *zygote, uint32_t n_fds, struct child *ret)
{
	int pair[2];
	union worker_message msg;
	struct worker_fork order = {.n_fds = n_fds};
	make_pair(pair);
	assert_int_equal(worker_send(zygote->sock, &order.head, WORKER_FORK, pair[1]), 0);
	close(pair[1]);
	ret->sock = pair[0];
	assert_int_equal(child_receive(ret, never[0], monotonic_ms() + LONG_MS, &msg), 1);
	assert_int_equal(msg.head.type, WORKER_READY);
	assert_int_equal(msg.ready.protocol, WORKER_PROTOCOL);
	assert_true(msg.ready.pid > 0 && msg.ready.pid != zygote->pid);
	ret->pid = msg.ready.pid;
}

static void give(const struct child *worker, char letter)
{
	struct worker_opened opened = {.head = {0}};
	int fd = letter_fd(letter);
	assert_int_equal(worker_send(worker->sock, &opened.head, WORKER_OPENED, fd), 0);
	close(fd);
}

TEST(forked_workers)
{
	struct child zygote = start_zygote(), worker, other;
	union worker_message msg;
	ask_for_worker(&zygote, 2, &worker);
	ask_for_worker(&zygote, 0, &other);
	give(&worker, 'x');
	give(&worker, 'y');
	assert_int_equal(child_receive(&worker, never[0], monotonic_ms() + LONG_MS, &msg), 1);
	assert_string_equal(msg.missing.name, "xy ");
	assert_int_equal(child_receive(&other, never[0], monotonic_ms() + LONG_MS, &msg), 1);
	assert_string_equal(msg.missing.name, "   ");
	/* They are our children, and none of them keeps another one's socket. */
	int status = child_finish(&zygote, NULL);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 8);
	assert_int_equal(WEXITSTATUS(child_finish(&worker, NULL)), 9);
	assert_int_equal(WEXITSTATUS(child_finish(&other, NULL)), 9);
}

TEST(wrong_orders)
{
	struct worker_ready ready = {.protocol = WORKER_PROTOCOL};
	struct worker_fork order = {.n_fds = 1};
	struct worker_opened opened = {.head = {0}};
	struct child zygote = start_zygote(), worker;
	worker_send(zygote.sock, &ready.head, WORKER_READY, never[0]);
	assert_int_equal(WEXITSTATUS(child_finish(&zygote, NULL)), EPROTO);
	zygote = start_zygote();
	worker_send(zygote.sock, &order.head, WORKER_FORK, -1); /* without a socket */
	assert_int_equal(WEXITSTATUS(child_finish(&zygote, NULL)), EPROTO);
	for (int wrong = 0; wrong < 3; wrong++) {
		zygote = start_zygote();
		ask_for_worker(&zygote, 1, &worker);
		if (wrong == 1)
			worker_send(worker.sock, &ready.head, WORKER_READY, never[0]);
		else if (wrong == 2)
			worker_send(worker.sock, &opened.head, WORKER_OPENED, -1); /* without a file */
		else
			shutdown(worker.sock, SHUT_WR);
		assert_int_equal(WEXITSTATUS(child_finish(&worker, NULL)), EPROTO);
		assert_int_equal(WEXITSTATUS(child_finish(&zygote, NULL)), 8);
	}
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "worker") == 0)
		return act(argv[2], argv[3]);
	gsym_program = argc > 1 ? argv[1] : NULL;
	if (pipe2(never, O_CLOEXEC))
		return 1;
	return unit_run();
}

/* The daemon as a process: which signals it takes, what they do, and when its starter exits. */
#define FUSE_USE_VERSION 312
#include "fs/sys/signals.h"
#include "fs/sys/starter.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fuse_lowlevel.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

/* Runs @in_child in a process of its own, which must exit with @status. */
static void expect_exit(int (*in_child)(void), int status)
{
	int got;
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(in_child());
	assert_int_equal(waitpid(pid, &got, 0), pid);
	if (!WIFEXITED(got) || WEXITSTATUS(got) != status)
		fail_msg("status %#x instead of exit status %d", (unsigned)got, status);
}

/* ---- Signals ---- */

static atomic_int asked, ending, ended;

void __wrap_fuse_session_exit(struct fuse_session *session)
{
	(void)session;
	atomic_fetch_add(&ended, 1);
}

static void note_asked(void *user, int sig)
{
	assert_int_equal(sig, atomic_load(&asked) ? SIGHUP : SIGUSR1);
	atomic_fetch_add(&asked, 1);
	kill(getpid(), *(int *)user); /* the next one */
}

static void note_ending(void *user)
{
	(void)user;
	if (!atomic_load(&ended)) /* the session still serves */
		atomic_fetch_add(&ending, 1);
}

/* Serves until @last arrives, which SIGUSR1 comes before. */
static int serve_until(int last)
{
	struct signals s = {
		.ending = note_ending, .asked = note_asked, .user = &last, .on_terminal = last == SIGHUP};
	signals_block();
	signals_accept_wake();
	if (signals_start(&s))
		return 1;
	kill(getpid(), SIGUSR1);
	for (int n = 0; n < 1000 && !atomic_load(&ended); n++)
		poll(NULL, 0, 10000); /* it is interrupted again and again */
	signals_stop(&s);
	bool taken = atomic_load(&s.taken);
	signals_stop(&s); /* it does not run any more */
	return atomic_load(&asked) != 1    ? 2
	       : atomic_load(&ending) != 1 ? 3
	       : atomic_load(&ended) != 1  ? 4
					   : !taken;
}

static int until_term(void)
{
	return serve_until(SIGTERM);
}

static int until_int(void)
{
	return serve_until(SIGINT);
}

static int until_hup(void)
{
	return serve_until(SIGHUP);
}

TEST(ends_at_signals)
{
	expect_exit(until_term, 0);
	expect_exit(until_int, 0);
	expect_exit(until_hup, 0);
}

/* The session ends for another reason. */
static int stopped(void)
{
	struct signals s = {.ending = note_ending, .asked = note_asked};
	signals_block();
	if (signals_start(&s))
		return 1;
	signals_stop(&s);
	return atomic_load(&ending) || atomic_load(&ended) || atomic_load(&s.taken);
}

TEST(ends_without_a_signal)
{
	expect_exit(stopped, 0);
}

static bool no_thread;

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg);

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	return no_thread ? EAGAIN : __real_pthread_create(ret, attr, run, arg);
}

static int without_thread(void)
{
	struct signals s = {.ending = note_ending, .asked = note_asked};
	no_thread = true;
	if (signals_start(&s) != -EAGAIN || s.running)
		return 1;
	signals_stop(&s); /* there is none to wait for */
	return atomic_load(&s.done);
}

TEST(cannot_start)
{
	expect_exit(without_thread, 0);
}

/* What is blocked, ignored and reset, whatever the parent did. */
static int blocked(void)
{
	static const int taken[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1},
			 others[] = {SIGUSR2, SIGCHLD, SIGSEGV, SIGALRM};
	struct sigaction action;
	sigset_t set;
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_DFL);
	signals_block();
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		if (!sigismember(&set, taken[i]))
			return 10 + (int)i;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (sigismember(&set, others[i]))
			return 20 + (int)i;
	sigaction(SIGPIPE, NULL, &action);
	if (action.sa_handler != SIG_IGN)
		return 1;
	sigaction(SIGCHLD, NULL, &action);
	if (action.sa_handler != SIG_DFL)
		return 2;
	/* To wake a thread must not end the process, and interrupts. */
	sigaction(SIGUSR2, NULL, &action);
	return action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN || action.sa_flags & SA_RESTART;
}

TEST(what_is_blocked)
{
	expect_exit(blocked, 0);
}

static int wake_while_blocked(void)
{
	sigset_t set;
	signals_block();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL); /* as a thread that libfuse has started */
	signals_accept_wake();
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	if (sigismember(&set, SIGUSR2) || !sigismember(&set, SIGTERM))
		return 1;
	signals_wake(pthread_self());
	return 0;
}

TEST(woken)
{
	expect_exit(wake_while_blocked, 0);
}

/* ---- The starter ---- */

static bool no_fork;

pid_t __real_fork(void);

pid_t __wrap_fork(void)
{
	if (!no_fork)
		return __real_fork();
	errno = EAGAIN;
	return -1;
}

enum { SERVES = 1, RELEASES = 2, DIES = 4 };

static int report[2]; /* what the daemon has found of itself */
static int hold[2];   /* it goes on until the test closes its end */

/* 0 if the process is what daemon(3) makes of it. */
static char as_a_daemon(pid_t starter)
{
	char cwd[PATH_MAX];
	struct stat null, st;
	if (getpid() == starter)
		return 1;
	if (getsid(0) != getpid())
		return 2;
	if (!getcwd(cwd, sizeof(cwd)) || strcmp(cwd, "/") != 0)
		return 3;
	if (stat("/dev/null", &null))
		return 4;
	for (int fd = 0; fd <= 2; fd++)
		if (fstat(fd, &st) || st.st_rdev != null.st_rdev)
			return 5;
	return 0;
}

static int start(unsigned what)
{
	struct starter starter = {.fd = -1};
	pid_t pid = getpid();
	char found, end;
	starter_serving(&starter); /* nothing waits: nothing happens */
	if (starter_leave(&starter))
		return 40;
	found = as_a_daemon(pid);
	if (write(report[1], &found, 1) != 1)
		_exit(41);
	close(hold[1]);
	if (what & RELEASES) {
		starter_release(&starter);
		starter_release(&starter);
	}
	if (what & SERVES)
		starter_serving(&starter);
	if (!(what & DIES) && read(hold[0], &end, 1) != 0)
		_exit(42);
	_exit(0);
}

static int serves(void)
{
	return start(SERVES | RELEASES);
}

static int walks_long(void)
{
	return start(SERVES);
}

static int dies(void)
{
	return start(DIES);
}

static int dies_before_it_serves(void)
{
	return start(RELEASES | DIES);
}

static int dies_while_it_walks(void)
{
	return start(SERVES | DIES);
}

static void expect_starter(int (*daemon)(void), int status)
{
	char found = 99;
	assert_int_equal(pipe(report), 0);
	assert_int_equal(pipe(hold), 0);
	expect_exit(daemon, status);
	close(hold[0]);
	close(hold[1]);
	close(report[1]);
	assert_int_equal(read(report[0], &found, 1), 1);
	assert_int_equal(found, 0);
	assert_int_equal(read(report[0], &found, 1), 0); /* the daemon has ended */
	close(report[0]);
}

TEST(starter_waits)
{
	expect_starter(serves, 0);
	expect_starter(walks_long, 0);
	expect_starter(dies, 1);
	expect_starter(dies_before_it_serves, 1);
	expect_starter(dies_while_it_walks, 1);
}

static int cannot_leave(void)
{
	struct starter starter = {.fd = -1};
	struct rlimit none = {0, 0};
	no_fork = true;
	if (starter_leave(&starter) != -EAGAIN || starter.fd != -1)
		return 1;
	int next = dup(0); /* no descriptor is left open */
	close(next);
	if (next != hold[0])
		return 2;
	setrlimit(RLIMIT_NOFILE, &none);
	return starter_leave(&starter) != -EMFILE || starter.fd != -1;
}

TEST(starter_cannot_leave)
{
	hold[0] = dup(0);
	close(hold[0]);
	expect_exit(cannot_leave, 0);
}

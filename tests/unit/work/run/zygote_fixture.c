#include "tests/unit/work/run/zygote_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gsym/base/diag.h"
#include "tests/unit/open_descriptors.h"
#include "tests/unit/wrap_mutex.h"

enum {
	HUNG_MS = 20000, /* a client that sleeps for so long sleeps for ever */
	HUNG_SECONDS = 100,
	FIRST_PID = 5000000, /* no process has such a number */
	OUR_GROUP = 4711,
	ZYGOTE_STOP_FD = 71,
	STOP_FD = 72,
};

struct made_process processes[PROCESSES];
size_t n_processes;
int64_t now_ms;
struct zygote_script with;
unsigned n_spawned, n_started, n_kills;
int64_t killed_at;
char said[600];
struct zygote zygote;
int files[FILES];
sem_t waits, go_on, is_through;

static size_t n_fds; /* of the order */
static const struct log one_log;
static size_t n_open; /* descriptors before, */
static long n_live;   /* and allocations */

/* ---- Processes ---- */

static struct made_process *new_process(pid_t group, int sock)
{
	struct made_process *ret = &processes[n_processes];
	assert_true(n_processes < PROCESSES);
	*ret = (struct made_process){.pid = FIRST_PID + (pid_t)n_processes++, .sock = sock, .ends_at = NEVER};
	ret->group = group ? group : ret->pid;
	return ret;
}

void end_process(struct made_process *process)
{
	process->state = ENDED;
	if (process->sock >= 0)
		close(process->sock);
	process->sock = -1;
}

/* Ends those whose time it is; a zygote ends some time after its client has closed the socket. */
static void run_processes(void)
{
	for (struct made_process *p = processes; p < processes + n_processes; p++) {
		char byte;
		if (p->state == RUNS && p->is_zygote && p->ends_at == NEVER && p->lag != NEVER &&
		    recv(p->sock, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0)
			p->ends_at = now_ms + p->lag;
		if (p->state == RUNS && p->ends_at <= now_ms)
			end_process(p);
	}
}

static struct made_process *find_process(pid_t pid)
{
	for (struct made_process *p = processes; p < processes + n_processes; p++)
		if (p->pid == pid && p->state != REAPED)
			return p;
	return NULL;
}

/* ---- In place of the system ---- */

int __real_child_sockets(int ret[2], struct gsym_diag *diag);
int __real_worker_send(int sock, struct worker_header *head, uint32_t type, int pass);
void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

int __wrap_child_sockets(int ret[2], struct gsym_diag *diag)
{
	return with.sockets_err ? diag_set(diag, with.sockets_err, "no socket")
				: __real_child_sockets(ret, diag);
}

int __wrap_child_spawn(const struct child_order *order, struct child *ret, struct gsym_diag *diag)
{
	int pair[2];
	assert_string_equal(order->program, "gsym");
	assert_string_equal(order->mode, "zygote");
	assert_int_equal(order->stop_fd, ZYGOTE_STOP_FD);
	assert_int_equal(order->n_fds, 0);
	assert_true(order->bind_now && order->own_group && !order->has_credentials);
	n_spawned++;
	if (with.spawn_err)
		return diag_set(diag, with.spawn_err, "no process");
	assert_int_equal(__real_child_sockets(pair, NULL), 0);
	struct made_process *process = new_process(with.has_no_group ? OUR_GROUP : 0, pair[1]);
	process->is_zygote = true;
	process->lag = with.lag;
	process->client = pair[0];
	*ret = (struct child){.pid = process->pid, .sock = pair[0]};
	return 0;
}

int __wrap_child_start(const struct child_order *order, struct child *ret, struct gsym_diag *diag)
{
	assert_string_equal(order->mode, "convert");
	assert_true(order->fds == files && order->n_fds == n_fds);
	assert_false(holds_mutex);
	n_started++;
	if (with.start_err)
		return diag_set(diag, with.start_err, "no worker");
	*ret = (struct child){.pid = STARTED_PID, .sock = STARTED_SOCK};
	return 0;
}

/* The zygote forks: the worker is in its group. */
static void fork_process(const struct made_process *parent)
{
	union worker_message msg;
	int fd;
	assert_int_equal(worker_receive(parent->sock, &msg, &fd), 1);
	assert_int_equal(msg.head.type, WORKER_FORK);
	assert_true(fd >= 0);
	struct made_process *worker = new_process(parent->group, fd);
	worker->ends_at = with.ends_at;
	worker->is_foreign = with.whose == FOREIGNERS;
	if (with.leaves) {
		close(worker->sock);
		worker->sock = -1;
	}
	if (with.has_ended)
		end_process(worker);
}

int __wrap_worker_send(int sock, struct worker_header *head, uint32_t type, int pass)
{
	int err = __real_worker_send(sock, head, type, pass);
	for (size_t i = 0; !err && i < n_processes; i++)
		if (processes[i].is_zygote && processes[i].state == RUNS && processes[i].client == sock)
			fork_process(&processes[i]);
	return err;
}

/* The worker receives the files of the order, and no other process has the socket open on which they came. */
static void expect_files(const struct made_process *worker, size_t n)
{
	union worker_message msg;
	struct stat want, st;
	int fd;
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(worker_receive(worker->sock, &msg, &fd), 1);
		assert_int_equal(msg.head.type, WORKER_OPENED);
		assert_int_equal(msg.opened.error, 0);
		assert_int_equal(fstat(fd, &st) | fstat(files[i], &want), 0);
		assert_int_equal(st.st_ino, want.st_ino);
		close(fd);
	}
	assert_int_equal(recv(worker->sock, &msg, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

static pid_t number_given(void)
{
	struct made_process *worker = &processes[n_processes - 1];
	switch (with.whose) {
	case NOBODYS: return 0;
	case NEGATIVE: return -worker->group;
	case ZYGOTES: return worker->group;
	case STRANGERS: return new_process(0, -1)->pid;
	default: return worker->pid;
	}
}

int __wrap_child_receive(const struct child *child, int stop_fd, int64_t deadline_ms,
			 union worker_message *ret)
{
	const struct made_process *worker = &processes[n_processes - 1];
	assert_false(holds_mutex);
	assert_int_equal(stop_fd, STOP_FD);
	assert_int_equal(deadline_ms, now_ms + ANSWER_MS);
	assert_true(child->sock >= 0);
	if (worker->sock >= 0)
		expect_files(worker, n_fds);
	if (with.in_thread) {
		sem_post(&waits);
		sem_wait(&go_on);
	}
	if (with.got != 1)
		return with.got;
	memset(ret, 0, sizeof(*ret));
	ret->head.type = with.type;
	if (with.type == WORKER_FAILED) {
		ret->failed.error = EMFILE;
		snprintf(ret->failed.text, sizeof(ret->failed.text), "fork");
	} else {
		ret->ready.protocol = WORKER_PROTOCOL + with.newer;
		ret->ready.pid = number_given();
	}
	return 1;
}

int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	bool is_there = false;
	assert_true(type == P_PID || type == P_PGID);
	assert_int_equal(options & ~WNOWAIT, WEXITED | WNOHANG);
	assert_false(holds_mutex);
	run_processes();
	errno = ECHILD; /* whatever it was before, if this does not fail */
	for (struct made_process *p = processes; p < processes + n_processes; p++) {
		if (p->state == REAPED || p->is_foreign || (type == P_PID ? p->pid : p->group) != (pid_t)id)
			continue;
		is_there = true;
		if (p->state != ENDED)
			continue;
		info->si_pid = p->pid;
		p->state = options & WNOWAIT ? ENDED : REAPED;
		break;
	}
	return is_there ? 0 : -1; /* with WNOHANG, @info may be left alone */
}

/* Nothing is sent to a number that may be another process's by now. It takes a while to end. */
int __wrap_kill(pid_t pid, int number)
{
	bool is_there = false;
	assert_int_equal(number, SIGKILL);
	assert_true(pid != 0 && pid != -1);
	run_processes();
	for (struct made_process *p = processes; p < processes + n_processes; p++) {
		if (p->state == REAPED || (pid > 0 ? p->pid != pid : p->group != -pid))
			continue;
		is_there = p->is_killed = true;
		if (p->ends_at > now_ms + 2)
			p->ends_at = now_ms + 2;
	}
	assert_true(is_there);
	if (!n_kills++)
		killed_at = now_ms;
	return 0;
}

pid_t __wrap_getpgid(pid_t pid)
{
	assert_true(pid > 0);
	const struct made_process *process = find_process(pid);
	errno = ESRCH;
	return process ? process->group : -1;
}

int __wrap_setpgid(pid_t pid, pid_t group)
{
	struct made_process *process = find_process(pid);
	assert_non_null(process);
	assert_int_equal(pid, group);
	errno = EACCES;
	if (with.cannot_leave)
		return -1;
	process->group = group;
	return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){.tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000};
	return 0;
}

int __wrap_nanosleep(const struct timespec *duration, struct timespec *left)
{
	(void)left;
	assert_false(holds_mutex);
	assert_int_equal(duration->tv_sec, 0);
	assert_int_equal(duration->tv_nsec, 1000000);
	require(++now_ms < START_MS + HUNG_MS, "sleeps for ever");
	if (with.let_go_after && now_ms == START_MS + with.let_go_after) {
		sem_post(&go_on);
		sem_wait(&is_through);
	}
	return 0;
}

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
{
	va_list list;
	assert_ptr_equal(log, zygote.log);
	assert_int_equal(level, LOG_LEVEL_INFO);
	va_start(list, fmt);
	vsnprintf(said, sizeof(said), fmt, list);
	va_end(list);
}

/* ---- A client ---- */

int zygote_set_up(void **state)
{
	(void)state;
	n_live = live;
	n_open = count_open_descriptors();
	with = (struct zygote_script){.got = 1, .type = WORKER_READY, .ends_at = NEVER};
	zygote = (struct zygote){.program = "gsym", .log = &one_log, .stop_fd = ZYGOTE_STOP_FD};
	n_processes = n_spawned = n_started = n_kills = 0;
	now_ms = START_MS;
	said[0] = 0;
	for (size_t i = 0; i < FILES; i++) {
		char name[] = {'a' + (char)i, 0};
		files[i] = memfd_create(name, MFD_CLOEXEC);
		assert_true(files[i] >= 0);
	}
	memset(&zygote.lock, 0xff, sizeof(zygote.lock));
	zygote_init(&zygote);
	alarm(HUNG_SECONDS);
	return 0;
}

int zygote_tear_down(void **state)
{
	(void)state;
	zygote_deinit(&zygote);
	assert_null(known_mutex);
	for (struct made_process *p = processes; p < processes + n_processes; p++) {
		bool is_left = p->group == p->pid && !p->is_zygote;
		assert_true(is_left || p->state == REAPED || p->is_foreign);
		assert_false(is_left && p->is_killed);
		if (p->sock >= 0)
			close(p->sock);
	}
	for (size_t i = 0; i < FILES; i++)
		close(files[i]);
	assert_int_equal(count_open_descriptors(), n_open);
	assert_int_equal(live, n_live);
	alarm(0);
	return 0;
}

int order_worker(struct zygote *by, size_t n, struct child *ret, struct gsym_diag *diag)
{
	const struct child_order order = {
		.program = "gsym", .mode = "convert", .fds = files, .n_fds = n, .stop_fd = STOP_FD};
	n_fds = n;
	said[0] = 0;
	return zygote_start_worker(by, &order, ret, diag);
}

void expect_forked(size_t n)
{
	struct child child = {.pid = 0, .sock = -1};
	unsigned before = n_started;
	assert_int_equal(order_worker(&zygote, n, &child, NULL), 0);
	const struct made_process *worker = &processes[n_processes - 1];
	assert_string_equal(said, "");
	assert_int_equal(n_started, before);
	assert_int_equal(child.pid, worker->pid);
	assert_int_equal(worker->group, worker->pid);
	if (worker->sock >= 0) {
		char byte = 0;
		assert_int_equal(send(child.sock, &byte, 1, MSG_NOSIGNAL), 1);
		assert_int_equal(recv(worker->sock, &byte, 1, MSG_DONTWAIT), 1);
	}
	close(child.sock);
}

void expect_started(const char *reason, size_t n)
{
	struct child child = {.pid = 0, .sock = -1};
	char want[sizeof(said)];
	unsigned before = n_started;
	snprintf(want, sizeof(want), "cannot fork a worker: %s; starting one", reason);
	assert_int_equal(order_worker(&zygote, n, &child, NULL), 0);
	assert_string_equal(said, want);
	assert_int_equal(n_started, before + 1);
	assert_int_equal(child.pid, STARTED_PID);
	assert_int_equal(child.sock, STARTED_SOCK);
}

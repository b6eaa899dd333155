/* Threads that receive requests: when another is started, what follows from errors, how they end. */
#define FUSE_USE_VERSION 312
#include "fs/sys/request_loop.h"
#include "fs/sys/signals.h"

#include <errno.h>
#include <linux/fuse.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <fuse_lowlevel.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_log.h"
#include "tests/unit/wrap_malloc.h"

enum { HANGS_AFTER_SECONDS = 60 };

/* Opcodes of the test's own: what the session does with a request. */
enum {
	MEETING = 1000, /* waits until as many are served at the same time as is wanted */
	LEAVING,        /* the session exits */
	LOOKING,        /* notes what there is while it is served */
};

static int device[2]; /* the session's, and ours */
static atomic_bool exited, exits_at_init, leaves_last;
static struct request_loop loop;
static struct parallel parallel;
static struct readers readers;
static struct log one_log = {.most = LOG_LEVEL_WARNING};
static atomic_bool interrupted;
static atomic_uint readies, served, forgets;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t met = PTHREAD_COND_INITIALIZER;
static unsigned inside, inside_wanted;

static unsigned back_offs[32], n_back_offs, polls;
static int polled;

/* What was seen by LOOKING. */
static unsigned long readers_seen;
static unsigned threads_seen;
static pthread_t thread_seen;

ssize_t __real_read(int fd, void *to, size_t size);
int __real_nanosleep(const struct timespec *request, struct timespec *left);

/* A request, or an int: an errno. */
ssize_t __wrap_read(int fd, void *to, size_t size)
{
	int err;
	ssize_t n = __real_read(fd, to, size);
	if (fd != device[0] || n != sizeof(err))
		return n;
	memcpy(&err, to, sizeof(err));
	errno = err;
	return err ? -1 : 1; /* 0: a request that is too short */
}

int __wrap_nanosleep(const struct timespec *request, struct timespec *left)
{
	unsigned ms = (unsigned)(request->tv_sec * 1000 + request->tv_nsec / 1000000);
	pthread_mutex_lock(&lock);
	if (n_back_offs < sizeof(back_offs) / sizeof(*back_offs))
		back_offs[n_back_offs++] = ms;
	pthread_mutex_unlock(&lock);
	return __real_nanosleep(&(struct timespec){.tv_nsec = 1000000}, left);
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int ms)
{
	assert_int_equal(n, 1);
	assert_int_equal(fds->fd, device[0]);
	assert_int_equal(fds->events, POLLIN);
	assert_int_equal(ms, 2000);
	polls++;
	return polled;
}

int __wrap_fuse_session_fd(struct fuse_session *session)
{
	assert_ptr_equal(session, &loop);
	return device[0];
}

int __wrap_fuse_session_exited(struct fuse_session *session)
{
	assert_ptr_equal(session, &loop);
	return atomic_load(&exited);
}

void __wrap_fuse_session_exit(struct fuse_session *session)
{
	assert_ptr_equal(session, &loop);
	atomic_store(&exited, true);
}

static void meet(void)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += HANGS_AFTER_SECONDS;
	pthread_mutex_lock(&lock);
	inside++;
	pthread_cond_broadcast(&met);
	while (inside < inside_wanted)
		assert_int_equal(pthread_cond_timedwait(&met, &lock, &until), 0);
	pthread_mutex_unlock(&lock);
}

/* Until all others wait for a request. */
static void leave_last(void)
{
	for (unsigned i = 0; i < atomic_load(&loop.n); i++)
		while (!pthread_equal(loop.receivers[i].thread, pthread_self()) &&
		       !atomic_load(&loop.receivers[i].reading))
			__real_nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void look(void)
{
	readers_seen = readers.inside[0] + readers.inside[1];
	threads_seen = atomic_load(&loop.n);
	thread_seen = pthread_self();
}

void __wrap_fuse_session_process_buf(struct fuse_session *session, const struct fuse_buf *buf)
{
	struct fuse_in_header head;
	assert_ptr_equal(session, &loop);
	assert_true(buf->size >= sizeof(head));
	memcpy(&head, buf->mem, sizeof(head));
	if (head.opcode == FUSE_FORGET || head.opcode == FUSE_BATCH_FORGET) {
		look();
		atomic_fetch_add(&forgets, 1);
	} else if (head.opcode == MEETING) {
		meet();
	} else if (head.opcode == LEAVING || (head.opcode == FUSE_INIT && exits_at_init)) {
		if (leaves_last)
			leave_last();
		atomic_store(&exited, true);
	} else if (head.opcode == LOOKING) {
		look();
	}
	atomic_fetch_add(&served, 1);
}

static void note_ready(void *user)
{
	assert_ptr_equal(user, &loop);
	atomic_fetch_add(&readies, 1);
}

/* ---- A loop ---- */

static int threads_left = -1; /* that can be started; negative: as many as wanted */

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg);

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	if (threads_left == 0)
		return EAGAIN;
	threads_left -= threads_left > 0;
	return __real_pthread_create(ret, attr, run, arg);
}

static int set_up(void **state)
{
	(void)state;
	memset(&loop, 0, sizeof(loop));
	memset(&parallel, 0, sizeof(parallel));
	memset(&readers, 0, sizeof(readers));
	loop.session = (struct fuse_session *)&loop;
	loop.parallel = &parallel;
	loop.readers = &readers;
	loop.log = &one_log;
	loop.interrupted = &interrupted;
	loop.ready = note_ready;
	loop.user = &loop;
	exited = exits_at_init = leaves_last = interrupted = false;
	readies = served = forgets = inside = n_back_offs = polls = 0;
	logged[0] = 0;
	polled = 0;
	signals_block();
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, device);
}

static int tear_down(void **state)
{
	(void)state;
	request_loop_deinit(&loop);
	assert_int_equal(live, 0);
	return close(device[0]) || close(device[1]);
}

static void request(unsigned opcode)
{
	const struct {
		struct fuse_in_header head;
		struct fuse_init_in init;
	} message = {.head = {.opcode = opcode, .unique = 7, .len = sizeof(message)}, .init.flags = 5};
	assert_int_equal(write(device[1], &message, sizeof(message)), sizeof(message));
}

/* Nothing but a header. */
static void short_request(unsigned opcode)
{
	const struct fuse_in_header head = {.opcode = opcode, .len = sizeof(head)};
	assert_int_equal(write(device[1], &head, sizeof(head)), sizeof(head));
}

static void read_error(int err)
{
	assert_int_equal(write(device[1], &err, sizeof(err)), sizeof(err));
}

static void begin(unsigned threads)
{
	assert_int_equal(request_loop_init(&loop, threads), 0);
	atomic_store(&parallel.ready, true);
	request(FUSE_INIT);
}

static int run(void)
{
	signals_accept_wake();
	return request_loop_run(&loop);
}

/* ---- Memory ---- */

static unsigned buffers(void)
{
	unsigned n = 0;
	while (n < REQUEST_THREADS_MAX && loop.receivers[n].buffer)
		n++;
	for (unsigned i = n; i < REQUEST_THREADS_MAX; i++)
		assert_null(loop.receivers[i].buffer);
	return n;
}

TEST(memory)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(request_data_max(), 256 * page);
	assert_int_equal(request_loop_init(&loop, 3), 0);
	assert_int_equal(buffers(), 3);
	assert_int_equal(loop.buffer_size, 256 * page + 4096);
	assert_int_equal(tear_down(state) || set_up(state), 0);
	assert_int_equal(request_loop_init(&loop, 100), 0);
	assert_int_equal(buffers(), REQUEST_THREADS_MAX);
	assert_int_equal(tear_down(state) || set_up(state), 0);
	allowed = 2;
	assert_int_equal(request_loop_init(&loop, 3), -ENOMEM);
	allowed = -1;
	assert_int_equal(buffers(), 2);
}

/* ---- Threads ---- */

enum { THREADS = 4 }; /* the second may receive a request while the first still starts it */

/* When the next request is read, INIT was served, and all threads run. */
static void begin_at_once(void)
{
	begin(THREADS);
	inside_wanted = THREADS;
	for (unsigned i = 0; i < THREADS; i++)
		request(MEETING);
}

/* As many requests are served at the same time as there are buffers; each waits for the others. */
TEST(at_once)
{
	begin_at_once();
	leaves_last = true;
	request(LEAVING);
	assert_int_equal(run(), 0);
	assert_int_equal(inside, THREADS);
	assert_int_equal(served, THREADS + 2);
	assert_int_equal(loop.n, THREADS);
	assert_int_equal(loop.idle, THREADS);
	assert_int_equal(readies, 1);
	assert_string_equal(logged, "");
	assert_int_equal(parallel.init_unique, 7);
	assert_int_equal(parallel.init_flags, 5);
	assert_int_equal(readers.inside[0] + readers.inside[1], 0);
}

/* The first thread starts another when it receives a request, but not for what is over at once. */
TEST(when_another_starts)
{
	static const unsigned opcodes[] = {FUSE_FORGET, FUSE_BATCH_FORGET};
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
		assert_int_equal(request_loop_init(&loop, 3), 0);
		atomic_store(&parallel.ready, true);
		request(opcodes[i]);
		request(LEAVING);
		assert_int_equal(run(), 0);
		assert_int_equal(forgets, 1);
		assert_int_equal(threads_seen, 1);
		assert_int_equal(readers_seen, 1);
		assert_int_equal(loop.n, 2); /* for the last one */
		assert_int_equal(loop.idle, 2);
		assert_int_equal(tear_down(state) || set_up(state), 0);
	}
}

TEST(one_thread)
{
	begin(1);
	request(LOOKING);
	request(LEAVING);
	assert_int_equal(run(), 0);
	assert_int_equal(threads_seen, 1);
	assert_true(pthread_equal(thread_seen, pthread_self()));
	assert_int_equal(served, 3);
}

/* Those that there are do. */
TEST(no_more_threads)
{
	begin(3);
	request(LOOKING);
	request(LEAVING);
	threads_left = 1;
	int err = run();
	threads_left = -1;
	assert_int_equal(err, 0);
	assert_int_equal(loop.n, 1);
	assert_int_equal(loop.idle, 1);
	assert_int_equal(served, 3);
	assert_int_equal(tear_down(state) || set_up(state), 0);
	begin(3);
	threads_left = 0;
	err = run();
	threads_left = -1;
	assert_int_equal(err, -EAGAIN);
	assert_string_equal(logged, "E cannot start a thread: Resource temporarily unavailable\n");
}

/* ---- The connection ---- */

TEST(refused)
{
	begin(1);
	atomic_store(&parallel.ready, false);
	assert_int_equal(run(), -EPROTO);
	assert_int_equal(readies, 0);
	assert_string_equal(logged, "E the connection to the kernel cannot be initialised\n");
	assert_true(exited);
}

/* libfuse refuses INIT by ending the session, as a signal does. */
TEST(exits_meanwhile)
{
	for (int by_signal = 0; by_signal < 2; by_signal++) {
		begin(1);
		exits_at_init = true;
		atomic_store(&interrupted, by_signal);
		assert_int_equal(run(), by_signal ? 0 : -EPROTO);
		assert_int_equal(readies, 0);
		assert_string_equal(
			logged, by_signal ? "" : "E the connection to the kernel cannot be initialised\n");
		assert_int_equal(tear_down(state) || set_up(state), 0);
	}
}

/* ---- Errors ---- */

TEST(unmounted)
{
	begin_at_once();
	read_error(ENODEV);
	assert_int_equal(run(), -ENODEV);
	assert_int_equal(served, THREADS + 1);
	assert_true(exited);
	assert_string_equal(logged, "");
}

/* Of what is over at once nothing is said. */
TEST(again)
{
	begin(1);
	read_error(EINTR);
	read_error(ENOENT);
	short_request(LEAVING);
	assert_int_equal(run(), 0);
	assert_int_equal(served, 2);
	assert_int_equal(n_back_offs, 0);
	assert_string_equal(logged, "");
}

/* Short of memory it is tried again, later and later, without end. */
TEST(shortage)
{
	static const int errors[] = {ENOMEM, ENOBUFS, EAGAIN};
	begin(1);
	for (unsigned i = 0; i < 20; i++)
		read_error(errors[i % 3]);
	request(LOOKING);
	read_error(ENOMEM); /* counts anew */
	request(LEAVING);
	assert_int_equal(run(), 0);
	assert_int_equal(served, 3);
	assert_int_equal(n_back_offs, 21);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(back_offs[i], i < 10 ? 1U << i : 1000);
	assert_int_equal(back_offs[20], 1);
	assert_int_equal(polls, 0);
	assert_string_equal(logged, "W cannot read a request: Cannot allocate memory; trying again\n"
				    "W cannot read a request: Cannot allocate memory; trying again\n");
}

/* A few requests that are too short may be; then the device is broken. */
TEST(short_reads)
{
	begin(1);
	for (unsigned i = 0; i < 16; i++)
		read_error(0);
	request(LEAVING);
	assert_int_equal(run(), 0);
	assert_int_equal(served, 2);
	assert_int_equal(tear_down(state) || set_up(state), 0);
	begin(1);
	for (unsigned i = 0; i < 17; i++)
		read_error(0);
	assert_int_equal(run(), -EIO);
	assert_int_equal(n_back_offs, 16);
	assert_string_equal(logged, "W cannot read a request: Input/output error; trying again\n"
				    "E cannot read requests: Input/output error\n");
}

TEST(broken)
{
	begin(1);
	read_error(EPERM);
	assert_int_equal(run(), -EPERM);
	assert_string_equal(logged, "E cannot read requests: Operation not permitted\n");
	assert_true(exited);
}

/* INIT is sent once: when it cannot be received and nothing comes, it is lost. */
TEST(init_lost)
{
	assert_int_equal(request_loop_init(&loop, 1), 0);
	read_error(ENOMEM);
	assert_int_equal(run(), -EPROTO);
	assert_string_equal(logged, "W cannot read a request: Cannot allocate memory; trying again\n"
				    "E the request INIT is lost\n");
	assert_int_equal(polls, 1);
	assert_int_equal(tear_down(state) || set_up(state), 0);
	assert_int_equal(request_loop_init(&loop, 1), 0);
	polled = 1;
	atomic_store(&parallel.ready, true);
	read_error(ENOMEM);
	request(FUSE_INIT);
	request(LEAVING);
	assert_int_equal(run(), 0);
	assert_int_equal(polls, 1);
	assert_int_equal(readies, 1);
}

EACH_TEST(set_up, tear_down)

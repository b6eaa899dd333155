/*
 * A credit of milliseconds, which grows slowly, bounds what hostile names cost whichever way they do it: slow
 * names, deaths of the process and waiting take from it, and no name is asked for while it is used up. Names
 * that take the library's usual microseconds are free.
 */
#include "work/swift/swift_names.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "gsym/render/demangle/demangle.h"
#include "work/os/monotonic.h"
#include "work/os/mutex.h"
#include "work/worker/child.h"

enum {
	CREDIT_MS = 500,
	GAIN = 100,         /* milliseconds until it grows by one */
	FREE_CPU_US = 1000, /* of a name's processor time */
	FREE_WAIT_MS = 100, /* the process may have to wait for a processor */
	NAME_WAIT_MS = 300, /* it ends itself after 20 ms of processor time */
	START_WAIT_MS = 3000,
	REST_MS = 60000, /* without a library */
	REFUSED = 64,
};

static const char variable[] = "GSYMFS_SWIFT_DEMANGLE";

static const char *const places[] = {
	"/usr/libexec/swift/lib/libswiftDemangle.so", /* Debian */
	"/usr/lib/libswiftDemangle.so",               /* archives of swift.org, unpacked at the root */
	"/usr/lib64/libswiftDemangle.so",
	"/usr/lib/swift/lib/libswiftDemangle.so",
	"/usr/local/lib/libswiftDemangle.so",
	"/opt/swift/usr/lib/libswiftDemangle.so",
	"/opt/swift/lib/libswiftDemangle.so",
};

static struct {
	const char *program;
	int stop_fd;
	struct mutex lock; /* guards what follows */
	struct child child;
	clockid_t clock;           /* of the child's processor time */
	int64_t credit_at;         /* of monotonic_ms(): when the credit was CREDIT_MS, or is going to be */
	uint64_t refused[REFUSED]; /* hashes of names that were not answered; a name has one place */
} swift;

/* ---- Credit ---- */

static bool has_credit(void)
{
	return swift.credit_at - monotonic_ms() < (int64_t)CREDIT_MS * GAIN;
}

static void spend(int64_t ms)
{
	int64_t now = monotonic_ms();
	swift.credit_at = (swift.credit_at > now ? swift.credit_at : now) + ms * GAIN;
}

/* ---- The process ---- */

static const char *find_library(void)
{
	const char *own = getenv(variable);
	if (own)
		return *own && strlen(own) < WORKER_NAME_MAX ? own : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (access(places[i], R_OK) == 0)
			return places[i];
	return NULL;
}

/*
 * Sends a packet, and receives one of WORKER_TEXT_MAX bytes at most: its size; 0 if the process has ended; or
 * a negative errno.
 */
static ssize_t exchange(const char *packet, size_t size, char *ret, int64_t deadline)
{
	if (send(swift.child.sock, packet, size, MSG_NOSIGNAL) < 0)
		return 0;
	int err = child_wait(&swift.child, swift.stop_fd, deadline);
	ssize_t n = err ? err : recv(swift.child.sock, ret, WORKER_TEXT_MAX, 0);
	return err || n > 0 ? n : 0;
}

/* Returns the status of wait4(2), which is what it was if the process has ended already. */
static int end_process(void)
{
	if (!swift.child.pid)
		return 0;
	child_kill(&swift.child);
	return child_finish(&swift.child, NULL);
}

/* Without a library, or with one that cannot be loaded, it is not tried again for a minute. */
static bool start_process(char *scratch)
{
	const struct child_order order = {
		.program = swift.program, .mode = "swift", .stop_fd = swift.stop_fd};
	const char *library = find_library();
	const int64_t begin = monotonic_ms(), deadline = begin + START_WAIT_MS;
	union worker_message msg;
	bool ok = library && child_spawn(&order, &swift.child, NULL) == 0 &&
		  child_receive(&swift.child, swift.stop_fd, deadline, &msg) == 1 &&
		  msg.head.type == WORKER_READY && msg.ready.protocol == WORKER_PROTOCOL &&
		  exchange(library, strlen(library), scratch, deadline) > 0 &&
		  clock_getcpuclockid(swift.child.pid, &swift.clock) == 0;
	spend(ok ? monotonic_ms() - begin : CREDIT_MS + REST_MS / GAIN);
	if (!ok)
		end_process();
	return ok;
}

/* It may have ended between two names: it dies with the thread that has started it. */
static bool ensure_process(char *scratch)
{
	struct pollfd end = {.fd = swift.child.sock, .events = POLLIN};
	if (swift.child.pid && poll(&end, 1, 0) == 0)
		return true;
	end_process();
	return start_process(scratch);
}

static int64_t process_us(void)
{
	struct timespec t;
	return clock_gettime(swift.clock, &t) ? 0 : (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- Names ---- */

/* Sends a name and receives its text; returns what exchange() does. */
static ssize_t ask(const char *name, size_t size, char *ret)
{
	const int64_t begin = monotonic_ms(), used = process_us();
	ssize_t n = exchange(name, size, ret, begin + NAME_WAIT_MS);
	const int64_t waited = monotonic_ms() - begin, cpu = n > 0 ? process_us() - used : 0;
	if (n <= 0 || waited > FREE_WAIT_MS)
		spend(waited);
	else if (cpu > FREE_CPU_US)
		spend(cpu / 1000);
	return n;
}

/* The size of the text, or 0. A process that was killed from outside is no fault of the name. */
static size_t demangle(const char *name, size_t size, char *ret)
{
	const uint64_t hash = XXH3_64bits(name, size);
	uint64_t *refused = &swift.refused[hash % REFUSED];
	for (int tries = 0; tries < 2 && *refused != hash && ensure_process(ret); tries++) {
		ssize_t n = ask(name, size, ret);
		if (n > 0)
			return (size_t)n;
		int status = end_process();
		if (n < 0 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
			*refused = hash;
	}
	return 0;
}

static bool append(struct text_buf *out, const char *name)
{
	const size_t size = strlen(name);
	size_t n = 0;
	mutex_lock(&swift.lock);
	if (size <= WORKER_NAME_MAX && has_credit() && text_reserve(out, WORKER_TEXT_MAX))
		n = demangle(name, size, out->v + out->n);
	mutex_unlock(&swift.lock);
	const char *text = out->v + out->n;
	if (!n || memchr(text, 0, n) || (n == size && memcmp(text, name, n) == 0))
		return false;
	out->n += n;
	return true;
}

void swift_names_begin(const char *program, int stop_fd)
{
	mutex_init(&swift.lock, LOCK_SWIFT);
	swift.program = program;
	swift.stop_fd = stop_fd;
	demangle_set_swift(append);
}

void swift_names_end(void)
{
	demangle_set_swift(NULL);
	end_process();
	mutex_destroy(&swift.lock);
}

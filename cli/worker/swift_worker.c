#include "cli/worker/worker_commands.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "work/sandbox/sandbox.h"
#include "work/worker/worker.h"

enum {
	MEMORY = 64 << 20,
	TICK_US = 10000, /* of processor time: a name gets between one and two of them */
};

/* The size of the text, which is cut at @size; 0 for what is no name. SwiftDemangle.h of the toolchain. */
typedef size_t demangle_function(const char *name, char *text, size_t size);

static volatile sig_atomic_t names;

/* A name that was there at the tick before has taken all its time. */
static void on_tick(int sig)
{
	static sig_atomic_t before = -1;
	(void)sig;
	if (before == names)
		_exit(1);
	before = names;
}

/* No call sets the timer again for each name, so that the sandbox need not allow it. */
static int limit_names(void)
{
	const struct itimerval ticks = {{0, TICK_US}, {0, TICK_US}};
	struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	return sigaction(SIGPROF, &action, NULL) || setitimer(ITIMER_PROF, &ticks, NULL);
}

static demangle_function *load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return library ? (demangle_function *)dlsym(library, "swift_demangle_getDemangledName") : NULL;
}

int work_swift(void)
{
	static char name[WORKER_NAME_MAX + 1], text[WORKER_TEXT_MAX + 1];
	ssize_t size = read(WORKER_SOCKET_FD, name, WORKER_NAME_MAX);
	demangle_function *demangle = size > 0 ? load(name) : NULL;
	if (!demangle || sandbox_limits(MEMORY, 0, 0) || limit_names())
		return 1;
	sandbox_enter(getppid());
	const char *answer = name;
	size_t n = (size_t)size;
	while (write(WORKER_SOCKET_FD, answer, n) > 0 &&
	       (size = read(WORKER_SOCKET_FD, name, WORKER_NAME_MAX)) > 0) {
		name[size] = 0;
		names++;
		n = demangle(name, text, sizeof(text));
		answer = n && n < sizeof(text) ? text : name;
		n = answer == text ? n : (size_t)size;
	}
	return 0;
}

#include "cli/command/stop_signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* A signal that is ignored, as by nohup(1), must stay so: it can be read as a descriptor all the same. */
static void add_stop(sigset_t *stops, int number)
{
	struct sigaction action;
	if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
		sigaddset(stops, number);
}

int stop_signals_block(struct stop_signals *ret)
{
	sigset_t stops;
	sigemptyset(&stops);
	add_stop(&stops, SIGINT);
	add_stop(&stops, SIGTERM);
	add_stop(&stops, SIGHUP);
	sigprocmask(SIG_BLOCK, &stops, &ret->before);
	ret->fd = signalfd(-1, &stops, SFD_CLOEXEC);
	return ret->fd < 0 ? -errno : 0;
}

void stop_signals_restore(struct stop_signals *signals)
{
	if (signals->fd >= 0)
		close(signals->fd);
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

/*
 * Order matters. Threads are started after the daemon has forked to the background, since they would not
 * survive the fork, and signals are blocked before, so that only the signal thread receives them. At the end
 * parked requests are failed while libfuse still serves: an unmount waits for them.
 */
#include "fs/gsymfs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "fs/answer/stream.h"
#include "fs/images/catalogue.h"
#include "fs/sys/mountpoint.h"
#include "fs/sys/request_loop.h"
#include "fs/tree/ops.h"
#include "gsym/base/diag.h"
#include "work/os/beneath.h"

/* Threads that wait for the shared store while others convert; as many as it transfers at once. */
enum { STORE_WAITERS = 8 };

static int add_option(struct fuse_args *args, const char *name, const char *value)
{
	char *list = NULL, *option = NULL;
	int err = asprintf(&option, "%s%s", name, value) < 0 || fuse_opt_add_opt_escaped(&list, option) ||
		  fuse_opt_add_arg(args, "-o") || fuse_opt_add_arg(args, list);
	free(option);
	free(list);
	return err ? -ENOMEM : 0;
}

int session_make(struct gsymfs *fs, struct gsym_diag *diag)
{
	struct options *o = &fs->options;
	int err = o->debug ? add_option(&o->fuse, "debug", "") : 0;
	if (!err && !o->has_fsname)
		err = add_option(&o->fuse, "fsname=", fs->source_names);
	if (!err)
		err = add_option(&o->fuse, "subtype=", "gsymfs");
	if (err)
		return diag_set(diag, err, "no memory");
	fs->session = fuse_session_new(&o->fuse, &gsymfs_ops, sizeof(gsymfs_ops), &fs->tree);
	if (!fs->session)
		return diag_set(diag, -EINVAL, "libfuse rejected an option, see above");
	return 0;
}

/* Fails all parked calls with ENOTCONN, and later ones likewise; joins the threads that calls wait for. */
static void stop_calls(struct gsymfs *fs)
{
	struct list woken;
	list_init(&woken);
	mutex_lock(&fs->images.lock);
	queue_stop(&fs->queue);
	runners_stop(&fs->runners, &woken);
	background_stop(&fs->answers.names, &woken);
	background_stop(&fs->answers.tables, &woken);
	streams_wake_all(&fs->answers, &woken);
	images_wake_all(&fs->images, &woken);
	mutex_assert_held(&fs->remote.images->lock); /* the same */
	remote_stop(&fs->remote, &woken);
	mutex_unlock(&fs->images.lock);
	calls_end(&woken, -ENOTCONN);
	runners_join(&fs->runners);
	background_join(&fs->answers.names);
	background_join(&fs->answers.tables);
	queue_join(&fs->queue);
	if (fs->share)
		fs->converter.store->stop(fs->share);
	remote_join(&fs->remote);
}

/*
 * Stops workers and threads, and fails the parked calls. May be called again. On a signal it is called while
 * requests are still served.
 */
static void stop_threads(void *arg)
{
	struct gsymfs *fs = arg;
	if (eventfd_write(fs->stop_fd, 1))
		log_error(&fs->log, "cannot stop the workers: %s", strerror(errno));
	stop_calls(fs);
	scanner_stop(&fs->scanner);
	watchdog_stop(&fs->watchdog);
}

/* SIGHUP looks for changes in SOURCE: nothing else that was read at the start can change. */
static void answer_signal(void *arg, int sig)
{
	struct gsymfs *fs = arg;
	if (sig == SIGUSR1)
		state_log(fs);
	else
		scanner_request(&fs->scanner);
}

static int start_threads(struct gsymfs *fs)
{
	fs->signals = (struct signals){
		.session = fs->session,
		.ending = stop_threads,
		.asked = answer_signal,
		.user = fs,
		.on_terminal = fs->options.foreground && isatty(STDERR_FILENO),
	};
	int err = runners_start(&fs->runners);
	if (!err)
		err = background_start(&fs->answers.names);
	if (!err)
		err = background_start(&fs->answers.tables);
	if (!err && fs->share)
		err = fs->converter.store->start(fs->share);
	if (!err)
		err = queue_start(&fs->queue, fs->options.jobs + (fs->converter.share ? STORE_WAITERS : 0));
	if (!err)
		err = remote_start(&fs->remote);
	if (!err)
		err = scanner_start(&fs->scanner);
	fs->watchdog = (struct watchdog){.mountpoint = fs->mountpoint, .stop_fd = fs->stop_fd};
	if (!err)
		err = watchdog_start(&fs->watchdog);
	return err ? err : signals_start(&fs->signals); /* last: a signal stops the others */
}

/* Nothing is lost by it but time, as long as the filter is not one that takes more than its author meant. */
static void tell_refusal(const struct gsymfs *fs)
{
	int err = beneath_refused();
	if (err)
		log_warning(&fs->log,
			    "openat2(2) is refused: %s: paths are walked step by step; permit it in the "
			    "filter of "
			    "system calls (systemd: no RestrictSUIDSGID=)",
			    strerror(-err));
}

/*
 * The kernel has ended the connection. After an unmount nothing is left; after an abort the mount is, and
 * each use of it fails: it is detached, and the error has a service manager start the daemon again.
 */
static int end_of_connection(const struct gsymfs *fs)
{
	int n = mountpoint_detach_dead(fs->mountpoint);
	if (n == 0)
		return 0;
	log_error(&fs->log,
		  "%s: the connection to the kernel was aborted, as by umount -f or through "
		  "/sys/fs/fuse/connections; the mount %s%s",
		  fs->mountpoint, n < 0 ? "cannot be detached: " : "is detached", n < 0 ? strerror(-n) : "");
	return -ECONNABORTED;
}

/* Serves until a signal or an unmount; 0 after either. */
static int serve(struct gsymfs *fs, struct request_loop *loop)
{
	int err = start_threads(fs);
	if (err) {
		log_error(&fs->log, "cannot start a thread: %s", strerror(-err));
	} else {
		err = request_loop_run(loop);
		if (err == -ENODEV)
			err = end_of_connection(fs);
	}
	signals_stop(&fs->signals);
	service_notify("STOPPING=1");
	stop_threads(fs); /* after an unmount; a signal has done it already */
	state_log_end(fs);
	return err;
}

__attribute__((format(printf, 2, 0))) static void libfuse_to_syslog(enum fuse_log_level level,
								    const char *fmt, va_list args)
{
	vsyslog((int)level, fmt, args); /* the same levels */
}

static int go_to_background(struct gsymfs *fs)
{
	int err = starter_leave(&fs->starter);
	if (err) {
		log_error(&fs->log, "cannot go to the background: %s", strerror(-err));
		return err;
	}
	log_use_syslog(&fs->log);
	fuse_set_log_func(libfuse_to_syslog);
	return 0;
}

static void ready(void *arg)
{
	const struct gsymfs *fs = arg;
	log_info(&fs->log, "serving '%s' at '%s', cache '%s'", fs->source_names, fs->mountpoint,
		 fs->cache.path);
	tell_refusal(fs);
	starter_serving(&fs->starter);
	service_notify("READY=1");
}

static int mount_and_serve(struct gsymfs *fs, struct request_loop *loop)
{
	struct fuse_session *session = fs->session;
	if (fuse_session_mount(session, fs->mountpoint))
		return -EIO; /* logged by libfuse */
	fs->tree.session = session;
	clock_gettime(CLOCK_REALTIME, &fs->tree.mounted_at);
	int err = parallel_install(session);
	if (!err && !fs->options.foreground)
		err = go_to_background(fs);
	if (!err)
		err = serve(fs, loop);
	fuse_session_unmount(session);
	return err;
}

int session_run(struct gsymfs *fs)
{
	struct request_loop loop = {
		.session = fs->session,
		.parallel = &fs->tree.parallel,
		.log = &fs->log,
		.interrupted = &fs->signals.taken,
		.readers = &fs->images.readers,
		.ready = ready,
		.user = fs,
	};
	signals_block();
	int err = request_loop_init(&loop, fs->options.single_thread ? 1 : REQUEST_THREADS_MAX);
	if (err)
		log_error(&fs->log, "no memory for requests");
	else
		err = mount_and_serve(fs, &loop);
	request_loop_deinit(&loop);
	return err;
}

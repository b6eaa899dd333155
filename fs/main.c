/*
 * gsymfs: start, serve, stop.
 *
 * Everything that can be wrong with the arguments is found before the daemon leaves its starter; the starter
 * exits with 0 only when the file system is mounted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "../gsym/base/diag.h"
#include "child.h"
#include "gsymfs.h"
#include "guard.h"
#include "mountpoint.h"
#include "ops.h"

enum exit_status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
};

/* ---- Before the mount ---- */

static int find_source(struct gsymfs *fs, struct gsym_diag *diag)
{
	struct stat st;
	fs->source = realpath(fs->options.source, NULL);
	if (!fs->source || stat(fs->source, &st))
		return diag_set(diag, -errno, "source '%s': %s", fs->options.source, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return diag_set(diag, -ENOTDIR, "source '%s': not a directory", fs->options.source);
	return 0;
}

/* Where the gsym program may be, seen from our own: installed, in libexec, in the build tree. */
static char *find_worker(void)
{
	static const char *const places[] = {"gsym", "../bin/gsym", "../libexec/gsymfs/gsym",
					     "../convert/cli/gsym"};
	char self[4096], path[4200];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return NULL;
	self[n] = 0;
	*strrchr(self, '/') = 0;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "%s/%s", self, places[i]);
		if (access(path, X_OK) == 0)
			return realpath(path, NULL);
	}
	return NULL;
}

/* A worker that does not start would make every image fail: better to say so now. */
static int check_worker(struct gsymfs *fs, struct gsym_diag *diag)
{
	if (fs->options.worker)
		fs->worker = realpath(fs->options.worker, NULL);
	else
		fs->worker = find_worker();
	if (!fs->worker)
		return diag_set(diag, -ENOENT, "cannot find the gsym program '%s': set -o worker=PATH",
				fs->options.worker ? fs->options.worker : "gsym");
	const struct child_order order = {
		.program = fs->worker,
		.mode = "scan",
		.fds = &fs->cache.dir,
		.n_fds = 1,
		.stop_fd = fs->stop_fd,
	};
	struct child child;
	int err = child_start(&order, &child, diag);
	if (!err)
		child_finish(&child, NULL);
	return err;
}

/*
 * Every mapped image, worker and walk takes descriptors; the usual soft limit is for programs that use
 * select(2).
 */
static void raise_fd_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void set_up_parts(struct gsymfs *fs)
{
	const struct options *o = &fs->options;
	notify_init(&fs->notify);
	images_init(&fs->images, &fs->notify);
	nodes_init(&fs->nodes);
	fs->converter = (struct converter){
		.source = fs->source,
		.worker = fs->worker,
		.cache = &fs->cache,
		.log = &fs->log,
		.memory = o->convert_memory,
		.seconds = o->convert_time,
		.threads = o->threads,
		.stop_fd = fs->stop_fd,
	};
	fs->scan = (struct scan){
		.source = fs->source,
		.mountpoint = fs->mountpoint,
		.worker = fs->worker,
		.images = &fs->images,
		.cache = &fs->cache,
		.log = &fs->log,
		.stop_fd = fs->stop_fd,
		.interval = o->rescan,
	};
	scan_init(&fs->scan);
	queue_init(&fs->queue, &fs->images, &fs->scan, &fs->converter);
}

static void tear_down_parts(struct gsymfs *fs)
{
	queue_deinit(&fs->queue);
	scan_deinit(&fs->scan);
	nodes_deinit(&fs->nodes);
	images_deinit(&fs->images);
	notify_deinit(&fs->notify);
}

/* ---- The session ---- */

static int add_option(struct fuse_args *args, const char *name, const char *value)
{
	char *list = NULL, *option = NULL;
	int err = asprintf(&option, "%s%s", name, value) < 0 || fuse_opt_add_opt_escaped(&list, option) ||
		  fuse_opt_add_arg(args, "-o") || fuse_opt_add_arg(args, list);
	free(option);
	free(list);
	return err ? -ENOMEM : 0;
}

static int make_session(struct gsymfs *fs, struct gsym_diag *diag)
{
	struct options *o = &fs->options;
	int err = o->debug ? add_option(&o->fuse, "debug", "") : 0;
	if (!err && !o->has_fsname)
		err = add_option(&o->fuse, "fsname=", fs->source);
	if (!err)
		err = add_option(&o->fuse, "subtype=", "gsymfs");
	if (err)
		return diag_set(diag, err, "no memory");
	fs->session = fuse_session_new(&o->fuse, &gsymfs_ops, sizeof(gsymfs_ops), fs);
	if (!fs->session)
		return diag_set(diag, -EINVAL, "libfuse refused an option, see above");
	return 0;
}

static int start_threads(struct gsymfs *fs)
{
	int err = notify_start(&fs->notify, fs->session);
	if (!err)
		err = queue_start(&fs->queue, fs->options.jobs);
	return err ? err : scan_start(&fs->scan);
}

/* Tells workers and threads that it is over, and answers whoever still waits. */
static void stop_threads(struct gsymfs *fs)
{
	if (eventfd_write(fs->stop_fd, 1))
		log_error(&fs->log, "cannot tell the workers to stop: %s", strerror(errno));
	queue_stop(&fs->queue);
	scan_stop(&fs->scan);
}

static int serve_requests(struct gsymfs *fs)
{
	if (fs->options.single_thread)
		return fuse_session_loop(fs->session);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	if (!config)
		return -ENOMEM;
	int result = fuse_session_loop_mt(fs->session, config);
	fuse_loop_cfg_destroy(config);
	return result;
}

/* Serves until a signal or an unmount; both are a good end. */
static int serve(struct gsymfs *fs)
{
	int err = start_threads(fs);
	if (err) {
		log_error(&fs->log, "cannot start a thread: %s", strerror(-err));
	} else {
		log_info(&fs->log, "serving '%s' at '%s', cache '%s'", fs->source, fs->mountpoint,
			 fs->cache.path);
		int result = serve_requests(fs);
		err = result < 0 ? result : 0;
		if (err)
			log_error(&fs->log, "cannot read requests: %s", strerror(-err));
	}
	service_notify("STOPPING=1");
	stop_threads(fs);
	return err;
}

static void libfuse_to_syslog(enum fuse_log_level level, const char *fmt, va_list args)
{
	vsyslog((int)level, fmt, args); /* the levels are those of syslog */
}

static int mount_and_serve(struct gsymfs *fs)
{
	struct fuse_session *session = fs->session;
	if (fuse_set_signal_handlers(session) || fuse_session_mount(session, fs->mountpoint) ||
	    parallel_install(session))
		return -EIO; /* libfuse has said why */
	clock_gettime(CLOCK_REALTIME, &fs->mounted_at);
	int err = fuse_daemonize(fs->options.foreground) ? -EIO : 0;
	if (!err && !fs->options.foreground) {
		log_use_syslog(&fs->log);
		fuse_set_log_func(libfuse_to_syslog);
	}
	if (!err) {
		service_notify("READY=1");
		err = serve(fs);
	}
	fuse_session_unmount(session);
	notify_stop(&fs->notify);
	fuse_remove_signal_handlers(session);
	return err;
}

/* ---- All of it ---- */

static int prepare(struct gsymfs *fs, struct gsym_diag *diag)
{
	int err = find_source(fs, diag);
	if (!err)
		err = mountpoint_prepare(fs->options.mountpoint, &fs->log, &fs->mountpoint, diag);
	if (!err)
		err = cache_open(&fs->cache, fs->options.cache, fs->options.cache_size, &fs->log, diag);
	if (!err)
		err = check_worker(fs, diag);
	if (!err && (err = guard_install()))
		diag_set(diag, err, "cannot install a signal handler: %s", strerror(-err));
	return err;
}

static int run(struct gsymfs *fs)
{
	struct gsym_diag diag = {""};
	raise_fd_limit();
	int err = prepare(fs, &diag);
	if (!err)
		err = make_session(fs, &diag);
	if (err) {
		log_error(&fs->log, "%s", diag.text);
		return err;
	}
	set_up_parts(fs);
	err = mount_and_serve(fs);
	fuse_session_destroy(fs->session);
	tear_down_parts(fs);
	return err;
}

static void release(struct gsymfs *fs)
{
	cache_close(&fs->cache);
	options_deinit(&fs->options);
	free(fs->source);
	free(fs->mountpoint);
	free(fs->worker);
	if (fs->stop_fd >= 0)
		close(fs->stop_fd);
}

static enum exit_status start(struct gsymfs *fs, int argc, char **argv)
{
	if (options_parse(argc, argv, &fs->options))
		return STATUS_USAGE;
	if (fs->options.show_help || fs->options.show_version) {
		fputs(fs->options.show_help ? options_help : "gsymfs " GSYMFS_VERSION "\n", stdout);
		return STATUS_OK;
	}
	fs->log.most = fs->options.debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
	fs->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fs->stop_fd < 0)
		return STATUS_FAILED;
	return run(fs) ? STATUS_FAILED : STATUS_OK;
}

int main(int argc, char **argv)
{
	struct gsymfs fs = {.stop_fd = -1};
	enum exit_status status = start(&fs, argc, argv);
	release(&fs);
	return (int)status;
}

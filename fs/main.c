/*
 * gsymfs: the daemon.
 *
 * What happens, in order, and where (paths below fs/):
 *
 * Start
 *   daemon_options.c          parses the command line
 *   setup.c                   checks SOURCE, mount point, cache and worker; connects the parts (gsymfs.h)
 *   session.c                 mounts, becomes a daemon, starts the threads, serves (sys/request_loop.c)
 *   sys/starter.c             has the starting process wait until the first scan has found files
 *
 * Scan
 *   scan/scanner.c            its thread: when to scan SOURCE; watch.c receives inotify events
 *   scan/scan_pass.c          one pass; dir_walk.c lists directories, index.c remembers identified files
 *   images/catalogue.c        adds the files found to their images
 *   images/revision.c         chooses the source of each image
 *
 * Request
 *   tree/ops*.c               the FUSE operations; tree_lookup.c, attr.c, open_file.c
 *   name/name.c               parses a name to a request; node.c has the inodes of addresses
 *   images/image_find.c       finds the image of an id
 *   call/call.c               parks the request if it has to wait
 *
 * Conversion
 *   convert/queue.c           its threads: open images from the cache, convert those that are not cached
 *   ../work/cache/         the cache directory and its open files
 *   ../work/run/           workers: starts them, serves their file requests, judges how they ended
 *
 * Answer
 *   answer/answer.c           addresses and symbols; batch_file.c: q, log_file.c: log, tsv_file.c: tables
 *   answer/background.c       its threads: indexes that take too long for a request (symbol_names.c)
 *   call/runners.c            its threads: continue requests that were parked, or outlast their slice
 *
 * Stop
 *   sys/signals.c             its thread: SIGTERM and SIGINT; SIGHUP scans, SIGUSR1 logs the status (state.c)
 *   session.c                 fails the parked requests, stops workers and threads, unmounts
 *   setup.c                   frees the parts
 *
 * Watched
 *   liveness.c                gsymfs --check, which systemd's watchdog has the daemon run, too
 *
 * Errors in the arguments are reported before the daemon goes to the background. The starting process exits
 * with 0 only when the file system is mounted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fs/gsymfs.h"
#include "fs/liveness.h"
#include "store/share/share.h"
#include "work/sandbox/sandbox.h"
#include "work/types/convert_revision.h"
#include "work/worker/child.h"

enum exit_status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
	/* liveness.h has others of --check */
};

static int run(struct gsymfs *fs)
{
	struct gsym_diag diag = {""};
	int err = setup_prepare(fs, &diag);
	if (!err)
		err = session_make(fs, &diag);
	if (err) {
		log_error(&fs->log, "%s", diag.text);
		return err;
	}
	setup_parts(fs);
	err = session_run(fs);
	fuse_session_destroy(fs->session);
	setup_undo(fs);
	return err;
}

static void free_resources(struct gsymfs *fs)
{
	if (fs->share)
		share_store.close(fs->share);
	cache_close(&fs->cache);
	fetcher_close(&fs->fetcher);
	options_deinit(&fs->options);
	for (size_t i = 0; i < fs->n_roots; i++)
		free(fs->roots[i].path);
	free(fs->source_names);
	free(fs->mountpoint);
	child_forget_program();
	free(fs->worker);
	free(fs->debug_dirs);
	if (fs->stop_fd >= 0)
		close(fs->stop_fd);
}

/* Opens closed standard streams, so that no other file gets their descriptors. */
static bool open_standard_streams(void)
{
	int fd;
	while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= STDERR_FILENO)
		;
	return fd >= 0 && close(fd) == 0;
}

static enum exit_status start(struct gsymfs *fs, int argc, char **argv)
{
	char revision[REVISION_TEXT_SIZE];
	int err = options_parse(argc, argv, &fs->options);
	if (err == -ENOMEM)
		fputs("gsymfs: out of memory\n", stderr);
	if (err)
		return err == -ENOMEM ? STATUS_FAILED : STATUS_USAGE;
	if (fs->options.show_help) {
		options_print_help(stdout);
		return STATUS_OK;
	}
	if (fs->options.show_version) {
		printf("gsymfs " GSYMFS_VERSION "\nsandbox of workers: %s\nconverter: %s\n", sandbox_layers(),
		       convert_revision_all(revision));
		return STATUS_OK;
	}
	if (fs->options.check)
		return (enum exit_status)liveness_check(fs->options.mountpoint);
	fs->log.most = fs->options.debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_EVENT;
	log_find_journal(&fs->log);
	fs->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fs->stop_fd < 0) {
		log_error(&fs->log, "cannot start: %s", strerror(errno));
		return STATUS_FAILED;
	}
	return run(fs) ? STATUS_FAILED : STATUS_OK;
}

int main(int argc, char **argv)
{
	struct gsymfs fs = {.stop_fd = -1, .starter = {-1}};
	enum exit_status status = STATUS_FAILED;
	if (open_standard_streams())
		status = start(&fs, argc, argv);
	else
		perror("gsymfs: /dev/null"); /* standard error is open, or there is none to tell */
	free_resources(&fs);
	return (int)status;
}

/*
 * gsymfs: start, serve, stop.
 *
 * Everything that can be wrong with the arguments is found before the daemon leaves its starter; the starter
 * exits with 0 only when the file system is mounted (starter.h).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fs/gsymfs.h"
#include "fs/session.h"
#include "fs/setup.h"

enum exit_status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
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

static void release(struct gsymfs *fs)
{
	cache_close(&fs->cache);
	shared_dir_close(&fs->shared);
	fetcher_close(&fs->fetcher);
	options_deinit(&fs->options);
	free(fs->source);
	free(fs->mountpoint);
	free(fs->worker);
	free(fs->debug_dirs);
	if (fs->stop_fd >= 0)
		close(fs->stop_fd);
}

/* Nothing that is opened later may take the place of a standard stream that the starter closed. */
static bool hold_standard_streams(void)
{
	int fd;
	while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= STDERR_FILENO)
		;
	return fd >= 0 && close(fd) == 0;
}

static enum exit_status start(struct gsymfs *fs, int argc, char **argv)
{
	if (options_parse(argc, argv, &fs->options))
		return STATUS_USAGE;
	if (fs->options.show_help) {
		options_print_help(stdout);
		return STATUS_OK;
	}
	if (fs->options.show_version) {
		puts("gsymfs " GSYMFS_VERSION);
		return STATUS_OK;
	}
	fs->log.most = fs->options.debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
	log_find_journal(&fs->log);
	fs->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fs->stop_fd < 0)
		return STATUS_FAILED;
	return run(fs) ? STATUS_FAILED : STATUS_OK;
}

int main(int argc, char **argv)
{
	struct gsymfs fs = {.stop_fd = -1, .starter = {-1}};
	enum exit_status status = hold_standard_streams() ? start(&fs, argc, argv) : STATUS_FAILED;
	release(&fs);
	return (int)status;
}

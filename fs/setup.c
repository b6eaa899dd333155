/*
 * Checks first: everything that can be wrong with the arguments is reported before the mount, when the user
 * still reads standard error. Then parts are connected from the bottom up: each gets pointers to those below
 * it, and hooks (functions with an object) for what it needs from above.
 */
#include "fs/gsymfs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "gsym/base/diag.h"
#include "gsym/base/path.h"
#include "store/share/share.h"
#include "work/os/guard.h"
#include "work/os/memory_cgroup.h"
#include "work/swift/swift_names.h"
#include "work/worker/child.h"
#include "fs/answer/answer.h"
#include "fs/answer/answer_files.h"
#include "fs/answer/symbol_names.h"
#include "fs/answer/tsv_file.h"
#include "fs/images/catalogue.h"
#include "fs/images/image_release.h"
#include "fs/sys/mountpoint.h"

/* Adds a source. 0 or a negative errno. */
static int add_root(struct gsymfs *fs, const char *given, struct gsym_diag *diag)
{
	struct stat st;
	if (fs->n_roots == SOURCES_MAX)
		return diag_set(diag, -EINVAL, "source '%s': there may be %d sources", given, SOURCES_MAX);
	char *path = realpath(given, NULL);
	if (!path || stat(path, &st)) {
		int err = diag_set(diag, -errno, "source '%s': %s", given, strerror(errno));
		free(path);
		return err;
	}
	fs->roots[fs->n_roots++].path = path;
	if (!S_ISDIR(st.st_mode))
		return diag_set(diag, -ENOTDIR, "source '%s': not a directory", given);
	for (size_t i = 0; i + 1 < fs->n_roots; i++)
		if (strcmp(path, fs->roots[i].path) == 0)
			return diag_set(diag, -EINVAL, "source '%s': given twice", path);
		else if (path_is_within(path, fs->roots[i].path) || path_is_within(fs->roots[i].path, path))
			return diag_set(diag, -EINVAL, "sources '%s' and '%s': one is in the other",
					fs->roots[i].path, path);
	return 0;
}

/* An operand is a directory; if there is none of that name, several with colons between them, as in fstab. */
static int add_operand(struct gsymfs *fs, const char *operand, struct gsym_diag *diag)
{
	struct stat st;
	if (!strchr(operand, ':') || stat(operand, &st) == 0)
		return add_root(fs, operand, diag);
	CLEANUP(freep) char *copy = strdup(operand);
	if (!copy)
		return diag_set(diag, -ENOMEM, "no memory");
	char *save = NULL;
	int err = 0;
	for (char *at = strtok_r(copy, ":", &save); at && !err; at = strtok_r(NULL, ":", &save))
		err = add_root(fs, at, diag);
	return err           ? err
	       : fs->n_roots ? 0
			     : diag_set(diag, -ENOENT, "source '%s': names no directory", operand);
}

static int join_names(struct gsymfs *fs)
{
	size_t size = 1, at = 0;
	for (size_t i = 0; i < fs->n_roots; i++)
		size += strlen(fs->roots[i].path) + 1;
	fs->source_names = calloc(1, size);
	for (size_t i = 0; fs->source_names && i < fs->n_roots; i++)
		at += (size_t)snprintf(fs->source_names + at, size - at, "%s%s", i ? ":" : "",
				       fs->roots[i].path);
	return fs->source_names ? 0 : -ENOMEM;
}

static int find_sources(struct gsymfs *fs, struct gsym_diag *diag)
{
	int err = 0;
	for (size_t i = 0; i < fs->options.n_sources && !err; i++)
		err = add_operand(fs, fs->options.operands[i], diag);
	if (err)
		return err;
	bool several = fs->n_roots > 1;
	fs->source = several ? "/" : fs->roots[0].path;
	fs->prefix = strcmp(fs->source, "/") == 0 ? "" : fs->source;
	fs->log.from_root = several;
	for (size_t i = 0; i < fs->n_roots; i++)
		fs->roots[i].below = several ? fs->roots[i].path + 1 : "";
	return join_names(fs) ? diag_set(diag, -ENOMEM, "no memory") : 0;
}

/* Lists the directories searched for debug files: those of the option, and the sources. Pointers and text are
 * one allocation. */
static int list_debug_dirs(struct gsymfs *fs, struct gsym_diag *diag)
{
	const char *text = fs->options.debug_dirs;
	size_t pointers = (DEBUG_DIRS_MAX + SOURCES_MAX + 1) * sizeof(char *);
	size_t text_size = strlen(text) + 1, n = 0;
	if (fs->n_roots > 1 && strlen(fs->source_names) > SOURCES_TEXT_MAX)
		return diag_set(diag, -ENAMETOOLONG,
				"the paths of all sources together are longer than %d bytes",
				SOURCES_TEXT_MAX);
	char **dirs = calloc(1, pointers + text_size);
	if (!dirs)
		return diag_set(diag, -ENOMEM, "no memory");
	char *at = memcpy((char *)dirs + pointers, text, text_size), *save = NULL;
	for (char *dir = strtok_r(at, ":", &save); dir; dir = strtok_r(NULL, ":", &save))
		dirs[n++] = dir;
	for (size_t i = 0; i < fs->n_roots; i++)
		dirs[n + i] = fs->roots[i].path;
	fs->debug_dirs = dirs;
	return 0;
}

/* Files below our own mount would be read through this daemon: a deadlock. */
static int check_visible(const struct gsymfs *fs, struct gsym_diag *diag)
{
	const char *hidden = path_is_within(fs->worker, fs->mountpoint) ? fs->worker
			     : fs->fetcher.directory && path_is_within(fs->fetcher.directory, fs->mountpoint)
				     ? fs->fetcher.directory
				     : NULL;
	for (size_t i = fs->n_roots; i > 0; i--)
		if (path_is_within(fs->roots[i - 1].path, fs->mountpoint))
			hidden = fs->roots[i - 1].path;
	if (hidden)
		return diag_set(diag, -EINVAL,
				"%s: would be hidden by the mount at '%s': choose another mount point",
				hidden, fs->mountpoint);
	return 0;
}

/* The gsym program, relative to our own executable: installed, in libexec, in the build tree. */
static char *find_worker(void)
{
	static const char *const places[] = {"gsym", "../bin/gsym", "../libexec/gsymfs/gsym", "../cli/gsym"};
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

/* Starts a worker once: if that fails, every conversion would. */
static int check_worker(struct gsymfs *fs, struct gsym_diag *diag)
{
	if (fs->options.worker)
		fs->worker = realpath(fs->options.worker, NULL);
	else
		fs->worker = find_worker();
	if (!fs->worker)
		return diag_set(diag, -ENOENT, "cannot find the gsym program '%s'%s: set -o worker=PATH",
				fs->options.worker ? fs->options.worker : "gsym",
				proc_is_there() ? "" : ", since /proc is not mounted");
	child_keep_program(fs->worker);
	return child_try(fs->worker, fs->stop_fd, diag);
}

/*
 * Images, workers and scans need many descriptors; the default soft limit is for programs that use select(2).
 */
static void raise_fd_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* The store's directory, absolute: the daemon leaves the one it was started in. */
static int find_shared_directory(struct gsymfs *fs, struct gsym_diag *diag)
{
	struct stat cache, shared;
	struct options *o = &fs->options;
	char *path = realpath(o->shared, NULL);
	if (!path)
		return diag_set(diag, -errno, "shared store '%s': cannot open: %s", o->shared,
				strerror(errno));
	free(o->shared);
	o->shared = path;
	/* Eviction from the cache would remove entries of the shared directory. */
	if (fstat(fs->cache.dir, &cache) == 0 && stat(path, &shared) == 0 && cache.st_dev == shared.st_dev &&
	    cache.st_ino == shared.st_ino)
		return diag_set(diag, -EINVAL,
				"shared store '%s' is the cache: choose another for one of them", path);
	return 0;
}

/* Likewise, of a file that may be replaced, so that symbolic links stay. 0 or -ENOMEM. */
static int make_absolute(char **path)
{
	char *whole = NULL;
	if (!*path || **path == '/')
		return 0;
	CLEANUP(freep) char *here = getcwd(NULL, 0);
	if (!here || asprintf(&whole, "%s/%s", here, *path) < 0)
		return -ENOMEM;
	free(*path);
	*path = whole;
	return 0;
}

static int make_files_absolute(struct options *o)
{
	char **const files[] = {&o->sign_key,    &o->trusted_keys, &o->shared_bearer, &o->shared_netrc,
				&o->shared_cert, &o->shared_key,   &o->shared_ca};
	int err = 0;
	for (size_t i = 0; i < ARRAY_SIZE(files) && !err; i++)
		err = make_absolute(files[i]);
	return err;
}

static int open_shared(struct gsymfs *fs, struct gsym_diag *diag)
{
	struct options *o = &fs->options;
	if (!o->shared)
		return 0;
	int err = strstr(o->shared, "://") ? 0 : find_shared_directory(fs, diag);
	if (!err && make_files_absolute(o))
		err = diag_set(diag, -ENOMEM, "no memory");
	const struct share_options options = {
		.store =
			{
				.address = o->shared,
				.bearer_file = o->shared_bearer,
				.netrc_file = o->shared_netrc,
				.cert_file = o->shared_cert,
				.key_file = o->shared_key,
				.ca_file = o->shared_ca,
			},
		.sign_key = o->sign_key,
		.trusted_keys = o->trusted_keys,
		.wait_ms = o->shared_wait,
	};
	return err ? err
		   : share_open(&options, fs->worker, fs->stop_fd, &fs->cache, &fs->log, &fs->share, diag);
}

static int prepare_fetcher(struct gsymfs *fs, struct gsym_diag *diag)
{
	const struct options *o = &fs->options;
	fs->fetcher = (struct fetcher){
		.worker = fs->worker,
		.log = &fs->log,
		.counters = &fs->counters,
		.size = o->cache_size,
		.seconds = o->convert_time,
		.stop_fd = fs->stop_fd,
	};
	return o->debuginfod ? fetcher_open(&fs->fetcher, &fs->cache, diag) : 0;
}

int setup_prepare(struct gsymfs *fs, struct gsym_diag *diag)
{
	raise_fd_limit();
	int err = find_sources(fs, diag);
	if (!err)
		err = list_debug_dirs(fs, diag);
	if (!err)
		err = mountpoint_prepare(fs->options.mountpoint, &fs->log, &fs->mountpoint, diag);
	if (!err)
		err = cache_open(&fs->cache, fs->options.cache, fs->options.cache_size,
				 fs->options.cache_free, &fs->log, diag);
	if (!err)
		err = check_worker(fs, diag);
	if (!err)
		err = open_shared(fs, diag);
	if (!err)
		err = prepare_fetcher(fs, diag);
	if (!err)
		err = check_visible(fs, diag);
	if (!err && (err = guard_install()))
		diag_set(diag, err, "cannot install a signal handler: %s", strerror(-err));
	if (!err && (err = run_slots_init(&fs->slots, fs->options.jobs)))
		diag_set(diag, err, "cannot count conversions: %s", strerror(-err));
	return err;
}

/* See struct images. */
static uint64_t answers_salt(const struct gsymfs *fs)
{
	static const char version[] = GSYMFS_VERSION;
	const struct options *o = &fs->options;
	const uint64_t parts[] = {
		XXH3_64bits(version, sizeof(version)),
		XXH3_64bits(fs->prefix, strlen(fs->prefix)),
		fs->images.places,
		o->merged,
		o->unknown_print,
		o->demangle,
		o->approximate,
	};
	return XXH3_64bits(parts, sizeof(parts));
}

static void setup_converter(struct gsymfs *fs)
{
	const struct options *o = &fs->options;
	fs->zygote = (struct zygote){
		.program = fs->worker,
		.log = &fs->log,
		.stop_fd = fs->stop_fd,
	};
	zygote_init(&fs->zygote);
	fs->converter = (struct converter){
		.root = fs->prefix,
		.worker = fs->worker,
		.zygote = &fs->zygote,
		.cache = &fs->cache,
		.store = fs->share ? &share_store : NULL,
		.share = fs->share,
		.slots = &fs->slots,
		.counters = &fs->counters,
		.log = &fs->log,
		.memory = memory_cgroup_share(o->convert_memory),
		.seconds = o->convert_time,
		.threads = o->threads,
		.merged = o->merged != MERGED_NO,
		.search =
			{
				.dirs = (const char *const *)fs->debug_dirs,
				.n_sources = fs->n_roots,
				.mountpoint = fs->mountpoint,
				.servers = fs->fetcher.servers,
			},
		.fetcher = &fs->fetcher,
		.stop_fd = fs->stop_fd,
	};
	if (fs->converter.memory < o->convert_memory)
		log_info(&fs->log,
			 "convert_memory: a conversion may use %" PRIu64
			 " bytes, three quarters of the limit of the control group",
			 fs->converter.memory);
	fs->cache.drop_kept = images_drop_kept;
	fs->cache.drop_user = &fs->images;
	fs->images.merged = fs->converter.merged;
	fs->images.ready_max = o->open_images;
	fs->images.places = search_path_fingerprint(&fs->converter.search);
	fs->images.salt = answers_salt(fs);
}

static void setup_scanner(struct gsymfs *fs)
{
	fs->scanner = (struct scanner){
		.scan =
			{
				.source = fs->source,
				.roots = fs->roots,
				.n_roots = fs->n_roots,
				.names = fs->source_names,
				.mountpoint = fs->mountpoint,
				.worker = fs->worker,
				.images = &fs->images,
				.search = &fs->converter.search,
				.cache = &fs->cache,
				.metrics = &fs->metrics,
				.skipped = &fs->skipped,
				.remote = fs->options.debuginfod ? &fs->remote : NULL,
				.log = &fs->log,
				.stop_fd = fs->stop_fd,
			},
		.starter = &fs->starter,
		.interval = fs->options.rescan,
		.watching = fs->options.watch,
	};
	skipped_init(&fs->skipped, &fs->log);
	scanner_init(&fs->scanner);
}

static void setup_remote(struct gsymfs *fs)
{
	fs->remote = (struct remote){
		.images = &fs->images,
		.fetcher = &fs->fetcher,
		.worker = fs->worker,
		.log = &fs->log,
		.stop_fd = fs->stop_fd,
	};
	remote_init(&fs->remote);
}

static void setup_queue(struct gsymfs *fs)
{
	fs->queue = (struct queue){
		.images = &fs->images,
		.scanner = &fs->scanner,
		.converter = &fs->converter,
		.work = {convert_from_cache, convert_run},
		.metrics = &fs->metrics,
		.fragments.eager = fs->options.eager,
		.idle.load_percent = fs->options.idle_load,
		.idle.seconds = fs->options.idle_time,
	};
	queue_init(&fs->queue);
}

static void tidy(void *arg)
{
	struct tree *tree = arg;
	open_files_rest(&tree->open_files);
	images_free_retired(tree->images);
}

static void setup_answers(struct gsymfs *fs)
{
	const struct options *o = &fs->options;
	fs->answers = (struct answers){
		.source = fs->prefix,
		.images = &fs->images,
		.cache = &fs->cache,
		.queue = &fs->queue,
		.runners = &fs->runners,
		.remote = fs->options.debuginfod ? &fs->remote : NULL,
		.metrics = &fs->metrics,
		.log = &fs->log,
		.unknown_print = o->unknown_print,
		.demangle = o->demangle,
		.mark_merged = o->merged == MERGED_MARK,
		.approximate = o->approximate,
		.batch_threads = o->batch_threads,
	};
	answers_init(&fs->answers, &tsv_file_kind, &symbol_names_kind);
	fs->answers.tables.tidy = tidy;
	fs->answers.tables.tidy_user = &fs->tree;
}

static void setup_tree(struct gsymfs *fs)
{
	static const struct tree_content content = {answer_make, answer_make_early, status_make,
						    batch_file_new, log_file_new};
	fs->tree = (struct tree){
		.images = &fs->images,
		.cache = &fs->cache,
		.metrics = &fs->metrics,
		.counters = &fs->counters,
		.runners = &fs->runners,
		.answers = &fs->answers,
		.content = &content,
		.skipped = &fs->skipped,
		.remote = fs->options.debuginfod ? &fs->remote : NULL,
		.roots = fs->roots,
		.n_roots = fs->n_roots,
		.mountpoint = fs->mountpoint,
		.max_read = fs->options.max_read,
		.kept_answers = fs->options.kept_answers,
		.single_thread = fs->options.single_thread,
	};
	tree_init(&fs->tree);
}

void setup_parts(struct gsymfs *fs)
{
	swift_names_begin(fs->worker, fs->stop_fd);
	images_init(&fs->images);
	runners_init(&fs->runners, &fs->images.lock, &call_runner_kind, &fs->images.readers);
	setup_converter(fs);
	setup_scanner(fs);
	setup_remote(fs);
	setup_queue(fs);
	setup_answers(fs);
	setup_tree(fs);
}

void setup_undo(struct gsymfs *fs)
{
	tree_deinit(&fs->tree);
	answers_deinit(&fs->answers);
	queue_deinit(&fs->queue);
	remote_deinit(&fs->remote);
	scanner_deinit(&fs->scanner);
	skipped_deinit(&fs->skipped);
	runners_deinit(&fs->runners);
	run_slots_deinit(&fs->slots);
	zygote_deinit(&fs->zygote);
	images_deinit(&fs->images);
	swift_names_end();
}

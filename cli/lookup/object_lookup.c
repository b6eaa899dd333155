/*
 * object_lookup.c - the name of a cache entry tells of which file in which state it is, so that a file that
 * was converted before costs no process. Else a worker identifies the file, which yields its directory in a
 * mount and the key of the cache entry; if there is neither, another worker converts the file. This process
 * reads only the result. Keys, limits and the default directory are those of gsymfs, so that both share
 * their entries.
 *
 * A few addresses of a large file are answered from fragments, and the file is not converted. That it was
 * asked about is remembered by the link of its id; who asks about it again leaves a process behind that
 * converts it.
 */
#include "cli/lookup/object_lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work/cache/cache.h"
#include "cli/lookup/image_details.h"
#include "cli/lookup/image_mount.h"
#include "work/os/beneath.h"
#include "work/os/guard.h"
#include "work/run/convert_run.h"
#include "cli/command/bundle.h"
#include "cli/command/message.h"
#include "cli/command/stop_signals.h"
#include "work/run/defaults.h"
#include "work/run/fragment_run.h"
#include "work/run/identifier.h"
#include "work/types/convert_types.h"
#include "work/types/foreign_format.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"
#include "gsym/codec/header.h"

enum {
	ARCHES_TEXT = 256,
	LOCK_POLL_MS = 20,
	FRAGMENT_FROM = 1 << 20, /* bytes of a file that takes longer to convert than to read in part */
	REST_NICE = 10,
};

/* An image in an object file, on its way to an open file. */
struct object {
	const char *name; /* as in the arguments */
	const struct object_options *options;
	struct gsym_diag *diag;
	char *path; /* absolute, without symbolic links */
	int fd, stop_fd;
	enum image_kind single; /* IMAGE_OTHER: it may be a container of several images */
	enum image_kind kind;
	bool is_rest;    /* nobody waits for it; see leave_rest() */
	bool is_unasked; /* nobody has asked about it before, as far as is known */
	struct file_state state;
	char id[ID_TEXT_SIZE];
	char arch[16];
	struct image_details *details; /* as wanted by the options, or NULL */
	bool shows_progress;           /* a line of progress is on the terminal */
};

static const char program[] = "/proc/self/exe";
static const struct log quiet = {.most = LOG_LEVEL_ERROR};

/* Says what is wrong and what to do, unless a signal ended the conversion. @advice may be NULL. */
static int report_object(const struct object *object, int err, const char *why, const char *advice)
{
	struct pollfd stop = {.fd = object->stop_fd, .events = POLLIN};
	if (poll(&stop, 1, 0) > 0)
		return diag_set(object->diag, err, "%s", "");
	return diag_set(object->diag, err, "%s%s%s", why, advice ? "; " : "", advice ? advice : "");
}

/* ---- Which image ---- */

static int open_object(struct object *object)
{
	struct stat st;
	uint8_t magic[MAGIC_SIZE];
	char file[PATH_MAX];
	int err = bundle_resolve(object->name, file, object->diag);
	if (err)
		return object->diag->text[0] ? err : report_object(object, err, strerror(-err), NULL);
	object->path = realpath(file, NULL);
	object->fd = object->path ? open(object->path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) : -1;
	if (object->fd < 0 || fstat(object->fd, &st))
		return report_object(object, -errno, strerror(errno), NULL);
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	err = read_all(object->fd, magic, MAGIC_SIZE, 0);
	if (err && err != -EBADMSG)
		return report_object(object, err, strerror(-err), NULL);
	if (err || header_has_magic(magic))
		return -ENOEXEC;
	object->single = object->kind = image_kind_single(magic);
	object->state = file_state_of(object->fd, &st, file_open_to_all(object->fd, &st, 0));
	return 0;
}

void object_lookup_explain(const char *path, struct gsym_diag *diag)
{
	uint8_t head[FOREIGN_HEAD_SIZE] = {0};
	struct stat st;
	int fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	bool is_regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	ssize_t n = is_regular ? pread(fd, head, sizeof(head), 0) : -1;
	close(fd);
	const char *foreign = n > 0 ? foreign_format((struct span){head, (size_t)n}) : NULL;
	if (foreign)
		diag_set(diag, -ENOEXEC, "%s", foreign);
	else if (n >= 0 && (n < MAGIC_SIZE || !header_has_magic(head)))
		diag_set(diag, -ENOEXEC, "neither an object file nor a GSYM file");
}

/* The one of @n images that the options name, or the only one; NULL when that is none or several. */
static const struct image_identity *pick_image(const struct image_identity *list, size_t n,
					       const struct object_options *options)
{
	const struct image_identity *found = NULL;
	const char *arch = n == 1 && options->any_alone ? NULL : options->arch;
	for (size_t i = 0; i < n; i++) {
		if (arch && strcmp(list[i].arch, arch) != 0)
			continue;
		if (found)
			return NULL;
		found = &list[i];
	}
	return found;
}

static int report_choices(const struct object *object, const struct image_identity *list, size_t n)
{
	char why[ARCHES_TEXT] = "holds code for ";
	struct object_arches *choices = object->options->choices;
	for (size_t i = 0; i < n; i++) {
		size_t used = strlen(why);
		if (choices && choices->n < OBJECT_ARCHES_MAX)
			memcpy(choices->name[choices->n++], list[i].arch, sizeof(choices->name[0]));
		snprintf(why + used, sizeof(why) - used, "%s%s", i ? ", " : "", list[i].arch);
	}
	if (object->options->arch) {
		size_t used = strlen(why);
		snprintf(why + used, sizeof(why) - used, ", none for %s", object->options->arch);
	}
	const char *advice = object->options->advice;
	return report_object(object, -EINVAL, why,
			     object->options->choices ? NULL
			     : advice                 ? advice
						      : "choose one with --arch=ARCH");
}

static int identify_object(struct object *object)
{
	struct identifier identifier = {
		.worker = program,
		.stop_fd = object->stop_fd,
	};
	struct identified found;
	struct gsym_diag diag = {""};
	int err = identify(&identifier, object->fd, object->state.size, IMAGE_HASH_MAX, &found, &diag);
	identifier_stop(&identifier);
	if (err)
		return report_object(object, err, diag.text[0] ? diag.text : strerror(-err), NULL);
	if (!found.n)
		return -ENOEXEC;
	const struct image_identity *image = pick_image(found.images, found.n, object->options);
	if (!image)
		return report_choices(object, found.images, found.n);
	id_format(image, object->id);
	memcpy(object->arch, image->arch, sizeof(object->arch));
	object->kind = image->kind;
	return 0;
}

/* ---- Its conversion ---- */

static void show_progress(void *user, unsigned percent)
{
	struct object *object = user;
	fprintf(stderr, "\rconverting: %u %%\033[K", percent);
	object->shows_progress = true;
}

/* @remembered: the failure is in the cache, which keeps those that no limit has caused. */
static const char *advice_for(const struct outcome *outcome, bool remembered)
{
	if (outcome->err == -ENOSPC)
		return "make room, or set another directory with --cache=DIR";
	switch (outcome->verdict) {
	case VERDICT_FAILED:
		return remembered ? NULL : "convert it with gsym convert, which has no such limit";
	case VERDICT_ELSEWHERE:
	case VERDICT_REPLACED:
	case VERDICT_TRANSIENT: return "try again";
	default: return NULL;
	}
}

static unsigned count_threads(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n < 1 ? 1 : n > CONVERT_THREADS_MAX ? CONVERT_THREADS_MAX : (unsigned)n;
}

static struct converter converter_of(const struct object *object, struct cache *cache)
{
	static const char *const debug_dirs[] = {DEBUG_DIR_DEFAULT, NULL};
	const char *const *dirs = object->options->debug_dirs;
	const struct search_path everywhere = {
		.dirs = dirs ? dirs : debug_dirs, .all = true, .package = object->options->package};
	return (struct converter){
		.worker = program,
		.search = object->options->search ? *object->options->search : everywhere,
		.cache = cache,
		.log = &quiet,
		.memory = (uint64_t)CONVERT_GIB_DEFAULT << 30,
		.seconds = CONVERT_SECONDS_DEFAULT,
		.threads = count_threads(),
		.merged = true,
		.stop_fd = object->stop_fd,
	};
}

static struct cache_input input_of(const struct object *object, const struct converter *converter)
{
	return (struct cache_input){
		.id = object->id,
		.file = object->state,
		.kind = object->kind,
		.version = IMAGE_GSYM_VERSION,
		.merged = converter->merged,
		.places = search_path_fingerprint(&converter->search),
	};
}

static void set_handle(struct lookup_image *image, struct handle *handle)
{
	image->handle = handle;
	image->reader = handle->reader;
	image->demangle = handle_demangle(handle);
	image->base = handle->addresses.base;
	image->relative_end = handle->addresses.relative_end;
}

/* The details of the image, which is identified; NULL if they are not wanted. */
static struct image_details *make_details(struct object *object)
{
	const struct converter converter = converter_of(object, NULL);
	const struct convert_request request = {
		.id = object->id, .arch = object->arch, .source = {object->path, object->state}};
	if (object->options->has_details && !object->details)
		object->details = image_details_new(&converter, &request);
	return object->details;
}

/* What the request for a conversion needs beside the object. */
static struct convert_request request_of(struct object *object, const struct cache_key *key)
{
	return (struct convert_request){
		.id = object->id,
		.arch = object->arch,
		.source = {.path = object->path, .state = object->state, .kind = object->kind},
		.key = key,
		.progress = isatty(STDERR_FILENO) ? show_progress : NULL,
		.user = object,
	};
}

/* Takes the entry of the cache that was made of the file in its present state, if there is one. */
static bool take_entry(struct object *object, const struct converter *converter, struct handle **ret)
{
	const struct cache_input input = input_of(object, converter);
	struct cache_key key;
	struct outcome outcome;
	cache_key_make(&input, &key);
	const struct convert_request request = request_of(object, &key);
	if (!convert_from_cache(converter, &request, false, &outcome))
		return false;
	free(outcome.inputs);
	*ret = outcome.handle;
	return outcome.handle != NULL;
}

/*
 * Locks the entry @key, however long another process makes it: 0, or -ECANCELED after a signal. @ret as of
 * cache_lock_try().
 */
static int lock_entry(const struct object *object, const struct cache *cache, const struct cache_key *key,
		      int *ret)
{
	struct pollfd stop = {.fd = object->stop_fd, .events = POLLIN};
	while (cache_lock_try(cache, key, ret))
		if (poll(&stop, 1, LOCK_POLL_MS) > 0)
			return report_object(object, -ECANCELED, "", NULL);
	return 0;
}

static int load_or_convert(struct object *object, const struct converter *converter, struct handle **ret)
{
	int lock;
	const struct cache_input input = input_of(object, converter);
	struct cache_key key;
	struct outcome outcome;
	cache_key_make(&input, &key);
	const struct convert_request request = request_of(object, &key);
	int err = object->is_rest ? cache_lock_try(converter->cache, &key, &lock)
				  : lock_entry(object, converter->cache, &key, &lock);
	if (err)
		return err;
	bool remembered = convert_from_cache(converter, &request, false, &outcome);
	if (!remembered) {
		cache_admit(converter->cache, (uint64_t)CACHE_GIB_DEFAULT << 30,
			    (uint64_t)CACHE_FREE_GIB_DEFAULT << 30);
		convert_run(converter, &request, &outcome);
	}
	if (lock >= 0)
		close(lock);
	if (object->shows_progress)
		fputs("\r\033[K", stderr);
	free(outcome.inputs);
	*ret = outcome.handle;
	if (outcome.handle)
		return 0;
	err = strncmp(outcome.diag.text, NO_FUNCTION_FOUND, sizeof(NO_FUNCTION_FOUND) - 1) ? outcome.err
											   : -ENODATA;
	return report_object(object, err, outcome.diag.text, advice_for(&outcome, remembered));
}

/* ---- Its fragments ---- */

/* Has what is asked for answered from the fragments that are certain. True if nothing else will be asked. */
static bool answer_asked(struct object *object, const struct converter *converter)
{
	const struct object_options *options = object->options;
	const struct cache_input input = input_of(object, converter);
	struct fragment_run *run = NULL;
	struct lookup_image image = {0};
	struct handle *handle;
	struct cache_key key;
	bool is_all = false;
	if (!options->n_asked || object->state.size < FRAGMENT_FROM)
		return false;
	cache_key_make(&input, &key);
	const struct convert_request request = request_of(object, &key);
	if (!fragment_run(converter, &request, options->asked, options->n_asked, &run, &handle) && handle) {
		set_handle(&image, handle);
		image.details = make_details(object);
		is_all = options->early(options->user, &image);
		image.details = NULL;
		lookup_image_close(&image);
	}
	fragment_run_end(run);
	return is_all;
}

static int open_stoppable(struct object *object, struct lookup_image *ret);

/* Ends the process when the file is converted, or another process does that. */
static _Noreturn void convert_rest(const struct object *object, const struct cache *cache)
{
	struct object_options options = *object->options;
	struct gsym_diag diag = {""};
	struct object rest = {.name = object->path, .options = &options, .diag = &diag, .is_rest = true};
	struct lookup_image image = {.reader = NULL};
	options.n_asked = 0;
	options.has_details = false;
	options.cache = cache->path;
	setsid();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	close_range(STDERR_FILENO + 1, UINT_MAX, 0);
	if (*cache->path == '/')
		(void)!chdir("/"); /* so that the file system of the command can be unmounted */
	(void)!nice(REST_NICE);
	open_stoppable(&rest, &image);
	_exit(STATUS_OK);
}

/* Converts the file in a process that nobody waits for: once a file, where there is a cache to keep it. */
static void leave_rest(const struct object *object, const struct cache *cache)
{
	if (!object->is_unasked && cache->dir >= 0 && fork() == 0)
		convert_rest(object, cache);
}

/* ---- The cache ---- */

/* Opens the directory of the cache unless it is open. A user without a home directory has none, unless one is
 * named. */
static int attach_cache(const struct object *object, struct cache *cache)
{
	const char *dir = object->options->cache ? object->options->cache : getenv("GSYMFS_CACHE");
	struct gsym_diag diag = {""};
	bool is_named = dir && dir[0];
	int err = cache->path ? 0 : cache_attach(cache, is_named ? dir : NULL, &quiet, &diag);
	if (err && err != -EPERM && !is_named)
		err = cache_attach_none(cache, &quiet);
	/* Not -ENOENT, which is that of the object file. */
	return err ? report_object(object, err == -ENOMEM ? err : -EACCES, diag.text, NULL) : 0;
}

static bool open_in_mount(const struct object *object, struct lookup_image *ret)
{
	return image_mount_open(object->options->mount, object->id, &ret->opened, &ret->base) == 0;
}

/* Identifies the file, and opens it in a mount or in @cache. */
static int find_or_convert(struct object *object, const struct converter *converter, bool may_know,
			   struct lookup_image *ret)
{
	int err = identify_object(object);
	if (err)
		return err;
	if (may_know) {
		const struct cache_input input = input_of(object, converter);
		cache_remember(converter->cache, &input);
	}
	if (open_in_mount(object, ret))
		return 0;
	err = attach_cache(object, converter->cache);
	if (err)
		return err;
	if (take_entry(object, converter, &ret->handle))
		return 0;
	if (answer_asked(object, converter)) {
		leave_rest(object, converter->cache);
		return -EALREADY;
	}
	return load_or_convert(object, converter, &ret->handle);
}

/* Whether the id of the file is known without reading it. */
static bool is_known(struct object *object, const struct converter *converter)
{
	const struct cache_input input = input_of(object, converter);
	return cache_find(converter->cache, &input, object->id) == 0;
}

/* Lets the caller do something else with the image than opening it. */
static int use_image(struct object *object, const struct converter *converter)
{
	struct cache_key key;
	int err = identify_object(object);
	if (!err)
		err = attach_cache(object, converter->cache);
	if (err)
		return err;
	const struct cache_input input = input_of(object, converter);
	cache_key_make(&input, &key);
	const struct convert_request request = request_of(object, &key);
	err = object->options->use(object->options->user, converter, &request, object->fd, object->diag);
	if (object->shows_progress)
		fputs("\r\033[K", stderr);
	return err;
}

static int find_image(struct object *object, struct cache *cache, struct lookup_image *ret)
{
	const struct converter converter = converter_of(object, cache);
	if (object->options->use)
		return use_image(object, &converter);
	bool any_arch = object->options->any_alone || !object->options->arch;
	bool may_know = object->single && any_arch && !attach_cache(object, cache);
	object->is_unasked = may_know && !is_known(object, &converter);
	if (may_know && !object->is_unasked &&
	    (take_entry(object, &converter, &ret->handle) || open_in_mount(object, ret)))
		return 0;
	return find_or_convert(object, &converter, may_know, ret);
}

static int open_image(struct object *object, struct lookup_image *ret)
{
	struct cache cache = {.dir = -1};
	int err = open_object(object);
	if (!err)
		err = find_image(object, &cache, ret);
	if (ret->handle) {
		ret->handle->in_memory = NULL; /* the sum ends with the cache */
		set_handle(ret, ret->handle);
	} else {
		ret->reader = ret->opened;
	}
	if (!err)
		ret->details = make_details(object);
	cache_close(&cache);
	return err;
}

static int open_stoppable(struct object *object, struct lookup_image *ret)
{
	struct stop_signals signals;
	guard_install();
	int err = stop_signals_block(&signals);
	object->stop_fd = signals.fd;
	err = err ? diag_set(object->diag, err, "%s", strerror(-err)) : open_image(object, ret);
	stop_signals_restore(&signals);
	return err;
}

int object_lookup_open(const char *path, const struct object_options *options, struct lookup_image *ret,
		       struct gsym_diag *diag)
{
	struct object object = {.name = path, .options = options, .diag = diag, .fd = -1};
	struct lookup_image image = {.demangle = DEMANGLE_AUTO};
	int err = open_stoppable(&object, &image);
	if (object.fd >= 0)
		close(object.fd);
	free(object.path);
	if (!err)
		*ret = image;
	else
		image_details_free(object.details);
	return err;
}

void lookup_image_close(struct lookup_image *image)
{
	gsym_reader_close(image->opened);
	handle_put(image->handle);
	image_details_free(image->details);
	*image = (struct lookup_image){.reader = NULL};
}

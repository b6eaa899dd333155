/*
 * object_lookup.c - a worker identifies the file, which yields the key of the cache entry; if there is no
 * such entry, another worker converts the file. This process reads only the entry. Keys, limits and the
 * default directory are those of gsymfs, so that both share their entries.
 */
#include "convert/cli/lookup/object_lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "convert/cli/message.h"
#include "convert/os/beneath.h"
#include "convert/os/guard.h"
#include "convert/run/convert_run.h"
#include "convert/run/defaults.h"
#include "convert/run/identifier.h"
#include "gsym/base/diag.h"
#include "gsym/codec/format.h"

enum { ARCHES_TEXT = 256 };

/* An image in an object file, on its way to an open cache entry. */
struct object {
	const char *name; /* as in the arguments */
	char *path;       /* absolute, without symbolic links */
	int fd, stop_fd;
	struct file_state state;
	char id[ID_TEXT_SIZE];
	char arch[16];
	bool shows_progress; /* a line of progress is on the terminal */
};

static const char program[] = "/proc/self/exe";
static const char *const debug_dirs[] = {DEBUG_DIR_DEFAULT, NULL};
static const struct log quiet = {.most = LOG_LEVEL_ERROR};

/* Prints "FILE: what is wrong; what to do", unless a signal ended the conversion. @advice may be NULL. */
static int report(const struct object *object, int err, const char *why, const char *advice)
{
	struct pollfd stop = {.fd = object->stop_fd, .events = POLLIN};
	if (poll(&stop, 1, 0) > 0)
		return err;
	say(stderr, "gsym lookup: %s: %s%s%s", object->name, why, advice ? "; " : "", advice ? advice : "");
	return err;
}

/* ---- Which image ---- */

static bool is_gsym(int fd)
{
	uint8_t magic[4];
	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       (load32(magic, false) == GSYM_MAGIC || load32(magic, true) == GSYM_MAGIC);
}

static int open_object(struct object *object)
{
	struct stat st;
	object->path = realpath(object->name, NULL);
	object->fd = object->path ? open(object->path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) : -1;
	if (object->fd < 0 || fstat(object->fd, &st))
		return report(object, -errno, strerror(errno), NULL);
	if (!S_ISREG(st.st_mode) || is_gsym(object->fd))
		return -ENOEXEC;
	object->state = file_state_of(object->fd, &st, file_open_to_all(object->fd, &st, 0));
	return 0;
}

static bool is_native(const char *arch)
{
	struct utsname system;
	if (uname(&system))
		return false;
	return strcmp(arch, strcmp(system.machine, "aarch64") ? system.machine : "arm64") == 0;
}

/* The one of @n images that @arch names, or of this machine, or the only one; NULL when that is none or
 * several. */
static const struct image_identity *pick(const struct image_identity *list, size_t n, const char *arch)
{
	const struct image_identity *found = NULL;
	if (n == 1 && !arch)
		return list;
	for (size_t i = 0; i < n; i++) {
		if (arch ? strcmp(list[i].arch, arch) != 0 : !is_native(list[i].arch))
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
	for (size_t i = 0; i < n; i++) {
		size_t used = strlen(why);
		snprintf(why + used, sizeof(why) - used, "%s%s", i ? ", " : "", list[i].arch);
	}
	return report(object, -EINVAL, why, "choose one with --arch=ARCH");
}

static int identify_object(struct object *object, const char *arch)
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
		return report(object, err, diag.text[0] ? diag.text : strerror(-err), NULL);
	if (!found.n)
		return -ENOEXEC;
	const struct image_identity *image = pick(found.images, found.n, arch);
	if (!image)
		return report_choices(object, found.images, found.n);
	id_format(image, object->id);
	memcpy(object->arch, image->arch, sizeof(object->arch));
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

static int load_or_convert(struct object *object, struct cache *cache, struct handle **ret)
{
	const struct converter converter = {
		.worker = program,
		.search = {.dirs = debug_dirs, .all = true},
		.cache = cache,
		.log = &quiet,
		.memory = (uint64_t)CONVERT_GIB_DEFAULT << 30,
		.seconds = CONVERT_SECONDS_DEFAULT,
		.threads = count_threads(),
		.merged = true,
		.stop_fd = object->stop_fd,
	};
	const struct cache_input input = {
		.id = object->id,
		.file = object->state,
		.version = IMAGE_GSYM_VERSION,
		.merged = converter.merged,
		.places = search_path_fingerprint(&converter.search),
	};
	struct cache_key key;
	const struct convert_request request = {
		.id = object->id,
		.arch = object->arch,
		.source = {object->path, object->state},
		.key = &key,
		.progress = isatty(STDERR_FILENO) ? show_progress : NULL,
		.user = object,
	};
	struct outcome outcome;
	cache_key_make(&input, &key);
	bool remembered = convert_from_cache(&converter, &request, false, &outcome);
	if (!remembered)
		convert_run(&converter, &request, &outcome);
	if (object->shows_progress)
		fputs("\r\033[K", stderr);
	free(outcome.inputs);
	*ret = outcome.handle;
	return outcome.handle
		       ? 0
		       : report(object, outcome.err, outcome.diag.text, advice_for(&outcome, remembered));
}

static int find_or_convert(struct object *object, const struct object_options *options, struct handle **ret)
{
	struct cache cache;
	struct gsym_diag diag = {""};
	int err = open_object(object);
	if (!err)
		err = identify_object(object, options->arch);
	if (err)
		return err;
	err = cache_open(&cache, options->cache, (uint64_t)CACHE_GIB_DEFAULT << 30,
			 (uint64_t)CACHE_FREE_GIB_DEFAULT << 30, &quiet, &diag);
	if (err)
		return report(object, err, diag.text, NULL);
	err = load_or_convert(object, &cache, ret);
	if (!err)
		(*ret)->in_memory = NULL; /* the sum ends with the cache */
	cache_close(&cache);
	return err;
}

/* A signal that is ignored, as by nohup(1), must stay so: it can be read as a descriptor all the same. */
static void add_stop(sigset_t *stops, int number)
{
	struct sigaction action;
	if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
		sigaddset(stops, number);
}

int object_lookup_open(const char *path, const struct object_options *options, struct handle **ret)
{
	struct object object = {.name = path, .fd = -1};
	sigset_t stops, before;
	sigemptyset(&stops);
	add_stop(&stops, SIGINT);
	add_stop(&stops, SIGTERM);
	add_stop(&stops, SIGHUP);
	guard_install();
	/* Blocked signals are read as a descriptor, so that temporary files go before the signal is
	 * delivered. */
	sigprocmask(SIG_BLOCK, &stops, &before);
	object.stop_fd = signalfd(-1, &stops, SFD_CLOEXEC);
	int err = object.stop_fd < 0 ? report(&object, -errno, strerror(errno), NULL)
				     : find_or_convert(&object, options, ret);
	if (object.stop_fd >= 0)
		close(object.stop_fd);
	if (object.fd >= 0)
		close(object.fd);
	free(object.path);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

#include "cli/store/object_share.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work/cache/cache.h"
#include "cli/command/bundle.h"
#include "cli/command/out_file.h"
#include "cli/lookup/object_lookup.h"
#include "cli/command/message.h"
#include "work/run/convert_run.h"
#include "work/run/defaults.h"
#include "store/share/share.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"
#include "gsym/base/vec.h"

enum {
	LOCK_POLL_MS = 20,
	STORE_WAIT_MS = 600 * 1000, /* before a conversion is begun: here, no answer waits for it */
};

static const char program[] = "/proc/self/exe";

/* ---- Opening ---- */

static int add_dir(struct object_share *o, const char *given)
{
	char *path = realpath(given, NULL);
	/* A directory of debug files need not exist. */
	if (!path && errno == ENOENT)
		path = session_address(given);
	if (!path)
		return fail(given, -errno, NULL);
	if (vec_push(&o->dirs, path)) {
		free(path);
		return fail(given, -ENOMEM, NULL);
	}
	return STATUS_OK;
}

static int add_dirs(struct object_share *o)
{
	const struct option_list *debug_dirs = o->options.debug_dirs, *sources = o->options.sources;
	int status = debug_dirs->n ? STATUS_OK : add_dir(o, DEBUG_DIR_DEFAULT);
	for (size_t i = 0; i < debug_dirs->n && status == STATUS_OK; i++)
		status = add_dir(o, debug_dirs->v[i]);
	for (size_t i = 0; i < sources->n && status == STATUS_OK; i++)
		status = add_dir(o, sources->v[i]);
	o->n_sources = sources->n;
	return status;
}

static int set_servers(struct object_share *o)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (!o->options.debuginfod)
		return STATUS_OK;
	if (!urls || !*urls) {
		complain("--debuginfod: DEBUGINFOD_URLS is not set");
		return STATUS_FAILED;
	}
	o->servers = fetch_servers_hash(urls);
	return STATUS_OK;
}

int object_share_open(struct object_share *o, const char *address, const struct session_options *session,
		      const struct object_share_options *options)
{
	struct gsym_diag diag = {""};
	*o = (struct object_share){.options = *options,
				   .log = {.most = LOG_LEVEL_WARNING, .program = "gsym"}};
	int err = stop_signals_block(&o->signals);
	if (err)
		return fail(address, err, NULL);
	o->address = session_address(address);
	if (!o->address)
		return fail(address, -ENOMEM, NULL);
	int status = add_dirs(o);
	if (status == STATUS_OK)
		status = set_servers(o);
	if (status != STATUS_OK)
		return status;
	struct share_options share = {.sign_key = session->sign_key,
				      .trusted_keys = session->trusted_keys,
				      .wait_ms = STORE_WAIT_MS};
	session_store_options(o->address, session, &share.store);
	err = share_open(&share, program, o->signals.fd, NULL, &o->log, &o->share, &diag);
	return err ? session_refuse(&diag) : STATUS_OK;
}

void object_share_close(struct object_share *o)
{
	share_close(o->share);
	free(o->address);
	for (size_t i = 0; i < o->dirs.n; i++)
		free(o->dirs.v[i]);
	vec_free(&o->dirs);
	stop_signals_restore(&o->signals);
}

/* ---- One image ---- */

/* What is done with an image once it is identified. */
struct image_work {
	struct object_share *o;
	struct converter converter;
	struct convert_request request;
	int fd;
	struct shared_object result;
	struct gsym_diag *diag;
};

typedef int image_action(struct image_work *w);

struct image_use {
	struct object_share *o;
	image_action *act;
	struct shared_object *ret;
};

/* Whether a signal came within @ms. */
static bool is_stopped(const struct image_work *w, unsigned ms)
{
	struct pollfd stop = {.fd = w->o->signals.fd, .events = POLLIN};
	return poll(&stop, 1, (int)ms) > 0;
}

static int stopped(const struct image_work *w)
{
	return diag_set(w->diag, -ECANCELED, "%s", "");
}

/* As the hook of object_lookup.h. */
static int use_image(void *user, const struct converter *converter, const struct convert_request *request,
		     int fd, struct gsym_diag *diag)
{
	struct image_use *use = user;
	struct image_work w = {use->o, *converter, *request, fd, .diag = diag};
	share_set_cache(w.o->share, converter->cache);
	w.converter.store = &share_store;
	w.converter.share = w.o->share;
	w.converter.merged = !w.o->options.unmerged;
	w.converter.search.servers = w.o->servers;
	int err = share_key(&w.converter, &w.request, fd, &w.result.key);
	if (err)
		return diag_set(diag, err, "cannot name its conversion: %s",
				err == -ELIBACC ? "libsodium cannot be loaded"
				: err == -EPERM ? "other users may write the file"
						: strerror(-err));
	cache_admit(converter->cache, (uint64_t)CACHE_GIB_DEFAULT << 30,
		    (uint64_t)CACHE_FREE_GIB_DEFAULT << 30);
	err = use->act(&w);
	if (!err)
		*use->ret = w.result;
	return err;
}

/* Opens the image with the search path of a daemon whose SOURCE is @source, unless some were given. */
static int open_below(struct object_share *o, const char *path, char *source, struct image_use *use,
		      struct gsym_diag *diag)
{
	struct search_path search = {.n_sources = o->n_sources ? o->n_sources : 1};
	struct lookup_image unused;
	size_t n = o->dirs.n;
	if (vec_reserve(&o->dirs, 2))
		return diag_set(diag, -ENOMEM, "no memory");
	if (!o->n_sources)
		o->dirs.v[n++] = source;
	o->dirs.v[n] = NULL;
	search.dirs = (const char *const *)o->dirs.v;
	const struct object_options options = {.arch = o->options.arch,
					       .cache = o->options.cache,
					       .search = &search,
					       .use = use_image,
					       .user = use};
	return object_lookup_open(path, &options, &unused, diag);
}

static int open_image(struct object_share *o, const char *path, image_action *act, struct shared_object *ret,
		      struct gsym_diag *diag)
{
	char file[PATH_MAX];
	struct image_use use = {o, act, ret};
	int err = bundle_resolve(path, file, diag);
	if (err)
		return diag->text[0] ? err : diag_set(diag, err, "%s", strerror(-err));
	CLEANUP(freep) char *resolved = realpath(file, NULL);
	if (!resolved)
		return diag_set(diag, -errno, "%s", strerror(errno));
	err = open_below(o, path, dirname(resolved), &use, diag);
	return err == -ENOEXEC && !diag->text[0] ? diag_set(diag, err, "is no object file") : err;
}

/* ---- Taking ---- */

static int take(struct image_work *w)
{
	struct store_reply reply;
	int err = share_take(&w->converter, &w->request, w->fd, &reply, &w->result.handle, w->diag);
	switch (err) {
	case -ECANCELED: /* by a signal, or because the store's process took no requests */
		return is_stopped(w, 0) ? stopped(w) : diag_set(w->diag, -ETIMEDOUT, "no answer in time");
	case -ESTALE:
		return diag_set(w->diag, err, "was made with other debug files than those that are here");
	case -EXDEV:
		return diag_set(w->diag, err,
				"was made by a host that searches other directories for debug files");
	}
	return reply.err ? session_report(err, &reply, w->diag) : err;
}

int object_share_take(struct object_share *o, const char *path, struct shared_object *ret,
		      struct gsym_diag *diag)
{
	return open_image(o, path, take, ret, diag);
}

/* ---- Publishing ---- */

/* Converts it, or takes it from the store; while another host converts it, that is waited for. */
static void convert(struct image_work *w, struct outcome *ret)
{
	struct share_turn *turn = NULL;
	w->request.turn = &turn;
	do {
		convert_run(&w->converter, &w->request, ret);
	} while (ret->verdict == VERDICT_ELSEWHERE && !is_stopped(w, ret->wait_ms));
	if (turn)
		share_store.end(w->converter.share, turn);
}

static int lock_entry(struct image_work *w, int *ret)
{
	while (cache_lock_try(w->converter.cache, w->request.key, ret))
		if (is_stopped(w, LOCK_POLL_MS))
			return stopped(w);
	return 0;
}

/* Publishes the outcome unless the store has had it. A reason is in the log, which standard error is. */
static void give(struct image_work *w, const struct outcome *outcome)
{
	if (outcome->adopted || (!outcome->offer && !outcome->handle))
		return;
	int err = outcome->offer ? share_give_now(w->o->share, outcome->offer) : -EIO;
	w->result.given = !err;
	w->result.missing = err && err != -EEXIST;
	if (w->result.missing)
		diag_set(w->diag, -EIO, "was not published");
}

static int put(struct image_work *w)
{
	struct outcome outcome;
	int lock, err = lock_entry(w, &lock);
	if (err)
		return err;
	convert(w, &outcome);
	if (lock >= 0)
		close(lock);
	free(outcome.inputs);
	give(w, &outcome);
	if (is_stopped(w, 0) && (!outcome.handle || w->result.missing)) {
		handle_put(outcome.handle);
		return stopped(w);
	}
	w->result.handle = outcome.handle;
	return outcome.handle ? 0 : diag_set(w->diag, outcome.err, "%s", outcome.diag.text);
}

int object_share_put(struct object_share *o, const char *path, struct shared_object *ret,
		     struct gsym_diag *diag)
{
	return open_image(o, path, put, ret, diag);
}

/* ---- As a file ---- */

int object_share_write(const struct handle *handle, const char *path, struct gsym_diag *diag)
{
	struct out_file out;
	int err = out_file_open(path, &out, diag);
	if (err)
		return err;
	/* From a truncated mapping write(2) fails with EFAULT instead of raising SIGBUS. */
	err = write_all(out.fd, handle->gsym.data, handle->gsym.size, 0);
	if (err)
		diag_set(diag, err, "cannot write: %s", strerror(-err));
	else
		err = out_file_publish(&out, diag);
	out_file_discard(&out);
	return err;
}

/*
 * gsym store get and put, and gsym convert --shared: conversions of object files, taken and published by the
 * code that the daemon uses, so that names, content and signatures are the same.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/bundle.h"
#include "cli/command/message.h"
#include "cli/command/out_file.h"
#include "cli/lookup/object_lookup.h"
#include "cli/store/convert_shared.h"
#include "cli/store/store_command.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"
#include "gsym/base/vec.h"
#include "store/share/share.h"
#include "work/cache/cache.h"
#include "work/run/convert_run.h"
#include "work/run/defaults.h"

enum { LOCK_POLL_MS = 20 };

struct object_share {
	struct object_share_options options;
	struct store_session session;
	VEC(char *) dirs; /* owned: of debug files, then the sources; ends with NULL */
	size_t n_sources;
	uint64_t servers; /* hash of debuginfod's; 0: none */
};

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

static int open_store(struct object_share *o, const char *address, const struct session_options *session,
		      const struct object_share_options *options)
{
	*o = (struct object_share){.options = *options};
	int status = session_open(&o->session, address, session);
	if (status == STATUS_OK)
		status = add_dirs(o);
	return status == STATUS_OK ? set_servers(o) : status;
}

static void close_store(struct object_share *o)
{
	session_close(&o->session);
	for (size_t i = 0; i < o->dirs.n; i++)
		free(o->dirs.v[i]);
	vec_free(&o->dirs);
}

/* ---- One image ---- */

/* An image, what is done with it once it is identified, and what came of that. */
struct image_work {
	struct object_share *o;
	int (*act)(struct image_work *w);
	struct gsym_diag *diag;
	/* These describe the image that was identified. */
	struct converter converter;
	struct convert_request request;
	int fd;
	/* The result. */
	struct store_key key;
	struct handle *handle; /* one reference */
	bool given;            /* published by this call */
	bool missing;          /* could not be published; else, if not given, the store has had it */
};

/* Waits up to @ms; returns true as soon as a signal has come. */
static bool is_stopped(const struct image_work *w, unsigned ms)
{
	struct pollfd stop = {.fd = w->o->session.signals.fd, .events = POLLIN};
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
	struct image_work *w = user;
	w->converter = *converter;
	w->request = *request;
	w->fd = fd;
	w->diag = diag;
	share_set_cache(w->o->session.share, converter->cache);
	w->converter.store = &share_store;
	w->converter.share = w->o->session.share;
	w->converter.merged = !w->o->options.unmerged;
	w->converter.search.servers = w->o->servers;
	int err = share_key(&w->converter, &w->request, fd, &w->key);
	if (err)
		return diag_set(diag, err, "cannot name its conversion: %s",
				err == -ELIBACC ? "libsodium cannot be loaded"
				: err == -EPERM ? "other users may write the file"
						: strerror(-err));
	cache_admit(converter->cache, (uint64_t)CACHE_GIB_DEFAULT << 30,
		    (uint64_t)CACHE_FREE_GIB_DEFAULT << 30);
	return w->act(w);
}

/* Opens the image with the search path of a daemon whose SOURCE is @source, unless some were given. */
static int open_below(struct image_work *w, const char *path, char *source, struct gsym_diag *diag)
{
	struct object_share *o = w->o;
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
					       .user = w};
	return object_lookup_open(path, &options, &unused, diag);
}

/* Does with the image of the object file @path what @w says. */
static int open_image(struct image_work *w, const char *path, struct gsym_diag *diag)
{
	char file[PATH_MAX];
	int err = bundle_resolve(path, file, diag);
	if (err)
		return diag->text[0] ? err : diag_set(diag, err, "%s", strerror(-err));
	CLEANUP(freep) char *resolved = realpath(file, NULL);
	if (!resolved)
		return diag_set(diag, -errno, "%s", strerror(errno));
	err = open_below(w, path, dirname(resolved), diag);
	return err == -ENOEXEC && !diag->text[0] ? diag_set(diag, err, "is no object file") : err;
}

/* ---- Taking ---- */

static int take(struct image_work *w)
{
	struct store_reply reply;
	int err = share_take(&w->converter, &w->request, w->fd, &reply, &w->handle, w->diag);
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
	int err = outcome->offer ? share_give_now(w->o->session.share, outcome->offer) : -EIO;
	w->given = !err;
	w->missing = err && err != -EEXIST;
	if (w->missing)
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
	if (is_stopped(w, 0) && (!outcome.handle || w->missing)) {
		handle_put(outcome.handle);
		return stopped(w);
	}
	w->handle = outcome.handle;
	return outcome.handle ? 0 : diag_set(w->diag, outcome.err, "%s", outcome.diag.text);
}

/* ---- As a file ---- */

static int write_gsym(const struct handle *handle, const char *path, struct gsym_diag *diag)
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

/* ---- gsym store get and put ---- */

static struct object_share_options options_of(const struct store_command *c)
{
	return (struct object_share_options){
		.arch = c->arch,
		.cache = c->cache,
		.debug_dirs = &c->debug_dirs,
		.sources = &c->sources,
		.unmerged = c->merged == TAKE_UNMERGED,
		.debuginfod = c->debuginfod,
	};
}

static int report(const char *path, int err, const struct gsym_diag *diag)
{
	return err == -ECANCELED && !diag->text[0] ? STATUS_FAILED : fail(path, err, diag);
}

static int get_object(struct object_share *o, const char *path, const char *output)
{
	CLEANUP(freep) char *made = NULL;
	struct gsym_diag diag = {""};
	struct image_work w = {.o = o, .act = take};
	if (!output && asprintf(&made, "%s.gsym", path) < 0)
		return fail(path, -ENOMEM, NULL);
	int err = open_image(&w, path, &diag);
	if (err)
		return report(path, err, &diag);
	output = output ? output : made;
	err = write_gsym(w.handle, output, &diag);
	handle_put(w.handle);
	return err ? fail(output, err, &diag) : STATUS_OK;
}

int store_get(const struct store_command *c, int n, char **operands)
{
	struct object_share o;
	const struct object_share_options options = options_of(c);
	(void)n;
	int status = open_store(&o, operands[0], &c->session, &options);
	if (status == STATUS_OK)
		status = get_object(&o, operands[1], c->output);
	close_store(&o);
	return status;
}

static int put_object(struct object_share *o, const char *path, bool *ret_stopped)
{
	char key[KEY_TEXT_SIZE];
	struct gsym_diag diag = {""};
	struct image_work w = {.o = o, .act = put};
	int err = open_image(&w, path, &diag);
	*ret_stopped = err == -ECANCELED;
	if (err)
		return report(path, err, &diag);
	handle_put(w.handle);
	if (w.missing)
		return fail(path, -EIO, &diag);
	session_key_text(&w.key, key);
	say(stdout, "%s  %s  %s", key, w.given ? "published" : "present", path);
	return STATUS_OK;
}

int store_put(const struct store_command *c, int n, char **operands)
{
	struct object_share o;
	const struct object_share_options options = options_of(c);
	bool stopped = false;
	int status = open_store(&o, operands[0], &c->session, &options);
	bool opened = status == STATUS_OK;
	for (int i = 1; opened && i < n && !stopped; i++)
		if (put_object(&o, operands[i], &stopped) != STATUS_OK)
			status = STATUS_FAILED;
	close_store(&o);
	return status;
}

/* ---- gsym convert --shared ---- */

/* The output is the GSYM that was published, or could not be: then it is written all the same. */
static int convert_object(const struct convert_shared *c, struct object_share *o)
{
	char key[KEY_TEXT_SIZE];
	struct gsym_diag diag = {""}, why = {""};
	struct image_work w = {.o = o, .act = put};
	int err = open_image(&w, c->input, &diag);
	if (err)
		return report(c->input, err, &diag);
	err = write_gsym(w.handle, c->output, &why);
	handle_put(w.handle);
	int status = err ? fail(c->output, err, &why) : STATUS_OK;
	if (w.missing)
		return fail(c->input, -EIO, &diag);
	session_key_text(&w.key, key);
	if (status == STATUS_OK && !c->quiet)
		say(stderr, "%s: %s in %s as %s", c->input, w.given ? "published" : "is already",
		    o->session.address, key);
	return status;
}

int convert_shared(const struct convert_shared *c)
{
	struct object_share o;
	int status = open_store(&o, c->address, &c->session, &c->object);
	if (status == STATUS_OK)
		status = convert_object(c, &o);
	close_store(&o);
	return status;
}

/*
 * A store on an HTTP server that takes PUT: one of WebDAV (Apache's mod_dav, lighttpd's mod_webdav, nginx),
 * or a cache of Bazel's.
 *
 * Conditions are kept in one of two ways. Either the server evaluates If-None-Match and If-Match; or, as
 * nginx, it ignores them, but does not overwrite with MOVE if that is not wanted: then an object is written
 * under a temporary name and moved, and an etag is compared by a request of its own. Neither way is atomic
 * on all servers. So leases are written on a condition under a guard (webdav.h); a conversion that is given
 * twice does no harm, and other hosts wait for it: it is written with as few requests as the way allows.
 */
#include "store/transfer/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/transfer/http_store.h"
#include "store/transfer/secret_file.h"
#include "store/transfer/webdav.h"
#include "gsym/base/diag.h"

enum { BEARER_SIZE = 16 * 1024 };

/* How STORE_IF_ABSENT is kept. */
enum http_way {
	HTTP_BY_HEADERS, /* before it was tried, too */
	HTTP_BY_MOVE,
	HTTP_IN_NO_WAY,
};

struct engine {
	struct http_client *client;
	char *address;
	char *bearer_file; /* or NULL */
	bool bazel;
	atomic_int way;         /* enum http_way; as of the last probe */
	atomic_bool no_match;   /* If-Match is ignored; likewise */
	atomic_bool has_guards; /* likewise */
};

/* One transfer. */
struct http_run {
	struct engine *engine;
	struct http_task task;
	struct webdav dav;
	enum http_way way;
	bool no_match, has_guards;
	char authorization[sizeof("Bearer ") + BEARER_SIZE];
};

/* ---- Secrets ---- */

/* The token, without the end of its line: 0 or a negative errno. Read each time, so that it may change. */
static int read_bearer(const char *path, char *ret, size_t size)
{
	int err = secret_file_read(path, ret, size);
	if (err)
		return err;
	ret[strcspn(ret, "\r\n")] = 0;
	for (const char *c = ret; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			return -EINVAL;
	return *ret ? 0 : -EINVAL;
}

static int authorize(struct http_run *run)
{
	static const char kind[] = "Bearer ";
	const size_t n = sizeof(kind) - 1;
	if (!run->engine->bearer_file)
		return 0;
	memcpy(run->authorization, kind, n);
	int err =
		read_bearer(run->engine->bearer_file, run->authorization + n, sizeof(run->authorization) - n);
	if (err)
		return http_fail(&run->task, secret_errno(err), "the bearer file cannot be read: %s",
				 strerror(-err));
	run->dav.authorization = run->authorization;
	return 0;
}

/* ---- Reading ---- */

static bool is_lease(const char *name)
{
	static const char end[] = ".lease";
	const size_t n = strlen(name);
	return n >= sizeof(end) && strcmp(name + n - (sizeof(end) - 1), end) == 0;
}

/* A cache before the server may keep conversions, but no leases. */
static void bypass_caches(const char *name, struct http_headers *headers)
{
	if (is_lease(name))
		http_header(headers, "Cache-Control", "no-cache");
}

static int get_object(struct http_run *run)
{
	struct http_body body;
	struct http_request request = {0};
	struct http_headers headers = {0};
	struct http_answer answer = {0};
	http_begin_get(&body, &run->task, &request);
	bypass_caches(run->task.transfer->name, &headers);
	int err = webdav_exchange(&run->dav, run->task.transfer->name, &request, &headers, &answer);
	return err ? err : http_end_get(&body, &answer);
}

static int head_object(struct http_run *run, struct http_answer *ret)
{
	struct http_request request = {.method = "HEAD"};
	struct http_headers headers = {0};
	bypass_caches(run->task.transfer->name, &headers);
	int err = webdav_exchange(&run->dav, run->task.transfer->name, &request, &headers, ret);
	if (err)
		return err;
	http_fill_reply(&run->task, ret);
	if (ret->status != 200)
		return http_status_error(&run->task, ret);
	run->task.transfer->reply.size = ret->length;
	return 0;
}

/* ---- Writing ---- */

static int map_put(struct http_run *run, const struct http_answer *answer)
{
	http_fill_reply(&run->task, answer);
	if (answer->status == 200 || answer->status == 201 || answer->status == 204)
		return 0;
	int err = http_status_error(&run->task, answer);
	if (err == -ENOENT && run->task.transfer->condition != STORE_IF_MATCH)
		return http_fail(&run->task, -EREMOTEIO, "HTTP %u, cannot be written", answer->status);
	return err;
}

static int put_once(struct http_run *run, const char *name, enum store_condition condition,
		    struct http_answer *ret)
{
	struct http_request request = {.method = "PUT",
				       .has_body = true,
				       .fd = run->task.transfer->fd,
				       .size = run->task.transfer->size};
	struct http_headers headers = {0};
	http_condition(&headers, condition, run->task.transfer->etag);
	return webdav_exchange(&run->dav, name, &request, &headers, ret);
}

/* What servers of WebDAV say where a collection is missing: 409, as they should; nginx 500. */
static bool may_lack_collection(const struct http_answer *answer)
{
	return answer->status == 404 || answer->status == 409 || answer->status == 500;
}

static int put_object(struct http_run *run, const char *name, enum store_condition condition)
{
	struct http_answer answer = {0};
	int err = put_once(run, name, condition, &answer);
	if (!err && may_lack_collection(&answer) && condition != STORE_IF_MATCH &&
	    webdav_make_collections(&run->dav, name))
		err = put_once(run, name, condition, &answer);
	return err ? err : map_put(run, &answer);
}

/* Deletes the object @name, if there is one; its answer does not matter. */
static void discard(struct http_run *run, const char *name)
{
	struct http_request request = {.method = "DELETE"};
	struct http_headers headers = {0};
	struct http_answer answer = {0};
	const struct store_reply reply = run->task.transfer->reply;
	webdav_exchange(&run->dav, name, &request, &headers, &answer);
	run->task.transfer->reply = reply;
}

static int put_by_move(struct http_run *run)
{
	struct http_answer answer = {0};
	char temp[STORE_NAME_SIZE], prefix[STORE_NAME_SIZE];
	snprintf(prefix, sizeof(prefix), "%s.", run->task.transfer->name);
	int err = http_random_name(prefix, ".tmp", temp);
	if (!err)
		err = put_object(run, temp, STORE_ALWAYS);
	if (err)
		return err;
	/* A server may make it of the name. */
	run->task.transfer->reply.etag[0] = 0;
	err = webdav_move(&run->dav, temp, run->task.transfer->name, &answer);
	if (!err)
		err = map_put(run, &answer);
	if (err)
		discard(run, temp);
	return err;
}

/* Whether the object has the etag now. */
static int compare_etag(struct http_run *run)
{
	struct http_answer answer = {0};
	int err = head_object(run, &answer);
	/* Those of what is to be replaced. */
	run->task.transfer->reply.etag[0] = 0;
	run->task.transfer->reply.modified = 0;
	if (err)
		return err;
	if (!*answer.etag)
		return http_fail(&run->task, -EOPNOTSUPP, "the server has no ETag");
	return strcmp(answer.etag, run->task.transfer->etag) == 0 ? 0 : -EEXIST;
}

static bool is_compared_here(const struct http_run *run)
{
	return run->task.transfer->condition == STORE_IF_MATCH && run->no_match;
}

/* Evaluates the condition and writes. */
static int put_in_a_way(struct http_run *run)
{
	const struct transfer *transfer = run->task.transfer;
	if (is_compared_here(run)) {
		int err = compare_etag(run);
		return err ? err : put_object(run, transfer->name, STORE_ALWAYS);
	}
	if (transfer->condition == STORE_IF_ABSENT && run->way == HTTP_BY_MOVE)
		return put_by_move(run);
	if (transfer->condition == STORE_IF_ABSENT && run->way == HTTP_IN_NO_WAY)
		return http_fail(&run->task, -EOPNOTSUPP, "the server has no conditions");
	return put_object(run, transfer->name, transfer->condition);
}

static int put_on_condition(struct http_run *run)
{
	const struct transfer *transfer = run->task.transfer;
	if (!run->has_guards || transfer->condition == STORE_ALWAYS || !is_lease(transfer->name))
		return put_in_a_way(run);
	int err = webdav_take_guard(&run->dav, transfer->name);
	if (err)
		return err;
	err = put_in_a_way(run);
	webdav_drop_guard(&run->dav, transfer->name);
	return err;
}

/* Many servers do not say in the answer to PUT what the etag and the time are. */
static int put(struct http_run *run)
{
	struct store_reply *reply = &run->task.transfer->reply;
	struct http_answer answer = {0};
	int err = put_on_condition(run);
	if (err)
		return err;
	if (!*reply->etag)
		head_object(run, &answer);
	reply->size = 0;
	if (!reply->modified)
		reply->modified = reply->now;
	return 0;
}

static int delete_now(struct http_run *run)
{
	struct http_request request = {.method = "DELETE"};
	struct http_headers headers = {0};
	struct http_answer answer;
	const bool compared = is_compared_here(run);
	int err = compared ? compare_etag(run) : 0;
	if (err)
		return err;
	http_condition(&headers, compared ? STORE_ALWAYS : run->task.transfer->condition,
		       run->task.transfer->etag);
	err = webdav_exchange(&run->dav, run->task.transfer->name, &request, &headers, &answer);
	if (err)
		return err;
	http_fill_reply(&run->task, &answer);
	return http_succeeded(&answer) ? 0 : http_status_error(&run->task, &answer);
}

static int delete_object(struct http_run *run)
{
	const struct transfer *transfer = run->task.transfer;
	if (!run->has_guards || transfer->condition == STORE_ALWAYS)
		return delete_now(run);
	int err = webdav_take_guard(&run->dav, transfer->name);
	if (err)
		return err;
	err = delete_now(run);
	webdav_drop_guard(&run->dav, transfer->name);
	return err;
}

/* ---- The engine ---- */

static int run_operation(struct http_run *run)
{
	struct http_answer answer = {0};
	switch (run->task.transfer->operation) {
	case STORE_GET: return get_object(run);
	case STORE_HEAD: return head_object(run, &answer);
	case STORE_PUT: return put(run);
	case STORE_DELETE: return delete_object(run);
	case STORE_LIST: return webdav_list(&run->dav);
	}
	return -EINVAL;
}

static void begin_run(struct http_run *ret, struct engine *engine, struct transfer *transfer)
{
	*ret = (struct http_run){.engine = engine,
				 .way = (enum http_way)atomic_load(&engine->way),
				 .no_match = atomic_load(&engine->no_match),
				 .has_guards = atomic_load(&engine->has_guards)};
	http_task_init(&ret->task, engine->client, transfer);
	ret->dav = (struct webdav){.task = &ret->task, .address = engine->address};
}

static int end_run(struct http_run *run, int err)
{
	explicit_bzero(run->authorization, sizeof(run->authorization));
	run->task.transfer->reply.err = err;
	return err;
}

static int run_http(struct engine *engine, struct transfer *transfer)
{
	struct http_run run;
	begin_run(&run, engine, transfer);
	int err = http_transfer_valid(transfer) ? authorize(&run) : -EINVAL;
	if (!err)
		err = run_operation(&run);
	return end_run(&run, err);
}

/* Writes the object of the probe on a condition. */
static int put_probe(struct http_run *run, enum store_condition condition, const char *etag)
{
	run->task.transfer->condition = condition;
	run->task.transfer->etag = etag;
	return put_on_condition(run);
}

/*
 * In the way that is set: 1 if it holds, 0 or a negative errno. A server may also say that it knows no such
 * condition.
 */
static int probe_way(struct http_run *run)
{
	int err = put_probe(run, STORE_IF_ABSENT, NULL);
	if (err)
		return err == -EOPNOTSUPP || err == -EEXIST ? 0 : err;
	err = put_probe(run, STORE_IF_ABSENT, NULL);
	return err == -EEXIST ? 1 : err;
}

/* By the headers: finds out whether If-Match holds, too. */
static int probe_headers(struct http_run *run)
{
	run->way = HTTP_BY_HEADERS;
	run->no_match = false;
	int ret = probe_way(run);
	if (ret != 1)
		return ret;
	int err = put_probe(run, STORE_IF_MATCH, "\"gsymfs-no-such-etag\"");
	run->no_match = err == 0 || err == -EOPNOTSUPP;
	return err && !run->no_match && err != -EEXIST ? err : 1;
}

static int probe_move(struct http_run *run)
{
	run->way = HTTP_BY_MOVE;
	run->no_match = true;
	int ret = probe_way(run);
	/* Servers without MOVE say 405, 501 or 400. */
	return ret == -EACCES || ret == -EOPNOTSUPP ? 0 : ret;
}

static int probe_ways(struct http_run *run)
{
	int ret = probe_headers(run);
	if (ret == 0) {
		discard(run, run->task.transfer->name);
		ret = probe_move(run);
	}
	if (ret == 0)
		run->way = HTTP_IN_NO_WAY;
	if (ret == 1) {
		int guards = webdav_probe_guard(&run->dav, run->task.transfer->name);
		run->has_guards = guards == 1;
		ret = guards < 0 ? guards : 1;
	}
	if (ret >= 0) {
		atomic_store(&run->engine->way, run->way);
		atomic_store(&run->engine->no_match, run->no_match);
		atomic_store(&run->engine->has_guards, run->has_guards);
	}
	return ret;
}

static int probe_http(struct engine *engine, struct transfer *transfer)
{
	struct http_run run;
	char name[STORE_NAME_SIZE];
	begin_run(&run, engine, transfer);
	run.has_guards = false;
	if (engine->bazel) /* has neither leases nor names for a probe */
		return end_run(&run, 0);
	transfer->operation = STORE_PUT;
	transfer->name = name;
	transfer->size = 0;
	int ret = http_random_name("gsymfs1/probe-", "", name);
	if (!ret)
		ret = authorize(&run);
	if (!ret) {
		ret = probe_ways(&run);
		discard(&run, name);
	}
	transfer->name = NULL;
	end_run(&run, ret < 0 ? ret : 0);
	return ret;
}

static void close_http(struct engine *engine)
{
	if (!engine)
		return;
	http_client_close(engine->client);
	free(engine->address);
	free(engine->bearer_file);
	free(engine);
}

static int open_http(const struct store_options *options, struct engine **ret, struct gsym_diag *diag)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	if (!engine)
		return -ENOMEM;
	engine->bazel = options->bazel;
	int err = http_address_make(options->address, &engine->address, diag);
	if (!err)
		err = http_client_open(options, &engine->client, diag);
	if (!err && options->bearer_file && !(engine->bearer_file = strdup(options->bearer_file)))
		err = -ENOMEM;
	if (err) {
		close_http(engine);
		return err;
	}
	*ret = engine;
	return 0;
}

const struct engine_type http_engine = {
	.name = "HTTP", .open = open_http, .run = run_http, .probe = probe_http, .close = close_http};

/*
 * A store on an HTTP server that takes PUT: one of WebDAV (Apache's mod_dav, lighttpd's mod_webdav, nginx),
 * or any other.
 *
 * Leases need a server that evaluates If-None-Match and If-Match, which the probe finds out. Apache evaluates
 * them before it writes, so that two hosts that write at the same moment may both succeed; that costs a
 * conversion. Where a server ignores the conditions, an object replaces an equally good one.
 */
#include "store/transfer/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/transfer/http_store.h"
#include "store/transfer/secret_file.h"
#include "gsym/base/diag.h"

enum {
	BEARER_SIZE = 16 * 1024,
	WITHOUT_EXPECT_MAX = 64 * 1024, /* bytes of a body */
};

struct engine {
	struct http_client *client;
	char *address;
	char *bearer_file; /* or NULL */
};

/* One transfer. */
struct http_run {
	struct engine *engine;
	struct http_task task;
	char authorization[sizeof("Bearer ") + BEARER_SIZE]; /* "": none */
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
	return err ? http_fail(&run->task, secret_errno(err), "the bearer file cannot be read: %s",
			       strerror(-err))
		   : 0;
}

/* ---- Requests ---- */

/* For the object @name, or the collection of a name with a slash at its end. Frees @headers. */
static int exchange(struct http_run *run, const char *name, struct http_request *request,
		    struct http_headers *headers, struct http_answer *ret)
{
	char *url = NULL;
	int err = -ENOMEM;
	/* libcurl 7.88 asks for a "100 Continue" before any body. Where requests are signed it has to. */
	if (request->has_body && request->size <= WITHOUT_EXPECT_MAX)
		http_header(headers, "Expect", "");
	if (*run->authorization)
		http_header(headers, "Authorization", run->authorization);
	request->headers = headers;
	if (asprintf(&url, "%s/%s", run->engine->address, name) >= 0) {
		request->url = url;
		err = http_exchange(&run->task, request, ret);
		free(url);
	}
	http_headers_deinit(headers);
	return err;
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
	int err = exchange(run, run->task.transfer->name, &request, &headers, &answer);
	return err ? err : http_end_get(&body, &answer);
}

static int head_object(struct http_run *run, struct http_answer *ret)
{
	struct http_request request = {.method = "HEAD"};
	struct http_headers headers = {0};
	bypass_caches(run->task.transfer->name, &headers);
	int err = exchange(run, run->task.transfer->name, &request, &headers, ret);
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

static int put_once(struct http_run *run, struct http_answer *ret)
{
	const struct transfer *transfer = run->task.transfer;
	struct http_request request = {
		.method = "PUT", .has_body = true, .fd = transfer->fd, .size = transfer->size};
	struct http_headers headers = {0};
	http_condition(&headers, transfer->condition, transfer->etag);
	return exchange(run, transfer->name, &request, &headers, ret);
}

/* What servers of WebDAV say where a collection is missing: 409, as they should; nginx 500. */
static bool may_lack_collection(const struct http_answer *answer)
{
	return answer->status == 404 || answer->status == 409 || answer->status == 500;
}

/*
 * Apache forbids to make what another host makes at the same moment: it has looked whether it exists, and
 * then cannot make it. Asked again it says that it exists, unless it is forbidden indeed.
 */
static bool make_collection(struct http_run *run, const char *name)
{
	struct http_answer answer = {0};
	for (unsigned tries = 0; tries < 2; tries++) {
		struct http_request request = {.method = "MKCOL"};
		struct http_headers headers = {0};
		if (exchange(run, name, &request, &headers, &answer))
			return false;
		if (answer.status != 403)
			break;
	}
	return answer.status == 201 || answer.status == 405;
}

/* True if each collection of @name is there now, as far as the server says. */
static bool make_collections(struct http_run *run, const char *name)
{
	bool all = true;
	for (const char *slash = strchr(name, '/'); slash && all; slash = strchr(slash + 1, '/')) {
		char part[STORE_NAME_SIZE + 1];
		snprintf(part, sizeof(part), "%.*s", (int)(slash + 1 - name), name);
		all = make_collection(run, part);
	}
	return all;
}

static int put_object(struct http_run *run)
{
	const struct transfer *transfer = run->task.transfer;
	struct http_answer answer = {0};
	int err = put_once(run, &answer);
	if (!err && may_lack_collection(&answer) && transfer->condition != STORE_IF_MATCH &&
	    make_collections(run, transfer->name))
		err = put_once(run, &answer);
	return err ? err : map_put(run, &answer);
}

/* Many servers do not say in the answer to PUT what the etag and the time are. */
static int put(struct http_run *run)
{
	struct store_reply *reply = &run->task.transfer->reply;
	struct http_answer answer = {0};
	int err = put_object(run);
	if (err)
		return err;
	if (!*reply->etag)
		head_object(run, &answer);
	reply->size = 0;
	if (!reply->modified)
		reply->modified = reply->now;
	return 0;
}

static int delete_object(struct http_run *run)
{
	struct http_request request = {.method = "DELETE"};
	struct http_headers headers = {0};
	struct http_answer answer;
	int err = exchange(run, run->task.transfer->name, &request, &headers, &answer);
	if (err)
		return err;
	http_fill_reply(&run->task, &answer);
	return http_succeeded(&answer) ? 0 : http_status_error(&run->task, &answer);
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
	}
	return -EINVAL;
}

static void begin_run(struct http_run *ret, struct engine *engine, struct transfer *transfer)
{
	ret->engine = engine;
	ret->authorization[0] = 0;
	http_task_init(&ret->task, engine->client, transfer);
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

static int put_probe(void *user, enum store_condition condition, const char *etag)
{
	struct http_run *run = user;
	run->task.transfer->condition = condition;
	run->task.transfer->etag = etag;
	return put_object(run);
}

static int probe_http(struct engine *engine, struct transfer *transfer)
{
	struct http_run run;
	char name[STORE_NAME_SIZE];
	begin_run(&run, engine, transfer);
	int ret = http_probe_name(transfer, name);
	if (!ret)
		ret = authorize(&run);
	if (!ret) {
		ret = http_probe_conditions(put_probe, &run);
		const struct store_reply reply = transfer->reply;
		delete_object(&run);
		transfer->reply = reply;
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

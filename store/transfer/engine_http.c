/*
 * Stores on HTTP servers: one of WebDAV (Apache's mod_dav, lighttpd's mod_webdav, nginx), any other that
 * takes PUT, and a bucket of S3 by path style, ENDPOINT/BUCKET/PREFIX/NAME.
 *
 * Leases need a server that evaluates If-None-Match, which is tried with the first object that is written on
 * it. Apache evaluates conditions before it writes, so that two hosts that write at the same moment may both
 * succeed; that costs a conversion, as does a server that ignores If-Match.
 *
 * Requests to S3 are signed by libcurl (Signature Version 4) with the digest of their body. libcurl 7.88.1
 * signs paths as they are, all headers it is given, and no digest but one that is given; what is sent here
 * is within that: names and prefixes are of bytes that need no escape, and no header is removed. Ceph (16.2)
 * compares a tag with its quotes to one without, so that none matches: what does not match is sent again
 * without quotes.
 */
#include "store/transfer/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/transfer/http_exchange.h"
#include "store/transfer/http_secrets.h"
#include "store/client/sodium.h"
#include "store/client/store_address.h"
#include "gsym/base/ascii.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"

enum {
	BEARER_SIZE = 16 * 1024,
	WITHOUT_EXPECT_MAX = 64 * 1024, /* bytes of a body */
	DIGEST_SIZE = 32,               /* of SHA-256 */
};

struct http_store {
	struct http_client *client;
	char *address;     /* that names follow, with a slash at its end */
	char *bearer_file; /* or NULL */
	char scope[128];   /* of signatures of S3; "": a server of HTTP */
	enum { CONDITIONS_UNKNOWN, CONDITIONS_HOLD, CONDITIONS_IGNORED } _Atomic conditions;
};

/* One transfer. */
struct http_run {
	struct http_store *engine;
	struct http_task task;
	char authorization[sizeof("Bearer ") + BEARER_SIZE]; /* "": none */
	struct s3_credentials credentials;
	char code[64]; /* of the last failure of S3: "NoSuchKey"; "": none */
};

static bool is_s3(const struct http_run *run)
{
	return *run->engine->scope;
}

/* ---- Secrets ---- */

static int authorize(struct http_run *run)
{
	static const char kind[] = "Bearer ";
	const size_t n = sizeof(kind) - 1;
	int err = 0;
	memcpy(run->authorization, kind, n);
	if (is_s3(run))
		err = s3_credentials_read(&run->credentials);
	else if (run->engine->bearer_file)
		err = bearer_read(run->engine->bearer_file, run->authorization + n,
				  sizeof(run->authorization) - n);
	else
		run->authorization[0] = 0;
	if (err == -ENOENT && is_s3(run))
		return http_fail(&run->task, -EACCES, "there are no credentials for S3");
	return err ? http_fail(&run->task, secret_errno(err), "%s cannot be read: %s",
			       is_s3(run) ? "credentials for S3" : "the bearer file", strerror(-err))
		   : 0;
}

/* ---- Signatures of S3 ---- */

static int hash_block(void *state, const void *bytes, size_t n, uint64_t off)
{
	(void)off;
	sodium_library(NULL)->sha256_update(state, bytes, n);
	return 0;
}

/* The digest of the body, in a header that is part of what is signed. */
static int sign(struct http_run *run, const struct http_request *request, struct http_headers *headers)
{
	uint8_t digest[DIGEST_SIZE];
	char text[2 * DIGEST_SIZE + 1];
	const struct transfer *transfer = run->task.transfer;
	const struct sodium *sodium = sodium_library(NULL);
	crypto_hash_sha256_state state;
	sodium->sha256_init(&state);
	int err = request->sends ? read_blocks(transfer->fd, transfer->size, hash_block, &state) : 0;
	if (err)
		return err == -EBADMSG ? -EIO : err;
	sodium->sha256_final(&state, digest);
	hex_write(text, digest, sizeof(digest));
	http_header(headers, "x-amz-content-sha256", text);
	if (*run->credentials.token)
		http_header(headers, "x-amz-security-token", run->credentials.token);
	return 0;
}

/* "<Error><Code>NoSuchKey</Code>..." */
static void remember_code(struct http_run *run, const char *failure)
{
	static const char begin[] = "<Code>";
	const char *at = strstr(failure, begin), *end = at ? strstr(at, "</Code>") : NULL;
	size_t n = end ? (size_t)(end - at) - strlen(begin) : 0;
	snprintf(run->code, sizeof(run->code), "%.*s", n < sizeof(run->code) ? (int)n : 0,
		 end ? at + strlen(begin) : "");
}

/* ---- Requests ---- */

static int add_secrets(struct http_run *run, struct http_request *request, struct http_headers *headers)
{
	if (is_s3(run))
		return sign(run, request, headers);
	/* libcurl 7.88 asks for a "100 Continue" before any body. Where requests are signed it has to. */
	if (request->sends && run->task.transfer->size <= WITHOUT_EXPECT_MAX)
		http_header(headers, "Expect", "");
	if (*run->authorization)
		http_header(headers, "Authorization", run->authorization);
	return 0;
}

static void fill_reply(struct http_run *run, const struct http_answer *answer)
{
	struct store_reply *reply = &run->task.transfer->reply;
	if (answer->now)
		reply->now = answer->now;
	if (!http_succeeded(answer))
		return;
	reply->modified = answer->modified;
	memcpy(reply->etag, answer->etag, sizeof(reply->etag));
}

/* For the object @name, or the collection of a name with a slash at its end. Frees @headers. */
static int exchange(struct http_run *run, const char *name, struct http_request *request,
		    struct http_headers *headers, struct http_answer *ret)
{
	*ret = (struct http_answer){.status = 0};
	const struct http_signature signature = {run->engine->scope, run->credentials.key,
						 run->credentials.secret};
	char *url = NULL;
	int err = add_secrets(run, request, headers);
	request->headers = headers;
	request->signature = is_s3(run) ? &signature : NULL;
	if (!err && asprintf(&url, "%s%s", run->engine->address, name) < 0) {
		url = NULL;
		err = -ENOMEM;
	}
	request->url = url;
	if (!err)
		err = http_exchange(&run->task, request, ret);
	free(url);
	http_headers_deinit(headers);
	remember_code(run, is_s3(run) && !err && !http_succeeded(ret) ? ret->failure : "");
	if (!err)
		fill_reply(run, ret);
	return err;
}

/* What a status that is none of success means for a transfer, as of struct store_reply; sets the text. */
static int status_error(struct http_run *run, const struct http_answer *answer)
{
	const bool conditional = run->task.transfer->condition != STORE_ALWAYS;
	const unsigned status = answer->status;
	const char *why = "";
	int err = -EREMOTEIO;
	switch (status) {
	case 404:
	case 410:
		if (strcmp(run->code, "NoSuchBucket") != 0)
			return -ENOENT;
		break;
	case 412: return -EEXIST;
	case 409:
		err = conditional ? -EAGAIN : err;
		why = ", conflict";
		break;
	case 401:
	case 403:
	case 405:
		err = -EACCES;
		why = ", not permitted";
		break;
	case 413:
		err = -EFBIG;
		why = ", the object is too large for the server";
		break;
	case 429: why = ", too many requests"; break;
	case 400:
	case 501:
		err = conditional ? -EOPNOTSUPP : err;
		why = status == 501 ? ", not implemented" : "";
		break;
	default: why = status / 100 == 3 ? ", redirections are not followed" : "";
	}
	return http_fail(&run->task, err, "HTTP %u%s%s", status, *run->code ? ", " : why,
			 *run->code ? run->code : "");
}

/* ---- Reading ---- */

static bool is_lease(const char *name)
{
	static const char end[] = ".lease";
	const size_t n = strlen(name);
	return n >= sizeof(end) && strcmp(name + n - (sizeof(end) - 1), end) == 0;
}

static int read_object(struct http_run *run)
{
	struct transfer *transfer = run->task.transfer;
	const bool gets = transfer->operation == STORE_GET;
	struct http_request request = {.method = gets ? "GET" : "HEAD", .receives = gets};
	struct http_headers headers = {0};
	struct http_answer answer;
	/* A cache before the server may keep conversions, but no leases. */
	if (!is_s3(run) && is_lease(transfer->name))
		http_header(&headers, "Cache-Control", "no-cache");
	int err = exchange(run, run->task.transfer->name, &request, &headers, &answer);
	if (err)
		return err;
	if (answer.status != 200)
		return status_error(run, &answer);
	transfer->reply.size = answer.size;
	return 0;
}

/* ---- Writing ---- */

static void add_condition(struct http_run *run, struct http_headers *headers, bool bare)
{
	char text[STORE_ETAG_SIZE];
	const char *etag = run->task.transfer->etag;
	const enum store_condition condition = run->task.transfer->condition;
	const size_t n = condition == STORE_IF_MATCH ? strlen(etag) : 0;
	if (condition == STORE_IF_ABSENT)
		http_header(headers, "If-None-Match", "*");
	if (condition != STORE_IF_MATCH)
		return;
	bare = bare && n >= 2 && etag[0] == '"' && etag[n - 1] == '"';
	snprintf(text, sizeof(text), "%.*s", (int)(bare ? n - 2 : n), etag + bare);
	http_header(headers, "If-Match", text);
}

static int put_once(struct http_run *run, bool bare, struct http_answer *ret)
{
	struct http_request request = {.method = "PUT", .sends = true};
	struct http_headers headers = {0};
	add_condition(run, &headers, bare);
	return exchange(run, run->task.transfer->name, &request, &headers, ret);
}

/* What servers of WebDAV say where a collection is missing: 409, as they should; nginx 500. */
static bool may_lack_collection(const struct http_run *run, const struct http_answer *answer)
{
	return !is_s3(run) && run->task.transfer->condition != STORE_IF_MATCH &&
	       (answer->status == 404 || answer->status == 409 || answer->status == 500);
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
	const bool matches = transfer->condition == STORE_IF_MATCH;
	struct http_answer answer;
	int err = put_once(run, false, &answer);
	if (!err && is_s3(run) && matches && answer.status == 412)
		err = put_once(run, true, &answer);
	else if (!err && may_lack_collection(run, &answer) && make_collections(run, transfer->name))
		err = put_once(run, false, &answer);
	if (err || answer.status == 200 || answer.status == 201 || answer.status == 204)
		return err;
	err = status_error(run, &answer);
	return err == -ENOENT && !matches
		       ? http_fail(&run->task, -EREMOTEIO, "HTTP %u, cannot be written", answer.status)
		       : err;
}

static int delete_object(struct http_run *run)
{
	struct http_request request = {.method = "DELETE"};
	struct http_headers headers = {0};
	struct http_answer answer;
	int err = exchange(run, run->task.transfer->name, &request, &headers, &answer);
	return err || http_succeeded(&answer) ? err : status_error(run, &answer);
}

/* The first one that succeeds is done twice: the second time it must not. */
static int put_if_absent(struct http_run *run)
{
	static const char ignored[] = "the server ignores If-None-Match";
	struct http_store *engine = run->engine;
	if (atomic_load(&engine->conditions) == CONDITIONS_IGNORED)
		return http_fail(&run->task, -EOPNOTSUPP, ignored);
	int err = put_object(run);
	const bool is_written = !err;
	if (is_written && atomic_load(&engine->conditions) == CONDITIONS_UNKNOWN) {
		err = put_object(run);
		if (!err) {
			atomic_store(&engine->conditions, CONDITIONS_IGNORED);
			delete_object(run);
			return http_fail(&run->task, -EOPNOTSUPP, ignored);
		}
	}
	if (err == -EEXIST)
		atomic_store(&engine->conditions, CONDITIONS_HOLD);
	if (is_written)
		run->task.transfer->reply.text[0] = 0;
	return is_written ? 0 : err;
}

/* ---- The engine ---- */

static int run_operation(struct http_run *run)
{
	switch (run->task.transfer->operation) {
	case STORE_GET:
	case STORE_HEAD: return read_object(run);
	case STORE_PUT:
		return run->task.transfer->condition == STORE_IF_ABSENT ? put_if_absent(run)
									: put_object(run);
	case STORE_DELETE: return delete_object(run);
	}
	return -EINVAL;
}

static int begin_run(struct http_run *ret, struct http_store *engine, struct transfer *transfer)
{
	memset(ret, 0, sizeof(*ret));
	ret->engine = engine;
	http_task_init(&ret->task, engine->client, transfer);
	return authorize(ret);
}

static int end_run(struct http_run *run, int err)
{
	explicit_bzero(run->authorization, sizeof(run->authorization));
	explicit_bzero(&run->credentials, sizeof(run->credentials));
	return run->task.transfer->reply.err = err;
}

static int run_transfer(void *engine, struct transfer *transfer)
{
	struct http_run run;
	int err = begin_run(&run, engine, transfer);
	return end_run(&run, err ? err : run_operation(&run));
}

/* ---- Where it is ---- */

static const char *first_variable(const char *one, const char *other)
{
	const char *value = getenv(one);
	if (!value || !*value)
		value = getenv(other);
	return value && *value ? value : NULL;
}

static size_t trimmed(const char *text)
{
	size_t n = strlen(text);
	while (n > 0 && text[n - 1] == '/')
		n--;
	return n;
}

/* ENDPOINT/BUCKET/PREFIX/ of "s3://BUCKET/PREFIX", which the client has checked. */
static int set_bucket(struct http_store *engine, const char *address, struct gsym_diag *diag)
{
	const char *variable = first_variable("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
	const char *region = first_variable("AWS_REGION", "AWS_DEFAULT_REGION"), *place = address + 5;
	char aws[128];
	region = region ? region : "us-east-1";
	if (strlen(region) > 64 ||
	    strspn(region, "-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") !=
		    strlen(region))
		return diag_set(diag, -EINVAL, "the region of S3 is invalid");
	snprintf(engine->scope, sizeof(engine->scope), "aws:amz:%s:s3", region);
	snprintf(aws, sizeof(aws), "https://s3.%s.amazonaws.com", region);
	const char *endpoint = variable ? variable : aws;
	if (store_scheme_of(endpoint) != STORE_HTTP)
		return diag_set(diag, -EINVAL, "%s: is no address of the form https://HOST", endpoint);
	int err = store_options_check(&(const struct store_options){.address = endpoint}, diag);
	if (err)
		return err;
	if (asprintf(&engine->address, "%.*s/%.*s/", (int)trimmed(endpoint), endpoint, (int)trimmed(place),
		     place) >= 0)
		return 0;
	engine->address = NULL;
	return -ENOMEM;
}

static void close_engine(void *opened)
{
	struct http_store *engine = opened;
	if (!engine)
		return;
	http_client_close(engine->client);
	free(engine->address);
	free(engine->bearer_file);
	free(engine);
}

/* @err: of setting the place of @engine */
static int open_client(struct http_store *engine, int err, const struct store_options *options, void **ret,
		       struct gsym_diag *diag)
{
	if (!err)
		err = http_client_open(options, &engine->client, diag);
	if (err)
		close_engine(engine);
	else
		*ret = engine;
	return err;
}

static int open_http(const struct store_options *options, void **ret, struct gsym_diag *diag)
{
	struct http_store *engine = calloc(1, sizeof(*engine));
	int err = 0;
	if (!engine)
		return -ENOMEM;
	if (asprintf(&engine->address, "%.*s/", (int)trimmed(options->address), options->address) < 0) {
		engine->address = NULL;
		err = -ENOMEM;
	}
	if (!err && options->bearer_file && !(engine->bearer_file = strdup(options->bearer_file)))
		err = -ENOMEM;
	return open_client(engine, err, options, ret, diag);
}

static int open_s3(const struct store_options *options, void **ret, struct gsym_diag *diag)
{
	if (!sodium_library(diag))
		return -ELIBACC;
	struct http_store *engine = calloc(1, sizeof(*engine));
	return engine ? open_client(engine, set_bucket(engine, options->address, diag), options, ret, diag)
		      : -ENOMEM;
}

const struct engine_type http_engine = {.open = open_http, .run = run_transfer, .close = close_engine};
const struct engine_type s3_engine = {.open = open_s3, .run = run_transfer, .close = close_engine};

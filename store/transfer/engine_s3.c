/*
 * A store in a bucket of S3, by path style: ENDPOINT/BUCKET/PREFIX/NAME. Requests are signed by libcurl
 * (Signature Version 4) with the digest of their body.
 *
 * libcurl 7.88.1 signs paths as they are, all headers it is given, and no digest but one that is given; what
 * is sent here is within that: names and prefixes are of bytes that need no escape, parameters are sorted and
 * escaped, and no header is removed.
 *
 * Ceph (16.2) compares a tag with its quotes to one without, so that none matches: what does not match is
 * sent again without quotes.
 */
#include "store/transfer/engine.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/transfer/http_store.h"
#include "store/transfer/s3_credentials.h"
#include "store/transfer/secret_file.h"
#include "store/client/sodium.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"

enum {
	DIGEST_SIZE = 32, /* of SHA-256 */
	CHUNK = 64 * 1024,
};

struct engine {
	struct http_client *client;
	char *address; /* ENDPOINT/BUCKET */
	char *prefix;  /* "" or with a slash at its end */
	char scope[128];
};

/* One transfer. */
struct s3_run {
	struct engine *engine;
	struct http_task task;
	struct s3_credentials credentials;
	char code[64]; /* of the last failure: "NoSuchKey"; "": none */
};

/* ---- Requests ---- */

static void print_digest(const uint8_t digest[static DIGEST_SIZE], char ret[static 2 * DIGEST_SIZE + 1])
{
	for (int i = 0; i < DIGEST_SIZE; i++)
		snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

static int digest_file(int fd, uint64_t size, uint8_t ret[static DIGEST_SIZE])
{
	const struct sodium *sodium = sodium_library(NULL);
	crypto_hash_sha256_state state;
	uint8_t *chunk = malloc(CHUNK);
	int err = chunk ? 0 : -ENOMEM;
	sodium->sha256_init(&state);
	for (uint64_t off = 0; off < size && !err; off += CHUNK) {
		const size_t n = size - off < CHUNK ? (size_t)(size - off) : CHUNK;
		err = read_all(fd, chunk, n, (off_t)off);
		if (!err)
			sodium->sha256_update(&state, chunk, n);
	}
	sodium->sha256_final(&state, ret);
	free(chunk);
	return err == -EBADMSG ? -EIO : err;
}

/* The digest of the body, in a header that is part of what is signed. */
static int add_digest(const struct http_request *request, struct http_headers *headers)
{
	uint8_t digest[DIGEST_SIZE];
	char text[2 * DIGEST_SIZE + 1];
	int err = digest_file(request->fd, request->has_body ? request->size : 0, digest);
	if (err)
		return err;
	print_digest(digest, text);
	http_header(headers, "x-amz-content-sha256", text);
	return 0;
}

/* "<Error><Code>NoSuchKey</Code>..." */
static void remember_code(struct s3_run *run, const char *failure)
{
	static const char begin[] = "<Code>";
	const char *at = strstr(failure, begin), *end = at ? strstr(at, "</Code>") : NULL;
	size_t n = end ? (size_t)(end - at) - strlen(begin) : 0;
	snprintf(run->code, sizeof(run->code), "%.*s", n < sizeof(run->code) ? (int)n : 0,
		 end ? at + strlen(begin) : "");
}

/* Sends @request for @target, what follows the address, with @headers, which are freed. */
static int s3_exchange(struct s3_run *run, const char *target, struct http_request *request,
		       struct http_headers *headers, struct http_answer *ret)
{
	const struct http_signature signature = {run->engine->scope, run->credentials.key,
						 run->credentials.secret};
	char *url = NULL;
	int err = add_digest(request, headers);
	if (*run->credentials.token)
		http_header(headers, "x-amz-security-token", run->credentials.token);
	request->headers = headers;
	request->signature = &signature;
	if (!err && asprintf(&url, "%s%s", run->engine->address, target) < 0) {
		url = NULL;
		err = -ENOMEM;
	}
	request->url = url;
	if (!err)
		err = http_exchange(&run->task, request, ret);
	free(url);
	http_headers_deinit(headers);
	remember_code(run, !err && !http_succeeded(ret) ? ret->failure : "");
	return err;
}

/* Of the object @name. */
static int object_exchange(struct s3_run *run, const char *name, struct http_request *request,
			   struct http_headers *headers, struct http_answer *ret)
{
	char target[2 * STORE_NAME_SIZE + 2];
	snprintf(target, sizeof(target), "/%s%s", run->engine->prefix, name);
	int err = s3_exchange(run, target, request, headers, ret);
	if (!err)
		http_fill_reply(&run->task, ret);
	return err;
}

static int s3_status_error(struct s3_run *run, const struct http_answer *answer)
{
	int err = http_status_error(&run->task, answer);
	if (answer->status == 404 && strcmp(run->code, "NoSuchBucket") == 0)
		return http_fail(&run->task, -EREMOTEIO, "HTTP 404, NoSuchBucket");
	if (*run->code && err != -ENOENT && err != -EEXIST)
		return http_fail(&run->task, err, "HTTP %u, %s", answer->status, run->code);
	return err;
}

/* ---- Objects ---- */

static int s3_get(struct s3_run *run)
{
	struct http_body body;
	struct http_request request = {0};
	struct http_headers headers = {0};
	struct http_answer answer = {0};
	http_begin_get(&body, &run->task, &request);
	int err = object_exchange(run, run->task.transfer->name, &request, &headers, &answer);
	if (!err)
		err = http_end_get(&body, &answer);
	return err == 0 || http_succeeded(&answer) || !answer.status ? err : s3_status_error(run, &answer);
}

static int s3_head(struct s3_run *run)
{
	struct http_request request = {.method = "HEAD"};
	struct http_headers headers = {0};
	struct http_answer answer = {0};
	int err = object_exchange(run, run->task.transfer->name, &request, &headers, &answer);
	if (err)
		return err;
	if (answer.status != 200)
		return s3_status_error(run, &answer);
	run->task.transfer->reply.size = answer.length;
	return 0;
}

/* ---- Conditions ---- */

static void add_condition(struct http_headers *headers, enum store_condition condition, const char *etag,
			  bool bare)
{
	char text[STORE_ETAG_SIZE];
	const size_t n = etag ? strlen(etag) : 0;
	const bool quoted = n >= 2 && etag[0] == '"' && etag[n - 1] == '"';
	if (condition != STORE_IF_MATCH || !bare || !quoted) {
		http_condition(headers, condition, etag);
		return;
	}
	snprintf(text, sizeof(text), "%.*s", (int)(n - 2), etag + 1);
	http_condition(headers, condition, text);
}

static int put_once(struct s3_run *run, enum store_condition condition, bool bare)
{
	const struct transfer *transfer = run->task.transfer;
	struct http_request request = {
		.method = "PUT", .has_body = true, .fd = transfer->fd, .size = transfer->size};
	struct http_headers headers = {0};
	struct http_answer answer = {0};
	add_condition(&headers, condition, transfer->etag, bare);
	int err = object_exchange(run, transfer->name, &request, &headers, &answer);
	if (err)
		return err;
	if (answer.status != 200) {
		err = s3_status_error(run, &answer);
		return err == -ENOENT && condition != STORE_IF_MATCH ? -EREMOTEIO : err;
	}
	/* The answer has no other time. */
	run->task.transfer->reply.modified = answer.now;
	return 0;
}

/* A tag without its quotes matches no other object than one with them. */
static int put_matching(struct s3_run *run)
{
	int err = put_once(run, STORE_IF_MATCH, false);
	return err == -EEXIST && put_once(run, STORE_IF_MATCH, true) == 0 ? 0 : err;
}

static int s3_put(struct s3_run *run)
{
	const enum store_condition condition = run->task.transfer->condition;
	return condition == STORE_IF_MATCH ? put_matching(run) : put_once(run, condition, false);
}

static int s3_delete(struct s3_run *run)
{
	struct http_request request = {.method = "DELETE"};
	struct http_headers headers = {0};
	struct http_answer answer = {0};
	int err = object_exchange(run, run->task.transfer->name, &request, &headers, &answer);
	if (err)
		return err;
	return http_succeeded(&answer) ? 0 : s3_status_error(run, &answer);
}

/* ---- The engine ---- */

static int run_operation(struct s3_run *run)
{
	switch (run->task.transfer->operation) {
	case STORE_GET: return s3_get(run);
	case STORE_HEAD: return s3_head(run);
	case STORE_PUT: return s3_put(run);
	case STORE_DELETE: return s3_delete(run);
	}
	return -EINVAL;
}

static int begin_s3_run(struct s3_run *ret, struct engine *engine, struct transfer *transfer)
{
	memset(ret, 0, sizeof(*ret));
	ret->engine = engine;
	http_task_init(&ret->task, engine->client, transfer);
	int err = s3_credentials_read(&ret->credentials);
	if (err == -ENOENT)
		return http_fail(&ret->task, -EACCES, "there are no credentials for S3");
	return err ? http_fail(&ret->task, secret_errno(err), "credentials for S3 cannot be read: %s",
			       strerror(-err))
		   : 0;
}

static int end_s3_run(struct s3_run *run, int err)
{
	explicit_bzero(&run->credentials, sizeof(run->credentials));
	run->task.transfer->reply.err = err;
	return err;
}

static int run_s3(struct engine *engine, struct transfer *transfer)
{
	struct s3_run run;
	int err = begin_s3_run(&run, engine, transfer);
	if (!err)
		err = http_transfer_valid(transfer) ? run_operation(&run) : -EINVAL;
	return end_s3_run(&run, err);
}

static int put_probe(void *user, enum store_condition condition, const char *etag)
{
	struct s3_run *run = user;
	run->task.transfer->etag = etag;
	return put_once(run, condition, false);
}

static int probe_s3(struct engine *engine, struct transfer *transfer)
{
	struct s3_run run;
	char name[STORE_NAME_SIZE];
	int ret = begin_s3_run(&run, engine, transfer);
	transfer->condition = STORE_IF_ABSENT;
	if (!ret)
		ret = http_probe_name(transfer, name);
	if (!ret) {
		ret = http_probe_conditions(put_probe, &run);
		const struct store_reply reply = transfer->reply;
		transfer->condition = STORE_ALWAYS;
		s3_delete(&run);
		transfer->reply = reply;
	}
	transfer->name = NULL;
	end_s3_run(&run, ret < 0 ? ret : 0);
	return ret;
}

/* ---- Where it is ---- */

static const char *first_variable(const char *one, const char *other)
{
	const char *value = getenv(one);
	if (!value || !*value)
		value = getenv(other);
	return value && *value ? value : NULL;
}

static bool has_only(const char *text, size_t n, const char *punctuation)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr(punctuation, text[i]))
			return false;
	return n > 0;
}

static int set_region(struct engine *engine, const char *region, struct gsym_diag *diag)
{
	if (strlen(region) > 64 || !has_only(region, strlen(region), "-"))
		return diag_set(diag, -EINVAL, "the region of S3 is invalid");
	snprintf(engine->scope, sizeof(engine->scope), "aws:amz:%s:s3", region);
	return 0;
}

/* ENDPOINT/BUCKET */
static int set_address(struct engine *engine, const char *bucket, size_t n, const char *region,
		       struct gsym_diag *diag)
{
	const char *variable = first_variable("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
	char aws[128], *endpoint = NULL;
	snprintf(aws, sizeof(aws), "https://s3.%s.amazonaws.com", region);
	int err = http_address_make(variable ? variable : aws, &endpoint, diag);
	if (!err && asprintf(&engine->address, "%s/%.*s", endpoint, (int)n, bucket) < 0) {
		engine->address = NULL;
		err = -ENOMEM;
	}
	free(endpoint);
	return err;
}

static int set_prefix(struct engine *engine, const char *prefix, struct gsym_diag *diag)
{
	size_t n = strlen(prefix);
	while (n > 0 && prefix[n - 1] == '/')
		n--;
	if (asprintf(&engine->prefix, n ? "%.*s/" : "%.*s", (int)n, prefix) < 0) {
		engine->prefix = NULL;
		return -ENOMEM;
	}
	if (n >= STORE_NAME_SIZE || (n > 0 && !has_only(prefix, n, "-._~/")) || prefix[0] == '/' ||
	    strstr(engine->prefix, "//") || strstr(engine->prefix, ".."))
		return diag_set(diag, -EINVAL,
				"'%s' is no prefix for S3: it may have the characters A-Z a-z 0-9 . _ ~ - /",
				prefix);
	return 0;
}

static int set_place(struct engine *engine, const char *address, struct gsym_diag *diag)
{
	const char *region = first_variable("AWS_REGION", "AWS_DEFAULT_REGION");
	if (!region)
		region = "us-east-1";
	if (strncmp(address, "s3://", 5) != 0)
		return diag_set(diag, -EINVAL, "'%s' is no address of the form s3://BUCKET/PREFIX", address);
	const char *bucket = address + 5;
	const size_t n = strcspn(bucket, "/");
	if (!has_only(bucket, n, "-._"))
		return diag_set(diag, -EINVAL, "'%s' is no address of the form s3://BUCKET/PREFIX", address);
	int err = set_region(engine, region, diag);
	if (!err)
		err = set_address(engine, bucket, n, region, diag);
	return err ? err : set_prefix(engine, bucket + n + (bucket[n] == '/'), diag);
}

static void close_s3(struct engine *engine)
{
	if (!engine)
		return;
	http_client_close(engine->client);
	free(engine->address);
	free(engine->prefix);
	free(engine);
}

static int open_s3(const struct store_options *options, struct engine **ret, struct gsym_diag *diag)
{
	if (!sodium_library(diag))
		return -ELIBACC;
	struct engine *engine = calloc(1, sizeof(*engine));
	if (!engine)
		return -ENOMEM;
	int err = set_place(engine, options->address, diag);
	if (!err)
		err = http_client_open(options, &engine->client, diag);
	if (err) {
		close_s3(engine);
		return err;
	}
	*ret = engine;
	return 0;
}

const struct engine_type s3_engine = {
	.name = "S3", .open = open_s3, .run = run_s3, .probe = probe_s3, .close = close_s3};

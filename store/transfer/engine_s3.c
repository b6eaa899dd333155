/*
 * A store in a bucket of S3, by path style: ENDPOINT/BUCKET/PREFIX/NAME. Requests are signed by libcurl
 * (Signature Version 4) with the digest of their body.
 *
 * libcurl 7.88.1 signs paths as they are, all headers it is given, and no digest but one that is given; what
 * is sent here is within that: names and prefixes are of bytes that need no escape, parameters are sorted and
 * escaped, and no header is removed.
 *
 * Ceph (16.2) compares a tag with its quotes to one without, so that none matches: what does not match,
 * though HEAD has that tag, is sent again in the other form. It deletes whatever the condition is.
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
#include "store/transfer/xml_scan.h"
#include "store/client/sodium.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"
#include "gsym/base/text_buf.h"

enum {
	DIGEST_SIZE = 32, /* of SHA-256 */
	CHUNK = 64 * 1024,
	PAGE_MAX = 16 << 20, /* bytes of a page of a list */
	TOKEN_SIZE = 2048,   /* that leads to the next */
};

struct engine {
	struct http_client *client;
	char *address; /* ENDPOINT/BUCKET */
	char *prefix;  /* "" or with a slash at its end */
	char scope[128];
	atomic_bool bare_tags; /* the last If-Match that held had no quotes */
	atomic_bool no_match;  /* as of the last probe, If-Match is ignored */
};

/* One transfer. */
struct s3_run {
	struct engine *engine;
	struct http_task task;
	struct s3_credentials credentials;
	char code[XML_NAME_SIZE]; /* of the last failure: "NoSuchKey" */
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

static int remember_code(void *user, const char *element, const char *text)
{
	struct s3_run *run = user;
	if (strcmp(element, "Code") == 0 && !*run->code && strlen(text) < sizeof(run->code))
		snprintf(run->code, sizeof(run->code), "%s", text);
	return 0;
}

static int skip_element(void *user, const char *element)
{
	(void)user;
	(void)element;
	return 0;
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
	struct xml_scan scan = {.begin = skip_element, .end = remember_code, .user = run};
	run->code[0] = 0;
	if (!err && !http_succeeded(ret))
		xml_scan(&scan, ret->failure, strlen(ret->failure));
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

/* Whether the object has the tag of the transfer now: 0, -EEXIST if it has another, or another error. */
static int compare_tag(struct s3_run *run)
{
	struct store_reply *reply = &run->task.transfer->reply;
	int err = s3_head(run);
	if (!err && strcmp(reply->etag, run->task.transfer->etag) != 0)
		err = -EEXIST;
	/* Those of what is to be replaced. */
	reply->etag[0] = 0;
	reply->size = 0;
	reply->modified = 0;
	return err;
}

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

static int put_matching(struct s3_run *run)
{
	struct engine *engine = run->engine;
	const bool bare = atomic_load(&engine->bare_tags);
	if (atomic_load(&engine->no_match)) {
		int differs = compare_tag(run);
		return differs ? differs : put_once(run, STORE_ALWAYS, false);
	}
	int err = put_once(run, STORE_IF_MATCH, bare);
	if (err != -EEXIST)
		return err;
	err = compare_tag(run);
	if (!err)
		err = put_once(run, STORE_IF_MATCH, !bare);
	if (!err)
		atomic_store(&engine->bare_tags, !bare);
	return err;
}

static int s3_put(struct s3_run *run)
{
	const enum store_condition condition = run->task.transfer->condition;
	return condition == STORE_IF_MATCH ? put_matching(run) : put_once(run, condition, false);
}

static int s3_delete(struct s3_run *run)
{
	const struct transfer *transfer = run->task.transfer;
	struct http_request request = {.method = "DELETE"};
	struct http_headers headers = {0};
	struct http_answer answer = {0};
	int err = transfer->condition == STORE_IF_MATCH ? compare_tag(run) : 0;
	if (!err)
		err = object_exchange(run, transfer->name, &request, &headers, &answer);
	if (err)
		return err;
	return http_succeeded(&answer) ? 0 : s3_status_error(run, &answer);
}

/* ---- Lists: ListObjectsV2 ---- */

struct s3_walk {
	struct s3_run *run;
	struct store_listing listing;
	char token[TOKEN_SIZE]; /* of the next page */
	bool is_truncated;
	/* Of the element "Contents": */
	char name[STORE_NAME_SIZE]; /* "": none of ours */
	uint64_t size;
	int64_t modified;
};

/* 2009-10-12T17:50:30.000Z */
static int64_t parse_iso_time(const char *text)
{
	struct tm tm = {0};
	return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? timegm(&tm) : 0;
}

static void take_key(struct s3_walk *walk, const char *text)
{
	const size_t n = strlen(walk->run->engine->prefix);
	if (strncmp(text, walk->run->engine->prefix, n) == 0 && strlen(text + n) < sizeof(walk->name) &&
	    store_name_valid(text + n))
		snprintf(walk->name, sizeof(walk->name), "%s", text + n);
}

static int begin_contents(void *user, const char *element)
{
	struct s3_walk *walk = user;
	if (strcmp(element, "Contents") == 0) {
		walk->name[0] = 0;
		walk->size = 0;
		walk->modified = 0;
	}
	return 0;
}

static int end_contents(void *user, const char *element, const char *text)
{
	struct s3_walk *walk = user;
	if (strcmp(element, "Key") == 0)
		take_key(walk, text);
	else if (strcmp(element, "Size") == 0)
		walk->size = strtoull(text, NULL, 10);
	else if (strcmp(element, "LastModified") == 0)
		walk->modified = parse_iso_time(text);
	else if (strcmp(element, "IsTruncated") == 0)
		walk->is_truncated = strcmp(text, "true") == 0;
	else if (strcmp(element, "NextContinuationToken") == 0)
		snprintf(walk->token, sizeof(walk->token), "%s", strlen(text) < TOKEN_SIZE ? text : "");
	else if (strcmp(element, "Contents") == 0 && *walk->name)
		return store_listing_add(&walk->listing, walk->name, walk->size, walk->modified);
	return 0;
}

static int receive_page(void *user, const char *bytes, size_t size)
{
	return xml_scan(user, bytes, size);
}

static void escape_parameter(struct text_buf *out, const char *value)
{
	static const char digits[] = "0123456789ABCDEF";
	for (; *value; value++) {
		const uint8_t c = (uint8_t)*value;
		if (isalnum(c) || strchr("-._~", c)) {
			text_char(out, (char)c);
		} else {
			text_char(out, '%');
			text_char(out, digits[c >> 4]);
			text_char(out, digits[c & 15]);
		}
	}
}

/* The parameters have to be sorted, because they are signed as they are. */
static void print_page_target(const struct s3_walk *walk, struct text_buf *out)
{
	text_lit(out, "/?");
	if (*walk->token) {
		text_lit(out, "continuation-token=");
		escape_parameter(out, walk->token);
		text_char(out, '&');
	}
	text_lit(out, "list-type=2&prefix=");
	escape_parameter(out, walk->run->engine->prefix);
	escape_parameter(out, walk->run->task.transfer->name);
	text_char(out, 0);
}

/* One page; walk->token is that of the next, "": there is none. */
static int list_page(struct s3_walk *walk)
{
	struct xml_scan scan = {.begin = begin_contents, .end = end_contents, .user = walk};
	struct http_request request = {
		.method = "GET", .receive = receive_page, .user = &scan, .max = PAGE_MAX};
	struct http_headers headers = {0};
	struct http_answer answer = {0};
	struct text_buf target = {0};
	print_page_target(walk, &target);
	walk->token[0] = 0;
	walk->is_truncated = false;
	int err = target.failed ? -ENOMEM : s3_exchange(walk->run, target.v, &request, &headers, &answer);
	text_deinit(&target);
	if (err)
		return err == -EBADMSG ? http_fail(&walk->run->task, -EREMOTEIO, "the list is no XML") : err;
	walk->run->task.transfer->reply.now = answer.now;
	if (answer.status != 200)
		return s3_status_error(walk->run, &answer);
	if (!xml_scan_is_whole(&scan, "ListBucketResult"))
		return http_fail(&walk->run->task, -EREMOTEIO, "the answer is no whole list");
	if (walk->is_truncated != (*walk->token != 0))
		return http_fail(&walk->run->task, -EREMOTEIO, "the list has no end");
	return 0;
}

static int s3_list(struct s3_run *run)
{
	struct text_buf buf = {0};
	char previous[TOKEN_SIZE];
	struct s3_walk walk = {.run = run, .listing = {.task = &run->task, .buf = &buf}};
	int err;
	do {
		memcpy(previous, walk.token, sizeof(previous));
		err = list_page(&walk);
		if (!err && *walk.token && strcmp(previous, walk.token) == 0)
			err = http_fail(&run->task, -EREMOTEIO, "the list goes in circles");
	} while (!err && *walk.token);
	if (!err)
		err = store_listing_end(&walk.listing);
	text_deinit(&buf);
	return err;
}

/* ---- The engine ---- */

static int run_operation(struct s3_run *run)
{
	switch (run->task.transfer->operation) {
	case STORE_GET: return s3_get(run);
	case STORE_HEAD: return s3_head(run);
	case STORE_PUT: return s3_put(run);
	case STORE_DELETE: return s3_delete(run);
	case STORE_LIST: return s3_list(run);
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

/* Whether an object of a tag that it does not have is replaced. */
static int probe_match(struct s3_run *run)
{
	run->task.transfer->etag = "\"00000000000000000000000000000000\"";
	int err = put_once(run, STORE_IF_MATCH, false);
	if (err && err != -EEXIST && err != -EOPNOTSUPP)
		return err;
	atomic_store(&run->engine->no_match, err != -EEXIST);
	return 0;
}

static int probe_conditions(struct s3_run *run)
{
	int err = put_once(run, STORE_IF_ABSENT, false);
	if (err)
		return err == -EOPNOTSUPP || err == -EEXIST ? 0 : err;
	err = put_once(run, STORE_IF_ABSENT, false);
	if (err == 0 || err == -EOPNOTSUPP)
		return 0;
	if (err != -EEXIST)
		return err;
	err = probe_match(run);
	return err ? err : 1;
}

static int probe_s3(struct engine *engine, struct transfer *transfer)
{
	struct s3_run run;
	char name[STORE_NAME_SIZE];
	int ret = begin_s3_run(&run, engine, transfer);
	transfer->operation = STORE_PUT;
	transfer->condition = STORE_IF_ABSENT;
	transfer->name = name;
	transfer->size = 0;
	if (!ret)
		ret = http_random_name("gsymfs1/probe-", "", name);
	if (!ret) {
		ret = probe_conditions(&run);
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

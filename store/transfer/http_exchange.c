/*
 * Each exchange has an easy handle and a multi handle, since only the latter lets a caller end it sooner than
 * after a second. Each thread of the process has such a pair for all of its exchanges, with the connection
 * that it keeps.
 */
#include "store/transfer/http_exchange.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "work/os/monotonic.h"
#include "gsym/base/escape.h"
#include "gsym/base/file_io.h"
#include "gsym/base/vec.h"
#include "work/worker/worker.h"

enum {
	HEADERS_MAX = 64 * 1024, /* bytes of an answer */
	FAILURE_MAX = 64 * 1024, /* bytes of the body of a failure; the connection is closed after that */
	TICK = 50,               /* ms; cancellation and standstill are looked at as often */
	EXPECT_MS = 200,         /* for "100 Continue", before the body is sent all the same */
};

static const char too_large[] = "the answer is larger than expected";

struct http_handle {
	CURL *easy; /* NULL: not used yet */
	CURLM *multi;
	int sock;       /* the last that was opened */
	int open_errno; /* why none could be; 0: it could */
};

struct http_client {
	const struct curl_library *curl;
	struct store_options options;
	struct http_handle handles[WORKER_STORE_TRANSFERS]; /* by transfer.slot */
};

/* ---- Connections ---- */

int http_client_open(const struct store_options *options, struct http_client **ret, struct gsym_diag *diag)
{
	const struct curl_library *curl = curl_library(diag);
	if (!curl)
		return -ELIBACC;
	struct http_client *client = calloc(1, sizeof(*client));
	if (!client)
		return -ENOMEM;
	client->curl = curl;
	client->options = *options;
	*ret = client;
	return 0;
}

void http_client_close(struct http_client *client)
{
	if (!client)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(client->handles); i++) {
		struct http_handle *handle = &client->handles[i];
		client->curl->easy_cleanup(handle->easy);
		if (handle->multi)
			client->curl->multi_cleanup(handle->multi);
	}
	free(client);
}

/* The handle of @slot; NULL without memory. */
static struct http_handle *open_handle(struct http_client *client, unsigned slot)
{
	struct http_handle *handle = &client->handles[slot];
	if (!handle->easy)
		handle->easy = client->curl->easy_init();
	if (!handle->multi)
		handle->multi = client->curl->multi_init();
	return handle->easy && handle->multi ? handle : NULL;
}

static curl_socket_t on_open(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct http_handle *handle = user;
	(void)purpose;
	handle->sock = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	handle->open_errno = handle->sock < 0 ? errno : 0;
	return handle->sock;
}

/* ---- Requests ---- */

void http_header(struct http_headers *headers, const char *name, const char *value)
{
	char *line = NULL;
	struct curl_slist *grown = NULL;
	if (asprintf(&line, "%s: %s", name, value) >= 0)
		grown = curl_library(NULL)->slist_append(headers->list, line);
	free(line);
	headers->failed |= !grown;
	if (grown)
		headers->list = grown;
}

void http_headers_deinit(struct http_headers *headers)
{
	curl_library(NULL)->slist_free_all(headers->list);
	headers->list = NULL;
}

void http_task_init(struct http_task *ret, struct http_client *client, struct transfer *transfer)
{
	*ret = (struct http_task){
		.client = client, .transfer = transfer, .until = monotonic_ms() + transfer->limits.whole};
	transfer->reply = (struct store_reply){0};
}

int http_fail(struct http_task *task, int err, const char *fmt, ...)
{
	char text[sizeof(task->transfer->reply.text)];
	struct text_buf safe = {0};
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	escape_str(&safe, text, ESCAPE_TEXT);
	snprintf(task->transfer->reply.text, sizeof(text), "%.*s", (int)safe.n, safe.n ? safe.v : "");
	text_deinit(&safe);
	return err;
}

bool http_succeeded(const struct http_answer *answer)
{
	return answer->status / 100 == 2;
}

/* An exchange under way. */
struct exchange {
	const struct curl_library *curl;
	struct http_handle *handle;
	struct http_task *task;
	const struct http_request *request;
	struct http_answer *answer;
	int64_t active;   /* monotonic_ms() when bytes moved last, */
	curl_off_t moved; /* and how many had by then */
	uint64_t sent, received;
	size_t header_bytes, failure_bytes;
	int err; /* why it is ended here */
	char error[CURL_ERROR_SIZE];
};

/* 0, by which callbacks of libcurl end an exchange. */
static size_t stop(struct exchange *e, int err, const char *text)
{
	if (!e->err)
		e->err = http_fail(e->task, err, "%s: %s", text, strerror(-err));
	return 0;
}

/* ---- The answer ---- */

/* 0: there is none yet. */
static unsigned status_of(const struct exchange *e)
{
	long status = 0;
	e->curl->easy_getinfo(e->handle->easy, CURLINFO_RESPONSE_CODE, &status);
	return (unsigned)status;
}

/* "": there is none. */
static const char *header_of(const struct exchange *e, const char *name)
{
	struct curl_header *found;
	return e->curl->easy_header(e->handle->easy, name, 0, CURLH_HEADER, -1, &found) ? "" : found->value;
}

static int64_t time_of(const struct exchange *e, const char *name)
{
	time_t t = e->curl->getdate(header_of(e, name), NULL);
	return t > 0 ? t : 0;
}

static void read_answer(struct exchange *e)
{
	struct http_answer *ret = e->answer;
	const char *etag = header_of(e, "ETag");
	curl_off_t length = 0;
	ret->status = status_of(e);
	ret->now = time_of(e, "Date");
	ret->modified = time_of(e, "Last-Modified");
	e->curl->easy_getinfo(e->handle->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	ret->size = e->request->receives ? e->received : length > 0 ? (uint64_t)length : 0;
	/*
	 * The mark of weak tags is left out: Apache weakens a tag for the second after a file was written,
	 * and a weak one never matches.
	 */
	if (strncmp(etag, "W/", 2) == 0)
		etag += 2;
	if (strlen(etag) < sizeof(ret->etag))
		strcpy(ret->etag, etag);
}

static size_t on_header(char *line, size_t unit, size_t n, void *user)
{
	struct exchange *e = user;
	const struct transfer *transfer = e->task->transfer;
	(void)line;
	e->header_bytes += n * unit;
	if (e->header_bytes > HEADERS_MAX)
		return stop(e, -EREMOTEIO, "the headers of the answer are too long");
	if (status_of(e) >= 200 && !e->task->has_begun) { /* others come before the answer */
		e->task->has_begun = true;
		transfer->begun(transfer);
	}
	return n * unit;
}

/* ---- Bodies ---- */

static size_t take_failure(struct exchange *e, const char *bytes, size_t n)
{
	if (e->failure_bytes < HTTP_FAILURE_SIZE - 1) {
		size_t room = HTTP_FAILURE_SIZE - 1 - e->failure_bytes;
		memcpy(e->answer->failure + e->failure_bytes, bytes, n < room ? n : room);
	}
	e->failure_bytes += n;
	return e->failure_bytes > FAILURE_MAX ? 0 : n;
}

static size_t on_body(char *bytes, size_t unit, size_t n, void *user)
{
	struct exchange *e = user;
	const struct transfer *transfer = e->task->transfer;
	n *= unit;
	if (status_of(e) / 100 != 2)
		return take_failure(e, bytes, n);
	if (!e->request->receives)
		return n;
	if (n > transfer->size - e->received)
		return stop(e, -EFBIG, too_large);
	int err = write_all(transfer->fd, bytes, n, (off_t)e->received);
	if (err)
		return stop(e, err, "cannot write what was received");
	e->received += n;
	return n;
}

static size_t on_read(char *to, size_t unit, size_t n, void *user)
{
	struct exchange *e = user;
	const struct transfer *transfer = e->task->transfer;
	n *= unit;
	if (n > transfer->size - e->sent)
		n = transfer->size - e->sent;
	int err = read_all(transfer->fd, to, n, (off_t)e->sent);
	if (err) {
		stop(e, err == -EBADMSG ? -EIO : err, "cannot read what is to be sent");
		return CURL_READFUNC_ABORT;
	}
	e->sent += n;
	return n;
}

/* A request is sent again if a connection that was used before turns out to be closed. */
static int on_seek(void *user, curl_off_t off, int origin)
{
	struct exchange *e = user;
	if (origin != SEEK_SET || off < 0 || (uint64_t)off > e->task->transfer->size)
		return CURL_SEEKFUNC_FAIL;
	e->sent = (uint64_t)off;
	return CURL_SEEKFUNC_OK;
}

/* ---- While it is under way ---- */

/*
 * Some servers (Ceph's radosgw unless it is told otherwise) send the headers and a short body apart, and the
 * second only once the first is acknowledged, which Linux does after 40 ms on a connection that is used in
 * turns. It forgets this option whenever it likes. On a socket that was closed meanwhile, and whose number is
 * another's now, it does no harm.
 */
static void acknowledge_at_once(const struct exchange *e)
{
	const int on = 1;
	setsockopt(e->handle->sock, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

/* Ends the exchange if it is canceled, or stands still. Other limits are libcurl's. */
static void watch(struct exchange *e)
{
	const struct transfer *transfer = e->task->transfer;
	const int64_t now = monotonic_ms();
	curl_off_t up = 0, down = 0;
	e->curl->easy_getinfo(e->handle->easy, CURLINFO_SIZE_UPLOAD_T, &up);
	e->curl->easy_getinfo(e->handle->easy, CURLINFO_SIZE_DOWNLOAD_T, &down);
	const curl_off_t moved = up + down + (curl_off_t)e->header_bytes;
	if (moved != e->moved)
		e->active = now;
	e->moved = moved;
	if (atomic_load(transfer->canceled))
		stop(e, -ECANCELED, "canceled");
	else if (now - e->active > transfer->limits.stall)
		stop(e, -ETIMEDOUT, "no data came");
}

/* ---- The exchange ---- */

#define SET(option, value)                                                             \
	do {                                                                           \
		if (e->curl->easy_setopt(e->handle->easy, option, value) != CURLE_OK)  \
			return http_fail(e->task, -EINVAL, "libcurl has no " #option); \
	} while (0)

static int set_server(struct exchange *e)
{
	const struct store_options *options = &e->task->client->options;
	const struct transfer_limits *limits = &e->task->transfer->limits;
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)limits->connect);
	const int64_t left = e->task->until - monotonic_ms();
	SET(CURLOPT_TIMEOUT_MS, left < 1 ? 1 : (long)left);
	SET(CURLOPT_BUFFERSIZE, 128L * 1024);
	SET(CURLOPT_UPLOAD_BUFFERSIZE, 128L * 1024);
	SET(CURLOPT_USERAGENT, "gsymfs/" GSYMFS_VERSION);
	/* Where names are looked up by a thread, its end is not waited for. */
	e->curl->easy_setopt(e->handle->easy, CURLOPT_QUICK_EXIT, 1L);
	if (options->ca_file)
		SET(CURLOPT_CAINFO, options->ca_file);
	if (options->cert_file)
		SET(CURLOPT_SSLCERT, options->cert_file);
	if (options->key_file)
		SET(CURLOPT_SSLKEY, options->key_file);
	if (options->netrc_file && !e->request->signature) {
		SET(CURLOPT_NETRC, (long)CURL_NETRC_REQUIRED);
		SET(CURLOPT_NETRC_FILE, options->netrc_file);
		SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	}
	return 0;
}

static int set_body(struct exchange *e)
{
	SET(CURLOPT_UPLOAD, 1L);
	SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)e->task->transfer->size);
	SET(CURLOPT_EXPECT_100_TIMEOUT_MS, (long)EXPECT_MS);
	SET(CURLOPT_READFUNCTION, on_read);
	SET(CURLOPT_READDATA, e);
	SET(CURLOPT_SEEKFUNCTION, on_seek);
	SET(CURLOPT_SEEKDATA, e);
	return 0;
}

static int set_request(struct exchange *e)
{
	const struct http_request *request = e->request;
	SET(CURLOPT_URL, request->url);
	if (request->headers)
		SET(CURLOPT_HTTPHEADER, request->headers->list);
	if (strcmp(request->method, "HEAD") == 0)
		SET(CURLOPT_NOBODY, 1L);
	if (request->receives)
		SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)e->task->transfer->size);
	int err = request->sends ? set_body(e) : 0;
	if (err)
		return err;
	if (strcmp(request->method, "HEAD") != 0)
		SET(CURLOPT_CUSTOMREQUEST, request->method);
	if (request->signature) {
		SET(CURLOPT_AWS_SIGV4, request->signature->scope);
		SET(CURLOPT_USERNAME, request->signature->key);
		SET(CURLOPT_PASSWORD, request->signature->secret);
	}
	return 0;
}

static int set_callbacks(struct exchange *e)
{
	SET(CURLOPT_ERRORBUFFER, e->error);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, e);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, e);
	SET(CURLOPT_OPENSOCKETFUNCTION, on_open);
	SET(CURLOPT_OPENSOCKETDATA, e->handle);
	return 0;
}

/* As systemd's RestrictAddressFamilies= and the filters of containers say it. */
static bool is_forbidden(const struct exchange *e)
{
	const int err = e->handle->open_errno;
	return err == EPERM || err == EACCES || err == EAFNOSUPPORT;
}

static int map_result(struct exchange *e, CURLcode result)
{
	const char *text = *e->error ? e->error : e->curl->easy_strerror(result);
	if (result != CURLE_OK && is_forbidden(e))
		return http_fail(e->task, -EHOSTUNREACH,
				 "this process may not use the network (%s): see RestrictAddressFamilies= of "
				 "systemd.exec(5)",
				 strerror(e->handle->open_errno));
	switch (result) {
	case CURLE_OK: return 0;
	case CURLE_FILESIZE_EXCEEDED: return http_fail(e->task, -EFBIG, "%s", too_large);
	case CURLE_OUT_OF_MEMORY: /* as versions before 8.6 say of a header that is too long, too */
		return status_of(e) ? http_fail(e->task, -EREMOTEIO, "the answer needs too much memory")
				    : -ENOMEM;
	case CURLE_OPERATION_TIMEDOUT: return http_fail(e->task, -ETIMEDOUT, "%s", text);
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR: return http_fail(e->task, -EHOSTUNREACH, "%s", text);
	default: return http_fail(e->task, -EREMOTEIO, "%s", text);
	}
}

/* Runs it until it ends, or is ended. */
static int perform(struct exchange *e)
{
	for (;;) {
		int running = 0, left;
		CURLMcode failed = e->curl->multi_perform(e->handle->multi, &running);
		const CURLMsg *msg = e->curl->multi_info_read(e->handle->multi, &left);
		if (e->err)
			return e->err;
		if (msg && msg->msg == CURLMSG_DONE)
			return map_result(e, msg->data.result);
		if (failed || !running)
			return failed == CURLM_OUT_OF_MEMORY ? -ENOMEM : -EIO;
		watch(e);
		if (e->err)
			return e->err;
		if (!e->task->has_begun)
			acknowledge_at_once(e);
		e->curl->multi_poll(e->handle->multi, NULL, 0, TICK, NULL);
	}
}

/*
 * A server that refuses a request may close the connection while that is still sent, or while its own
 * explanation is read: it has answered all the same.
 */
static bool is_refusal(const struct exchange *e, int err)
{
	return err == -EREMOTEIO && !e->err && status_of(e) >= 300;
}

static int run(struct exchange *e)
{
	int err = set_server(e);
	if (!err)
		err = set_callbacks(e);
	if (!err)
		err = set_request(e);
	if (!err && e->curl->multi_add_handle(e->handle->multi, e->handle->easy))
		err = -ENOMEM;
	if (err)
		return err;
	err = perform(e);
	err = is_refusal(e, err) ? 0 : err;
	if (!err)
		read_answer(e);
	e->curl->multi_remove_handle(e->handle->multi, e->handle->easy);
	return err;
}

int http_exchange(struct http_task *task, const struct http_request *request, struct http_answer *ret)
{
	struct exchange e = {.curl = task->client->curl, .task = task, .request = request, .answer = ret};
	memset(ret, 0, sizeof(*ret));
	if (request->headers && request->headers->failed)
		return -ENOMEM;
	e.handle = open_handle(task->client, task->transfer->slot);
	if (!e.handle)
		return -ENOMEM;
	e.active = monotonic_ms();
	e.handle->open_errno = 0;
	int err = run(&e);
	e.curl->easy_reset(e.handle->easy);
	return err;
}

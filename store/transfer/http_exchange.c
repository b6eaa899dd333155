/*
 * Each exchange has an easy handle and a multi handle of its own, since only the latter lets a caller watch
 * its limits more often than once a second. Pairs of them wait for their next use in a pool, with the
 * connection that they keep.
 *
 * When the request counts as sent, from when the answer's first byte is waited for: when all was handed to
 * the kernel and the other side has acknowledged it.
 */
#include "store/transfer/http_exchange.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "work/os/monotonic.h"
#include "gsym/base/ascii.h"
#include "gsym/base/diag.h"
#include "gsym/base/escape.h"
#include "gsym/base/file_io.h"

enum {
	HEADERS_MAX = 64 * 1024, /* bytes of an answer */
	FAILURE_MAX = 64 * 1024, /* bytes of the body of a failure; the connection is closed after that */
	TICK = 50,               /* ms; cancellation and limits are looked at as often */
	EXPECT_MS = 200,         /* for "100 Continue", before the body is sent all the same */
	IDLE_MAX = 8,            /* handles in the pool */
};

struct http_handle {
	CURL *easy;
	CURLM *multi;
	int sock;       /* of the connection that was opened last and is open still; else -1 */
	int open_errno; /* why it could not be opened; 0: it could */
};

struct http_client {
	const struct curl_library *curl;
	struct store_options options;
	pthread_mutex_t lock; /* guards the pool */
	struct http_handle *idle[IDLE_MAX];
	size_t n_idle;
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
	pthread_mutex_init(&client->lock, NULL);
	*ret = client;
	return 0;
}

/* Connections that are kept are closed here, and use the handle. */
static void free_handle(const struct curl_library *curl, struct http_handle *handle)
{
	curl->easy_cleanup(handle->easy);
	if (handle->multi)
		curl->multi_cleanup(handle->multi);
	free(handle);
}

void http_client_close(struct http_client *client)
{
	if (!client)
		return;
	while (client->n_idle > 0)
		free_handle(client->curl, client->idle[--client->n_idle]);
	pthread_mutex_destroy(&client->lock);
	free(client);
}

/* NULL: there is none. */
static struct http_handle *take_idle(struct http_client *client)
{
	pthread_mutex_lock(&client->lock);
	struct http_handle *handle = client->n_idle > 0 ? client->idle[--client->n_idle] : NULL;
	pthread_mutex_unlock(&client->lock);
	return handle;
}

/* NULL without memory. */
static struct http_handle *take_handle(struct http_client *client)
{
	struct http_handle *handle = take_idle(client);
	if (handle)
		return handle;
	handle = calloc(1, sizeof(*handle));
	if (!handle)
		return NULL;
	*handle = (struct http_handle){client->curl->easy_init(), client->curl->multi_init(), -1, 0};
	if (handle->easy && handle->multi)
		return handle;
	free_handle(client->curl, handle);
	return NULL;
}

static void give_handle(struct http_client *client, struct http_handle *handle)
{
	client->curl->easy_reset(handle->easy);
	pthread_mutex_lock(&client->lock);
	bool kept = client->n_idle < IDLE_MAX;
	if (kept)
		client->idle[client->n_idle++] = handle;
	pthread_mutex_unlock(&client->lock);
	if (!kept)
		free_handle(client->curl, handle);
}

static curl_socket_t on_open(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct http_handle *handle = user;
	(void)purpose;
	handle->sock = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	handle->open_errno = handle->sock < 0 ? errno : 0;
	return handle->sock;
}

static int on_close(void *user, curl_socket_t sock)
{
	struct http_handle *handle = user;
	if (handle->sock == sock)
		handle->sock = -1;
	return close(sock);
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
	*ret = (struct http_task){.client = client, .transfer = transfer};
	if (transfer->limits.whole)
		ret->until = monotonic_ms() + transfer->limits.whole;
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
	int64_t active;  /* ms; when bytes moved last */
	int64_t sent_at; /* when all of the request was sent; 0: not yet */
	int unsent;      /* bytes that the kernel held when it was last asked */
	uint64_t sent, received;
	size_t header_bytes, failure_bytes;
	bool has_headers; /* all of the final answer's */
	int err;          /* why it is ended here */
	char error[CURL_ERROR_SIZE];
};

static int stop(struct exchange *e, int err, const char *text)
{
	if (!e->err)
		e->err = http_fail(e->task, err, "%s", text);
	return err;
}

/* ---- Headers of the answer ---- */

/* The value of the header @name if @line is it, in a buffer; surrounding space is left out. */
static bool header_value(const char *line, size_t n, const char *name, char *ret, size_t ret_size)
{
	const size_t len = strlen(name);
	if (n <= len || line[len] != ':' || strncasecmp(line, name, len) != 0)
		return false;
	line += len + 1;
	n -= len + 1;
	while (n > 0 && is_blank(*line))
		line++, n--;
	while (n > 0 && (is_line_padding(line[n - 1]) || line[n - 1] == '\n'))
		n--;
	if (n >= ret_size || memchr(line, 0, n))
		return false;
	memcpy(ret, line, n);
	ret[n] = 0;
	return true;
}

static bool is_visible(const char *text)
{
	for (; *text; text++)
		if (*text < 0x21 || *text > 0x7e)
			return false;
	return true;
}

/*
 * The mark of weak tags is left out: Apache weakens a tag for the second after a file was written, and a weak
 * one never matches.
 */
static void parse_etag(const char *value, struct http_answer *ret)
{
	if (strncmp(value, "W/", 2) == 0)
		value += 2;
	if (is_visible(value))
		snprintf(ret->etag, sizeof(ret->etag), "%s", value);
}

static int64_t parse_time(const struct curl_library *curl, const char *value)
{
	time_t t = curl->getdate(value, NULL);
	return t > 0 ? t : 0;
}

/* One beyond 64 bits, for which libcurl would read until the connection closes, becomes the largest. */
static void parse_length(const char *value, struct http_answer *ret)
{
	ret->has_length = is_digit(*value);
	ret->length = ret->has_length ? strtoull(value, NULL, 10) : 0;
}

static void parse_header(struct exchange *e, const char *line, size_t n)
{
	char value[STORE_ETAG_SIZE];
	if (header_value(line, n, "ETag", value, sizeof(value)))
		parse_etag(value, e->answer);
	else if (header_value(line, n, "Date", value, sizeof(value)))
		e->answer->now = parse_time(e->curl, value);
	else if (header_value(line, n, "Last-Modified", value, sizeof(value)))
		e->answer->modified = parse_time(e->curl, value);
	else if (header_value(line, n, "Content-Length", value, sizeof(value)))
		parse_length(value, e->answer);
}

/* An answer begins with "HTTP/1.1 200 OK", and may come after others of 1xx. */
static void parse_status(struct exchange *e, const char *line, size_t n)
{
	const char *space = memchr(line, ' ', n);
	memset(e->answer, 0, sizeof(*e->answer));
	e->has_headers = false;
	if (space && line + n - space >= 4)
		for (int i = 1; i < 4 && is_digit(space[i]); i++)
			e->answer->status = e->answer->status * 10 + (unsigned)(space[i] - '0');
}

static void begin_answer(struct exchange *e)
{
	const struct transfer *transfer = e->task->transfer;
	if (!e->task->has_begun && transfer->begun)
		transfer->begun(transfer);
	e->task->has_begun = true;
}

static int end_headers(struct exchange *e)
{
	if (e->answer->status < 200)
		return 0;
	e->has_headers = true;
	if (http_succeeded(e->answer) && e->request->receive && e->answer->has_length &&
	    e->answer->length > e->request->max)
		return stop(e, -EFBIG, "the answer is larger than expected");
	return 0;
}

static size_t on_header(char *line, size_t unit, size_t n, void *user)
{
	struct exchange *e = user;
	n *= unit;
	e->active = monotonic_ms();
	e->header_bytes += n;
	if (e->header_bytes > HEADERS_MAX) {
		stop(e, -EREMOTEIO, "the headers of the answer are too long");
		return 0;
	}
	if (n >= 5 && memcmp(line, "HTTP/", 5) == 0) {
		parse_status(e, line, n);
		if (e->answer->status >= 200)
			begin_answer(e);
	} else if (n <= 2 && line[n - 1] == '\n') {
		if (end_headers(e))
			return 0;
	} else if (!e->has_headers) { /* not those after a body in chunks */
		parse_header(e, line, n);
	}
	return n;
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
	n *= unit;
	e->active = monotonic_ms();
	if (!http_succeeded(e->answer))
		return take_failure(e, bytes, n);
	if (!e->request->receive)
		return n;
	e->received += n;
	if (e->received > e->request->max) {
		stop(e, -EFBIG, "the answer is larger than expected");
		return 0;
	}
	int err = e->request->receive(e->request->user, bytes, n);
	if (err && !e->err)
		e->err = err;
	return err ? 0 : n;
}

static size_t on_read(char *to, size_t unit, size_t n, void *user)
{
	struct exchange *e = user;
	const struct http_request *request = e->request;
	n *= unit;
	if (n > request->size - e->sent)
		n = request->size - e->sent;
	if (n > 0)
		e->active = monotonic_ms();
	int err = read_all(request->fd, to, n, (off_t)e->sent);
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
	if (origin != SEEK_SET || off < 0 || (uint64_t)off > e->request->size)
		return CURL_SEEKFUNC_FAIL;
	e->sent = (uint64_t)off;
	return CURL_SEEKFUNC_OK;
}

/* ---- Limits ---- */

static bool is_connected(const struct exchange *e)
{
	curl_off_t time = 0;
	e->curl->easy_get(e->handle->easy, CURLINFO_PRETRANSFER_TIME_T, &time);
	return time > 0;
}

/*
 * Some servers (Ceph's radosgw unless it is told otherwise) send the headers and a short body apart, and the
 * second only once the first is acknowledged, which Linux does after 40 ms on a connection that is used in
 * turns. It forgets this option whenever it likes.
 */
static void acknowledge_at_once(const struct exchange *e)
{
	const int on = 1;
	if (e->handle->sock >= 0)
		setsockopt(e->handle->sock, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

/* Notes when all was sent, and that bytes go out. */
static void watch_sending(struct exchange *e, int64_t now)
{
	int unsent = 0;
	if (e->sent_at || !is_connected(e) || (e->request->has_body && e->sent < e->request->size))
		return;
	if (e->handle->sock >= 0 && ioctl(e->handle->sock, SIOCOUTQ, &unsent) != 0)
		unsent = 0;
	if (unsent != e->unsent)
		e->active = now;
	e->unsent = unsent;
	if (unsent == 0) {
		e->sent_at = e->active = now;
		acknowledge_at_once(e);
	}
}

/* When the exchange is to be ended, and what is then missing. */
static int64_t deadline(const struct exchange *e, const char **ret_text)
{
	const struct transfer_limits *limits = &e->task->transfer->limits;
	int64_t at = e->active + limits->stall;
	*ret_text = "no more data came";
	if (!e->answer->status && e->sent_at) {
		at = e->sent_at + limits->first_byte;
		*ret_text = "no answer came";
	}
	if (e->task->until && e->task->until < at) {
		at = e->task->until;
		*ret_text = "it took too long";
	}
	return at;
}

/* Ends the exchange if it is to end. Returns how long to wait for events, ms. */
static int watch_limits(struct exchange *e)
{
	const int64_t now = monotonic_ms();
	const char *text;
	watch_sending(e, now);
	const int64_t left = deadline(e, &text) - now;
	if (e->task->transfer->canceled && atomic_load(e->task->transfer->canceled))
		stop(e, -ECANCELED, "canceled");
	else if (left <= 0)
		stop(e, -ETIMEDOUT, text);
	return left < TICK ? (left < 1 ? 1 : (int)left) : TICK;
}

/* ---- The exchange ---- */

#define SET(option, value)                                                             \
	do {                                                                           \
		if (e->curl->easy_set(e->handle->easy, option, value) != CURLE_OK)     \
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
	SET(CURLOPT_BUFFERSIZE, 128L * 1024);
	SET(CURLOPT_UPLOAD_BUFFERSIZE, 128L * 1024);
	SET(CURLOPT_USERAGENT, "gsymfs/" GSYMFS_VERSION);
	/* Where names are looked up by a thread, its end is not waited for. */
	e->curl->easy_set(e->handle->easy, CURLOPT_QUICK_EXIT, 1L);
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
	SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)e->request->size);
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
	int err = request->has_body ? set_body(e) : 0;
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
	SET(CURLOPT_CLOSESOCKETFUNCTION, on_close);
	SET(CURLOPT_CLOSESOCKETDATA, e->handle);
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
	case CURLE_OK:
		return e->has_headers ? 0 : http_fail(e->task, -EREMOTEIO, "the answer has no headers");
	case CURLE_OUT_OF_MEMORY: /* as versions before 8.6 say of a header that is too long, too */
		return is_connected(e) ? http_fail(e->task, -EREMOTEIO, "the answer needs too much memory")
				       : -ENOMEM;
	case CURLE_OPERATION_TIMEDOUT: /* while it connected: other limits are this file's */
		return http_fail(e->task, -ETIMEDOUT, "%s", text);
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
		int wait = watch_limits(e);
		if (e->err)
			return e->err;
		e->curl->multi_poll(e->handle->multi, NULL, 0, wait, NULL);
	}
}

/*
 * A server that refuses a request may close the connection while that is still sent, or while its own
 * explanation is read: it has answered all the same.
 */
static bool is_refusal(const struct exchange *e, int err)
{
	return err == -EREMOTEIO && !e->err && e->has_headers && !http_succeeded(e->answer);
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
	e->curl->multi_remove_handle(e->handle->multi, e->handle->easy);
	return is_refusal(e, err) ? 0 : err;
}

int http_exchange(struct http_task *task, const struct http_request *request, struct http_answer *ret)
{
	struct exchange e = {.curl = task->client->curl, .task = task, .request = request, .answer = ret};
	memset(ret, 0, sizeof(*ret));
	if (request->headers && request->headers->failed)
		return -ENOMEM;
	e.handle = take_handle(task->client);
	if (!e.handle)
		return -ENOMEM;
	e.active = monotonic_ms();
	e.handle->open_errno = 0;
	int err = run(&e);
	give_handle(task->client, e.handle);
	return err;
}

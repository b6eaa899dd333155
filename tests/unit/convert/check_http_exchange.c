/* One request and its answer, with a libcurl of the test's own: headers, bodies, limits, connections. */
#include "convert/cli/store/http_exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_curl.h"
#include "tests/unit/wrap_asprintf.h"

/* ---- The kernel ---- */

static int unsent; /* bytes that it holds */
static unsigned quick_acks;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){.tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000};
	return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	(void)request;
	assert_true(fd >= 0);
	va_start(args, request);
	*va_arg(args, int *) = unsent;
	va_end(args);
	return 0;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	(void)level;
	(void)name;
	assert_true(fd >= 0);
	assert_int_equal(size, sizeof(int));
	assert_int_equal(*(const int *)value, 1);
	quick_acks++;
	return 0;
}

/* ---- The task ---- */

static struct http_client *client;
static struct transfer transfer;
static struct http_task task;
static struct http_request request;
static struct {
	struct http_answer answer;
	char after[8192]; /* must not be written to */
} guarded;
static char taken_text[256];
static int take_error;
static unsigned begun;

static void note_begun(const struct transfer *t)
{
	begun++;
	assert_ptr_equal(t, &transfer);
}

static int take_body(void *user, const char *bytes, size_t size)
{
	assert_ptr_equal(user, taken_text);
	strncat(taken_text, bytes, size);
	return take_error;
}

static void open_client(const struct store_options *options)
{
	assert_int_equal(http_client_open(options, &client, NULL), 0);
	transfer = (struct transfer){.limits = {1111, 2000, 10000, 0}, .begun = note_begun};
	now_ms = 50000;
	http_task_init(&task, client, &transfer);
	request = (struct http_request){
		.method = "GET", .url = "http://h/x", .receive = take_body, .user = taken_text, .max = 100};
	begun = 0;
	taken_text[0] = 0;
	take_error = 0;
	play_calls = 0;
	result = CURLE_OK;
	perform_result = add_result = CURLM_OK;
	pretransfer = 0;
	unsent = 0;
	refused_option = 0;
	inits = cleanups = resets = adds = removes = quick_acks = 0;
	n_set_options = 0;
}

static int set_up(void **state)
{
	static const struct store_options none;
	(void)state;
	open_client(&none);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	http_client_close(client);
	client = NULL;
	assert_int_equal(inits, cleanups);
	assert_int_equal(live, 0);
	return 0;
}

static int exchange(bool (*what)(unsigned call))
{
	play = what;
	play_calls = 0;
	begun = 0;
	task.has_begun = false;
	taken_text[0] = 0;
	return http_exchange(&task, &request, &guarded.answer);
}

/* ---- Headers ---- */

static bool usual(unsigned call)
{
	(void)call;
	assert_true(header("HTTP/1.1 100 Continue\r\n") && header("ETag: early\r\n") && header("\r\n"));
	assert_int_equal(begun, 0);
	assert_true(header("HTTP/1.1 200 OK\r\n"));
	assert_int_equal(begun, 1);
	assert_true(header("Date: 1000\r\n") && header("last-MODIFIED:2000\r\n") &&
		    header("Content-Length:  8 \r\n") && header("X-ETag: x\r\n") && header("ETagged: y\r\n"));
	assert_true(header("ETag:\t \"tag\" \t\r\n") && header("\r\n"));
	assert_true(body("abcd", 1, 4) && body("efgh", 2, 2));
	assert_true(header("ETag: after-the-body\r\n"));
	return false;
}

static void usual_answer(void **state)
{
	(void)state;
	assert_int_equal(exchange(usual), 0);
	assert_int_equal(guarded.answer.status, 200);
	assert_int_equal(guarded.answer.now, 1000);
	assert_int_equal(guarded.answer.modified, 2000);
	assert_true(guarded.answer.has_length);
	assert_int_equal(guarded.answer.length, 8);
	assert_string_equal(guarded.answer.etag, "\"tag\"");
	assert_string_equal(guarded.answer.failure, "");
	assert_string_equal(taken_text, "abcdefgh");
	assert_string_equal(transfer.reply.text, "");
	assert_int_equal(begun, 1);
	assert_int_equal(adds, 1);
	assert_int_equal(removes, 1);
	assert_int_equal(resets, 1);
}

static const char *one_header;
static size_t one_size;

static bool with_header(unsigned call)
{
	(void)call;
	assert_true(header("HTTP/1.1 204 None\r\n") && header_bytes(one_header, one_size) && header("\n"));
	return false;
}

static void send_header(const char *line, size_t size)
{
	one_header = line;
	one_size = size;
	assert_int_equal(exchange(with_header), 0);
	assert_int_equal(guarded.answer.status, 204);
}

static void tags(void **state)
{
	char line[2 * STORE_ETAG_SIZE];
	(void)state;
	static const char *const rows[][2] = {
		{"ETag: W/\"weak\"\r\n", "\"weak\""},
		{"etag:x", "x"},
		{"ETag: a b\r\n", ""},
		{"ETag: a\x7f\r\n", ""},
		{"ETag: !~\n", "!~"},
		{"ETag:\r\n", ""},
		{"ETag x\r\n", ""},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		send_header(rows[i][0], strlen(rows[i][0]));
		assert_string_equal(guarded.answer.etag, rows[i][1]);
	}
	send_header("ETag: a\0b\r\n", 11);
	assert_string_equal(guarded.answer.etag, "");
	for (int n = STORE_ETAG_SIZE - 2; n <= STORE_ETAG_SIZE; n++) {
		snprintf(line, sizeof(line), "ETag: %0*d\r\n", n, 7);
		send_header(line, strlen(line));
		assert_int_equal(strlen(guarded.answer.etag), n < STORE_ETAG_SIZE ? n : 0);
	}
}

static void other_values(void **state)
{
	(void)state;
	static const char early[] = "Date: -5\r\n", never[] = "Last-Modified: 0\r\n",
			  none[] = "Content-Length: x\r\n",
			  large[] = "Content-Length: 99999999999999999999\r\n",
			  zero[] = "Content-Length: 0\r\n";
	send_header(early, sizeof(early) - 1);
	assert_int_equal(guarded.answer.now, 0);
	send_header(never, sizeof(never) - 1);
	assert_int_equal(guarded.answer.modified, 0);
	send_header(none, sizeof(none) - 1);
	assert_false(guarded.answer.has_length);
	assert_int_equal(guarded.answer.length, 0);
	send_header(zero, sizeof(zero) - 1);
	assert_true(guarded.answer.has_length);
	request.receive = NULL; /* no body is wanted: its size does not matter */
	send_header(large, sizeof(large) - 1);
	assert_int_equal(guarded.answer.length, UINT64_MAX);
}

static const char *status_line;

static bool with_status(unsigned call)
{
	(void)call;
	header(status_line);
	header("\r\n");
	return false;
}

static void statuses(void **state)
{
	static const struct {
		const char *line;
		unsigned status; /* 0: no answer */
	} rows[] = {
		{"HTTP/1.1 404 Not found\r\n", 404},
		{"HTTP/2 299", 299},
		{"HTTP/1.1 2000\r\n", 200},
		{"HTTP/1.1 200", 200},
		{"HTTP/1.1 20\r\n", 0},
		{"HTTP/1.1 20", 0},
		{"HTTP/1.1", 0},
		{"HTTP/1.1 100 x", 0},
		{"HTTP/1.1 199 x", 0},
		{"HTTP/ 200", 200},
		{"HTTP/x", 0},
		{"HTTX/1.1 200", 0},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		status_line = rows[i].line;
		assert_int_equal(exchange(with_status), rows[i].status ? 0 : -EREMOTEIO);
		if (rows[i].status)
			assert_int_equal(guarded.answer.status, rows[i].status);
		else
			assert_string_equal(transfer.reply.text, "the answer has no headers");
		assert_int_equal(begun, rows[i].status ? 1 : 0);
	}
}

/* The second answer of a transfer begins nothing. */
static void begun_once(void **state)
{
	(void)state;
	status_line = "HTTP/1.1 200 OK\r\n";
	assert_int_equal(exchange(with_status), 0);
	assert_int_equal(http_exchange(&task, &request, &guarded.answer), 0);
	assert_int_equal(begun, 1);
	task.has_begun = false;
	transfer.begun = NULL;
	assert_int_equal(exchange(with_status), 0);
	assert_int_equal(begun, 0);
	assert_true(task.has_begun);
}

static size_t headers_size;

static bool with_many(unsigned call)
{
	static const char first[] = "HTTP/1.1 200 OK\r\n", end[] = "\r\n";
	static char line[65536];
	(void)call;
	memset(line, 'a', sizeof(line));
	bool taken =
		header(first) && header_bytes(line, headers_size - (sizeof(first) - 1) - 2) && header(end);
	result = taken ? CURLE_OK : CURLE_WRITE_ERROR;
	return false;
}

static void many_headers(void **state)
{
	(void)state;
	headers_size = 64 * 1024;
	assert_int_equal(exchange(with_many), 0);
	headers_size++;
	assert_int_equal(exchange(with_many), -EREMOTEIO);
	assert_string_equal(transfer.reply.text, "the headers of the answer are too long");
}

/* ---- Bodies ---- */

static const char *length_line, *body_text;

static bool with_body(unsigned call)
{
	(void)call;
	bool taken = header("HTTP/1.1 200 OK\r\n") && header(length_line) && header("\r\n") &&
		     body(body_text, 1, strlen(body_text)) && body("", 1, 0);
	result = taken ? CURLE_OK : CURLE_WRITE_ERROR;
	return false;
}

static int take(const char *length, const char *bytes, uint64_t max)
{
	length_line = length;
	body_text = bytes;
	taken_text[0] = 0;
	request.max = max;
	return exchange(with_body);
}

static void large_bodies(void **state)
{
	(void)state;
	assert_int_equal(take("Content-Length: 4\r\n", "abcd", 4), 0);
	assert_string_equal(taken_text, "abcd");
	assert_int_equal(take("Content-Length: 5\r\n", "abcd", 4), -EFBIG);
	assert_string_equal(taken_text, "");
	assert_string_equal(transfer.reply.text, "the answer is larger than expected");
	assert_int_equal(take("X: y\r\n", "abcd", 4), 0);
	transfer.reply.text[0] = 0;
	assert_int_equal(take("X: y\r\n", "abcde", 4), -EFBIG);
	assert_string_equal(taken_text, "");
	assert_string_equal(transfer.reply.text, "the answer is larger than expected");
	/* What takes it is at fault. */
	take_error = -ENOSPC;
	assert_int_equal(take("X: y\r\n", "abcd", 4), -ENOSPC);
	take_error = 0;
	/* The request has no receiver. */
	request.receive = NULL;
	assert_int_equal(take("Content-Length: 5\r\n", "abcde", 4), 0);
	assert_string_equal(taken_text, "");
}

/* A piece that just does not fill it, and others. */
static bool with_pieces(unsigned call)
{
	char piece[5000];
	(void)call;
	memset(piece, 'y', sizeof(piece));
	assert_true(header("HTTP/1.1 500 x\r\n") && header("\r\n"));
	assert_true(body(piece, 1, 1022) && body(piece, 1, 1) && body(piece, 1, 1) && body(piece, 1, 5000));
	return false;
}

static size_t failure_size;
static bool failure_taken;

static bool with_failure(unsigned call)
{
	static const char why[] = "why";
	char *rest = malloc(failure_size);
	(void)call;
	memset(rest, 'x', failure_size);
	assert_true(header("HTTP/1.1 500 x\r\n") && header("Content-Length: 5000\r\n") && header("\r\n"));
	failure_taken = body(why, 1, 3) && body(rest, 1, failure_size - 3);
	result = failure_taken ? CURLE_OK : CURLE_WRITE_ERROR;
	free(rest);
	return false;
}

/* The body of a failure is kept as its explanation, up to a limit; a transfer that is too long is ended. */
static void failures(void **state)
{
	static const size_t sizes[] = {3, 1022, 1023, 1024, 64 * 1024, 64 * 1024 + 1};
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		failure_size = sizes[i];
		assert_int_equal(exchange(with_failure), 0);
		assert_int_equal(guarded.answer.status, 500);
		assert_memory_equal(guarded.answer.failure, "why", 3);
		assert_int_equal(strlen(guarded.answer.failure), sizes[i] < 1023 ? sizes[i] : 1023);
		assert_int_equal(failure_taken, sizes[i] <= 64 * 1024);
	}
	assert_string_equal(taken_text, "");
	static const char nothing[sizeof(guarded.after)];
	assert_int_equal(exchange(with_pieces), 0);
	assert_int_equal(strlen(guarded.answer.failure), 1023);
	assert_memory_equal(guarded.after, nothing, sizeof(nothing));
}

static bool sends(unsigned call)
{
	char to[16] = "";
	(void)call;
	assert_int_equal(read_body(to, 2, 2), 4);
	assert_string_equal(to, "0123");
	memset(to, 0, sizeof(to));
	assert_int_equal(read_body(to, 1, 15), 6);
	assert_string_equal(to, "456789");
	assert_int_equal(read_body(to, 1, 15), 0);
	assert_int_equal(seek_body(11, SEEK_SET), CURL_SEEKFUNC_FAIL);
	assert_int_equal(seek_body(-1, SEEK_SET), CURL_SEEKFUNC_FAIL);
	assert_int_equal(seek_body(0, SEEK_CUR), CURL_SEEKFUNC_FAIL);
	assert_int_equal(seek_body(10, SEEK_SET), CURL_SEEKFUNC_OK);
	assert_int_equal(read_body(to, 1, 15), 0);
	assert_int_equal(seek_body(0, SEEK_SET), CURL_SEEKFUNC_OK);
	memset(to, 0, sizeof(to));
	assert_int_equal(read_body(to, 1, 3), 3);
	assert_string_equal(to, "012");
	return usual(0);
}

static bool sends_less(unsigned call)
{
	char to[16];
	(void)call;
	assert_int_equal(read_body(to, 1, 15), CURL_READFUNC_ABORT);
	result = CURLE_ABORTED_BY_CALLBACK;
	return false;
}

static void sending(void **state)
{
	(void)state;
	FILE *file = tmpfile();
	assert_non_null(file);
	assert_int_equal(pwrite(fileno(file), "0123456789", 10, 0), 10);
	request.method = "PUT";
	request.has_body = true;
	request.size = 10;
	request.fd = fileno(file);
	assert_int_equal(exchange(sends), 0);
	request.text = "0123456789abc";
	request.fd = -1;
	assert_int_equal(exchange(sends), 0);
	request.text = NULL;
	request.fd = fileno(file);
	request.size = 11; /* it was truncated meanwhile */
	assert_int_equal(exchange(sends_less), -EIO);
	assert_string_equal(transfer.reply.text, "cannot read what is to be sent");
	request.fd = -1;
	assert_int_equal(exchange(sends_less), -EBADF);
	fclose(file);
}

/* ---- Limits ---- */

static bool silence(unsigned call)
{
	assert_in_range(call, 0, 5000);
	return true;
}

static bool connects_late(unsigned call)
{
	if (call == 10)
		pretransfer = 1;
	return silence(call);
}

static bool then_silence(unsigned call)
{
	pretransfer = 1;
	if (call == 0)
		assert_true(header("HTTP/1.1 200 OK\r\n"));
	if (call == 3)
		assert_true(header("\r\n"));
	if (call == 5)
		assert_true(body("a", 1, 1));
	return silence(call);
}

/* Runs it until it is ended, and returns after how many ms. */
static int64_t time_out(bool (*what)(unsigned call), const char *text)
{
	const int64_t before = now_ms;
	unsent = 0;
	assert_int_equal(exchange(what), -ETIMEDOUT);
	assert_string_equal(transfer.reply.text, text);
	pretransfer = 0;
	return now_ms - before;
}

static void limits(void **state)
{
	(void)state;
	transfer.limits.stall = 10001;
	transfer.limits.first_byte = 2003;
	assert_int_equal(time_out(silence, "no more data came"), 10001); /* not sent yet */
	assert_int_equal(last_wait, 1);
	assert_int_equal(time_out(connects_late, "no answer came"), 10 * 50 + 2003);
	assert_int_equal(last_wait, 3);
	assert_int_equal(time_out(then_silence, "no more data came"), 5 * 50 + 10001);
	task.until = now_ms + 123;
	assert_int_equal(time_out(silence, "it took too long"), 123);
	assert_int_equal(time_out(silence, "it took too long"), 0);
	task.until = now_ms + 123;
	assert_int_equal(time_out(connects_late, "it took too long"), 123);
}

static void whole(void **state)
{
	(void)state;
	assert_int_equal(task.until, 0);
	transfer.limits.whole = 300;
	transfer.reply.modified = 5;
	http_task_init(&task, client, &transfer);
	assert_int_equal(task.until, now_ms + 300);
	assert_int_equal(transfer.reply.modified, 0);
}

/* A byte a tick is read, then the kernel sends one a tick, then nothing comes. */
static bool sends_slowly(unsigned call)
{
	char to[8];
	if (call == 0) {
		pretransfer = 1;
		assert_true(fcntl(open_socket(), F_GETFD) & FD_CLOEXEC);
	}
	if (call < 8)
		assert_int_equal(read_body(to, 1, 1), 1);
	unsent = call < 28 ? 28 - (int)call : 0;
	return silence(call);
}

static bool stops_sending(unsigned call)
{
	char to[8];
	pretransfer = 1;
	if (call == 0)
		open_socket();
	assert_int_equal(read_body(to, 1, call < 8), call < 8);
	unsent = call < 20 ? 28 - (int)call : 8;
	return silence(call);
}

static bool stops_reading(unsigned call)
{
	char to[8];
	pretransfer = 1;
	assert_int_equal(read_body(to, 1, call < 4), call < 4);
	return silence(call);
}

/* The answer is waited for from when all was acknowledged; what goes out is no standstill. */
static void acknowledged(void **state)
{
	(void)state;
	request.has_body = true;
	request.text = "01234567";
	request.size = 8;
	transfer.limits.stall = 301;
	transfer.limits.first_byte = 501;
	assert_int_equal(time_out(sends_slowly, "no answer came"), 28 * 50 + 501);
	assert_int_equal(quick_acks, 1);
	assert_int_equal(time_out(stops_sending, "no more data came"), 20 * 50 + 301);
	assert_int_equal(time_out(stops_reading, "no more data came"), 3 * 50 + 301);
	assert_int_equal(quick_acks, 1);
}

static atomic_bool is_canceled;

static bool cancels(unsigned call)
{
	atomic_store(&is_canceled, call == 3);
	return silence(call);
}

static void canceled(void **state)
{
	(void)state;
	transfer.canceled = &is_canceled;
	const int64_t before = now_ms;
	assert_int_equal(exchange(cancels), -ECANCELED);
	assert_string_equal(transfer.reply.text, "canceled");
	assert_int_equal(now_ms - before, 3 * 50);
	assert_int_equal(removes, 1);
}

/* ---- Errors ---- */

static bool fails_with_headers;

static bool ends(unsigned call)
{
	(void)call;
	if (fails_with_headers)
		assert_true(header("HTTP/1.1 403 No\r\n") && header("\r\n"));
	return false;
}

static void results(void **state)
{
	static const struct {
		CURLcode result;
		int err;
	} rows[] = {
		{CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT},
		{CURLE_COULDNT_RESOLVE_PROXY, -EHOSTUNREACH},
		{CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH},
		{CURLE_COULDNT_CONNECT, -EHOSTUNREACH},
		{CURLE_SSL_CONNECT_ERROR, -EHOSTUNREACH},
		{CURLE_PEER_FAILED_VERIFICATION, -EHOSTUNREACH},
		{CURLE_SSL_CERTPROBLEM, -EHOSTUNREACH},
		{CURLE_SSL_CACERT_BADFILE, -EHOSTUNREACH},
		{CURLE_SSL_ISSUER_ERROR, -EHOSTUNREACH},
		{CURLE_RECV_ERROR, -EREMOTEIO},
		{CURLE_OUT_OF_MEMORY, -ENOMEM},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		result = rows[i].result;
		assert_int_equal(exchange(ends), rows[i].err);
		if (rows[i].err != -ENOMEM)
			assert_string_equal(transfer.reply.text, rows[i].result == CURLE_RECV_ERROR
									 ? "cannot receive"
									 : "another error");
	}
	/* Versions before 8.6 call a header that is too long the same. */
	pretransfer = 1;
	result = CURLE_OUT_OF_MEMORY;
	assert_int_equal(exchange(ends), -EREMOTEIO);
	assert_string_equal(transfer.reply.text, "the answer needs too much memory");
	/* Refused while the request was still sent: that is an answer. */
	fails_with_headers = true;
	result = CURLE_SEND_ERROR;
	assert_int_equal(exchange(ends), 0);
	assert_int_equal(guarded.answer.status, 403);
	result = CURLE_COULDNT_CONNECT;
	assert_int_equal(exchange(ends), -EHOSTUNREACH);
	fails_with_headers = false;
}

static bool with_text(unsigned call)
{
	(void)call;
	snprintf(option_set(CURLOPT_ERRORBUFFER)->pointer, CURL_ERROR_SIZE, "name \x1b[1m");
	return false;
}

static bool breaks_off(unsigned call)
{
	(void)call;
	assert_true(header("HTTP/1.1 200 OK\r\n") && header("\r\n"));
	return false;
}

static void texts(void **state)
{
	(void)state;
	result = CURLE_COULDNT_CONNECT;
	assert_int_equal(exchange(with_text), -EHOSTUNREACH);
	assert_null(strchr(transfer.reply.text, '\x1b'));
	assert_memory_equal(transfer.reply.text, "name ", 5);
	result = CURLE_RECV_ERROR;
	assert_int_equal(exchange(breaks_off), -EREMOTEIO); /* no refusal */
	char text[2 * sizeof(transfer.reply.text)];
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	assert_int_equal(http_fail(&task, -EXDEV, "%s", text), -EXDEV);
	assert_int_equal(strlen(transfer.reply.text), sizeof(transfer.reply.text) - 1);
	assert_int_equal(http_fail(&task, -EXDEV, "%s", ""), -EXDEV);
	assert_string_equal(transfer.reply.text, "");
}

static void library_fails(void **state)
{
	(void)state;
	result = CURL_LAST; /* no message */
	assert_int_equal(exchange(ends), -EIO);
	perform_result = CURLM_OUT_OF_MEMORY;
	assert_int_equal(exchange(silence), -ENOMEM);
	perform_result = CURLM_INTERNAL_ERROR;
	assert_int_equal(exchange(silence), -EIO);
	perform_result = CURLM_OK;
	assert_int_equal(adds, removes);
	adds = 0;
	add_result = CURLM_OUT_OF_MEMORY;
	assert_int_equal(exchange(silence), -ENOMEM);
	assert_int_equal(play_calls, 0);
	add_result = CURLM_OK;
	static const CURLoption options[] = {CURLOPT_NOSIGNAL, CURLOPT_CLOSESOCKETDATA, CURLOPT_URL,
					     CURLOPT_INFILESIZE_LARGE, CURLOPT_CUSTOMREQUEST};
	request.has_body = true;
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		refused_option = options[i];
		assert_int_equal(exchange(silence), -EINVAL);
		assert_memory_equal(transfer.reply.text, "libcurl has no CURLOPT_", 23);
		assert_int_equal(play_calls, 0);
	}
	refused_option = CURLOPT_QUICK_EXIT; /* old versions have none */
	result = CURLE_RECV_ERROR;
	assert_int_equal(exchange(ends), -EREMOTEIO);
}

static void no_library(void **state)
{
	static const struct store_options none;
	struct http_client *other = NULL;
	struct gsym_diag diag = {""};
	(void)state;
	has_library = false;
	assert_int_equal(http_client_open(&none, &other, &diag), -ELIBACC);
	has_library = true;
	assert_string_equal(diag.text, "libcurl is not installed");
	assert_null(other);
	http_client_close(NULL);
}

/* ---- Handles ---- */

static void no_handle(void **state)
{
	(void)state;
	has_easy = false;
	assert_int_equal(exchange(usual), -ENOMEM);
	has_easy = true;
	has_multi = false;
	assert_int_equal(exchange(usual), -ENOMEM);
	has_multi = true;
	assert_int_equal(inits, cleanups);
	assert_int_equal(play_calls, 0);
	/* The client itself. */
	assert_int_equal(live, 1);
	allowed = 0;
	assert_int_equal(exchange(usual), -ENOMEM);
	static const struct store_options none;
	struct http_client *other = NULL;
	allowed = 0;
	assert_int_equal(http_client_open(&none, &other, NULL), -ENOMEM);
	assert_null(other);
	/* Lines of headers that are lacking. */
	struct http_headers headers = {0};
	http_header(&headers, "A", "1");
	has_lines = false;
	http_header(&headers, "B", "2");
	has_lines = true;
	http_header(&headers, "C", "3");
	allowed = 0;
	http_header(&headers, "D", "4");
	request.headers = &headers;
	assert_int_equal(exchange(usual), -ENOMEM);
	assert_int_equal(play_calls, 0);
	assert_string_equal(headers.list->data, "A: 1");
	assert_string_equal(headers.list->next->data, "C: 3");
	assert_null(headers.list->next->next);
	http_headers_deinit(&headers);
	assert_null(headers.list);
}

enum { AT_ONCE = 10, KEPT = 8 };

static bool nested(unsigned depth)
{
	struct http_answer inner;
	if (depth + 1 < AT_ONCE)
		http_exchange(&task, &request, &inner);
	return false;
}

/* As many as are under way at the same time; some are kept, with their connections, for the next. */
static void kept_handles(void **state)
{
	(void)state;
	result = CURLE_RECV_ERROR;
	exchange(nested);
	assert_int_equal(inits, AT_ONCE);
	assert_int_equal(cleanups, AT_ONCE - KEPT);
	assert_int_equal(resets, AT_ONCE);
	exchange(nested);
	assert_int_equal(inits, AT_ONCE + AT_ONCE - KEPT);
	assert_int_equal(cleanups, 2 * (AT_ONCE - KEPT));
	exchange(ends);
	assert_int_equal(inits, AT_ONCE + AT_ONCE - KEPT);
}

static int kept_socket;

static bool opens(unsigned call)
{
	assert_in_range(call, 0, 1);
	if (call == 0) {
		kept_socket = open_socket();
		assert_true(kept_socket >= 0);
		pretransfer = 1;
		return true;
	}
	return usual(call);
}

static bool uses_again(unsigned call)
{
	assert_in_range(call, 0, 3);
	if (call == 1) { /* another is opened before the first is closed */
		int other = open_socket();
		assert_int_equal(close_socket(kept_socket), 0);
		kept_socket = other;
	}
	pretransfer = call >= 2;
	return call < 3 || usual(call);
}

static bool closes(unsigned call)
{
	if (call == 0)
		assert_int_equal(close_socket(kept_socket), 0);
	return call < 1 || usual(call);
}

static void connections(void **state)
{
	(void)state;
	assert_int_equal(exchange(opens), 0);
	assert_int_equal(quick_acks, 1);
	pretransfer = 0;
	assert_int_equal(exchange(uses_again), 0);
	assert_int_equal(quick_acks, 2);
	assert_int_equal(exchange(closes), 0);
	assert_int_equal(quick_acks, 2); /* there is none */
	assert_int_equal(fcntl(kept_socket, F_GETFD), -1);
}

/* ---- Options ---- */

static long number_set(CURLoption option)
{
	assert_non_null(option_set(option));
	return option_set(option)->number;
}

static const char *text_set(CURLoption option)
{
	const struct set_option *set = option_set(option);
	return set ? set->pointer : NULL;
}

static bool looks_at_options(unsigned call)
{
	(void)call;
	assert_int_equal(number_set(CURLOPT_NOSIGNAL), 1);
	assert_int_equal(number_set(CURLOPT_FOLLOWLOCATION), 0);
	assert_int_equal(number_set(CURLOPT_SUPPRESS_CONNECT_HEADERS), 1);
	assert_int_equal(number_set(CURLOPT_CONNECTTIMEOUT_MS), 1111);
	assert_string_equal(text_set(CURLOPT_PROTOCOLS_STR), "http,https");
	assert_string_equal(text_set(CURLOPT_URL), "http://h/x");
	assert_string_equal(text_set(CURLOPT_CUSTOMREQUEST), "PUT");
	assert_null(option_set(CURLOPT_NOBODY));
	assert_string_equal(text_set(CURLOPT_CAINFO), "ca");
	assert_string_equal(text_set(CURLOPT_SSLCERT), "cert");
	assert_string_equal(text_set(CURLOPT_SSLKEY), "key");
	assert_int_equal(number_set(CURLOPT_UPLOAD), 1);
	assert_int_equal(option_set(CURLOPT_INFILESIZE_LARGE)->off, 5000000000);
	assert_ptr_equal(text_set(CURLOPT_HTTPHEADER), request.headers->list);
	if (request.signature) { /* the password of the file is for others */
		assert_null(option_set(CURLOPT_NETRC));
		assert_string_equal(text_set(CURLOPT_AWS_SIGV4), "scope");
		assert_string_equal(text_set(CURLOPT_USERNAME), "user");
		assert_string_equal(text_set(CURLOPT_PASSWORD), "secret");
	} else {
		assert_int_equal(number_set(CURLOPT_NETRC), CURL_NETRC_REQUIRED);
		assert_string_equal(text_set(CURLOPT_NETRC_FILE), "netrc");
		assert_int_equal(number_set(CURLOPT_HTTPAUTH), CURLAUTH_BASIC);
		assert_null(option_set(CURLOPT_USERNAME));
	}
	return usual(0);
}

static bool looks_at_few(unsigned call)
{
	(void)call;
	assert_int_equal(number_set(CURLOPT_NOBODY), 1);
	assert_null(option_set(CURLOPT_CUSTOMREQUEST));
	assert_null(option_set(CURLOPT_UPLOAD));
	assert_null(option_set(CURLOPT_HTTPHEADER));
	assert_null(option_set(CURLOPT_CAINFO));
	assert_null(option_set(CURLOPT_SSLCERT));
	assert_null(option_set(CURLOPT_SSLKEY));
	assert_null(option_set(CURLOPT_NETRC));
	assert_null(option_set(CURLOPT_AWS_SIGV4));
	return usual(0);
}

static void options(void **state)
{
	static const struct store_options all = {
		.ca_file = "ca", .cert_file = "cert", .key_file = "key", .netrc_file = "netrc"};
	const struct http_signature signature = {"scope", "user", "secret"};
	struct http_headers headers = {0};
	(void)state;
	request.method = "HEAD";
	assert_int_equal(exchange(looks_at_few), 0);
	http_client_close(client);
	assert_int_equal(inits, cleanups);
	open_client(&all);
	http_header(&headers, "A", "1");
	request.method = "PUT";
	request.headers = &headers;
	request.has_body = true;
	request.size = 5000000000;
	assert_int_equal(exchange(looks_at_options), 0);
	request.signature = &signature;
	assert_int_equal(exchange(looks_at_options), 0);
	http_headers_deinit(&headers);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(usual_answer), TEST(tags),         TEST(other_values), TEST(statuses),
		TEST(begun_once),   TEST(many_headers), TEST(large_bodies), TEST(failures),
		TEST(sending),      TEST(limits),       TEST(whole),        TEST(acknowledged),
		TEST(canceled),     TEST(results),      TEST(texts),        TEST(library_fails),
		TEST(no_library),   TEST(no_handle),    TEST(kept_handles), TEST(connections),
		TEST(options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

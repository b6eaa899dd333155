/* One request and its answer: headers, bodies, limits of time. */
#include "tests/unit/store/transfer/http_exchange_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/unit.h"

/* ---- Headers ---- */

TEST(usual_answer)
{
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

TEST(tags)
{
	char line[2 * STORE_ETAG_SIZE];
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

TEST(other_values)
{
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

TEST(statuses)
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
TEST(begun_once)
{
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

TEST(many_headers)
{
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

TEST(large_bodies)
{
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
TEST(failures)
{
	static const size_t sizes[] = {3, 1022, 1023, 1024, 64 * 1024, 64 * 1024 + 1};
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

TEST(sending)
{
	FILE *file = tmpfile();
	assert_non_null(file);
	assert_int_equal(pwrite(fileno(file), "0123456789", 10, 0), 10);
	request.method = "PUT";
	request.has_body = true;
	request.size = 10;
	request.fd = fileno(file);
	assert_int_equal(exchange(sends), 0);
	request.size = 11; /* it was truncated meanwhile */
	assert_int_equal(exchange(sends_less), -EIO);
	assert_string_equal(transfer.reply.text, "cannot read what is to be sent");
	request.fd = -1;
	assert_int_equal(exchange(sends_less), -EBADF);
	fclose(file);
}

/* ---- Limits ---- */

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

TEST(limits)
{
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

TEST(whole)
{
	assert_int_equal(task.until, 0);
	transfer.limits.whole = 300;
	transfer.reply.modified = 5;
	http_task_init(&task, client, &transfer);
	assert_int_equal(task.until, now_ms + 300);
	assert_int_equal(transfer.reply.modified, 0);
}

static bool opens_no_socket(unsigned call)
{
	(void)call;
	assert_int_equal(open_socket(), -1);
	return false;
}

/* As a service with RestrictAddressFamilies= has no sockets of this family. */
TEST(forbidden_network)
{
	socket_family = 0x7fff;
	result = CURLE_COULDNT_CONNECT;
	assert_int_equal(exchange(opens_no_socket), -EHOSTUNREACH);
	socket_family = AF_UNIX;
	assert_non_null(strstr(transfer.reply.text, "may not use the network (Address family not supported"));
	/* The next exchange has the same handle. */
	result = CURLE_OK;
	assert_int_equal(exchange(usual), 0);
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
TEST(acknowledged)
{
	FILE *file = tmpfile();
	assert_non_null(file);
	assert_int_equal(pwrite(fileno(file), "01234567", 8, 0), 8);
	request.has_body = true;
	request.fd = fileno(file);
	request.size = 8;
	transfer.limits.stall = 301;
	transfer.limits.first_byte = 501;
	assert_int_equal(time_out(sends_slowly, "no answer came"), 28 * 50 + 501);
	assert_int_equal(quick_acks, 1);
	assert_int_equal(time_out(stops_sending, "no more data came"), 20 * 50 + 301);
	assert_int_equal(time_out(stops_reading, "no more data came"), 3 * 50 + 301);
	assert_int_equal(quick_acks, 1);
	fclose(file);
}

static atomic_bool is_canceled;

static bool cancels(unsigned call)
{
	atomic_store(&is_canceled, call == 3);
	return silence(call);
}

TEST(canceled)
{
	transfer.canceled = &is_canceled;
	const int64_t before = now_ms;
	assert_int_equal(exchange(cancels), -ECANCELED);
	assert_string_equal(transfer.reply.text, "canceled");
	assert_int_equal(now_ms - before, 3 * 50);
	assert_int_equal(removes, 1);
}

EACH_TEST(http_exchange_set_up, http_exchange_tear_down)

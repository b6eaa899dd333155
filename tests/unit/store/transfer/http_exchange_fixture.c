#include "tests/unit/store/transfer/http_exchange_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_asprintf.h"

/* ---- The kernel ---- */

int unsent;
unsigned quick_acks;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_ioctl(int fd, unsigned long what, ...);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){.tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000};
	return 0;
}

int __wrap_ioctl(int fd, unsigned long what, ...)
{
	va_list args;
	(void)what;
	assert_true(fd >= 0);
	va_start(args, what);
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

struct http_client *client;
struct transfer transfer;
struct http_task task;
struct http_request request;
struct guarded guarded;
char taken_text[256];
int take_error;
unsigned begun;

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

void open_client(const struct store_options *options)
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

int http_exchange_set_up(void **state)
{
	static const struct store_options none;
	(void)state;
	open_client(&none);
	return 0;
}

int http_exchange_tear_down(void **state)
{
	(void)state;
	http_client_close(client);
	client = NULL;
	assert_int_equal(inits, cleanups);
	assert_int_equal(live, 0);
	return 0;
}

int exchange(bool (*what)(unsigned call))
{
	play = what;
	play_calls = 0;
	begun = 0;
	task.has_begun = false;
	taken_text[0] = 0;
	return http_exchange(&task, &request, &guarded.answer);
}

void fail_next_allocation(void)
{
	allowed = 0;
}

long live_allocations(void)
{
	return live;
}

/* ---- Other sides ---- */

bool usual(unsigned call)
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

bool silence(unsigned call)
{
	assert_in_range(call, 0, 5000);
	return true;
}

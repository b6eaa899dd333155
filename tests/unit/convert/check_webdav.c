/* What is asked of a server of WebDAV, and what is made of its answers: a script answers in its place. */
#include "store/transfer/webdav.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "work/os/monotonic.h"
#include "tests/unit/wrap_asprintf.h"

/* ---- The server ---- */

struct answered {
	const char *request; /* "METHOD address"; NULL: the script ends */
	unsigned status;
	int err; /* of the exchange, if there is no answer */
	const char *body;
};

static const struct answered *script;
static char header_text[512]; /* "Name: value|" of the request that is being made */
static char last_headers[512];
static char last_body[512];
static int64_t now_ms;
static unsigned waits;
/* Of the exchange: what holds while it runs. */
static int64_t last_until;
static bool last_cancelable;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_nanosleep(const struct timespec *request, struct timespec *left);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){.tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000};
	return 0;
}

int __wrap_nanosleep(const struct timespec *request, struct timespec *left)
{
	(void)left;
	assert_in_range(request->tv_nsec, 1000000, 100000000);
	now_ms += request->tv_nsec / 1000000;
	waits++;
	return 0;
}

static time_t parse_number(const char *text, const time_t *unused)
{
	(void)unused;
	return (time_t)strtol(text, NULL, 10);
}

const struct curl_library *curl_library(struct gsym_diag *diag)
{
	static const struct curl_library curl = {.getdate = parse_number};
	(void)diag;
	return &curl;
}

void http_header(struct http_headers *headers, const char *name, const char *value)
{
	size_t n = strlen(header_text);
	(void)headers;
	snprintf(header_text + n, sizeof(header_text) - n, "%s: %s|", name, value);
}

void http_headers_deinit(struct http_headers *headers)
{
	(void)headers;
	header_text[0] = 0;
}

int http_fail(struct http_task *task, int err, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(task->transfer->reply.text, sizeof(task->transfer->reply.text), fmt, args);
	va_end(args);
	return err;
}

bool http_succeeded(const struct http_answer *answer)
{
	return answer->status / 100 == 2;
}

static int send_body(const struct http_request *request, const char *body)
{
	const size_t n = strlen(body);
	assert_in_range(n, 0, request->max);
	int err = 0;
	for (size_t at = 0; at < n && !err; at += 5)
		err = request->receive(request->user, body + at, n - at < 5 ? n - at : 5);
	return err;
}

int http_exchange(struct http_task *task, const struct http_request *request, struct http_answer *ret)
{
	char line[512];
	snprintf(line, sizeof(line), "%s %s", request->method, request->url);
	assert_non_null(script->request);
	assert_string_equal(line, script->request);
	assert_non_null(request->headers);
	memcpy(last_headers, header_text, sizeof(header_text));
	if (request->text)
		assert_int_equal(request->size, strlen(request->text));
	snprintf(last_body, sizeof(last_body), "%.*s", request->text ? (int)request->size : 0,
		 request->text ? request->text : "");
	last_until = task->until;
	last_cancelable = task->transfer->canceled;
	*ret = (struct http_answer){.status = script->status, .now = 99, .modified = 77, .etag = "of-it"};
	int err = script->err;
	if (!err && script->body)
		err = send_body(request, script->body);
	script++;
	return err;
}

/* ---- A task ---- */

static const atomic_bool not_canceled;
static struct transfer transfer;
static struct http_task task;
static struct webdav dav;

static void begin(const struct answered *answers)
{
	script = answers;
	transfer = (struct transfer){.canceled = &not_canceled, .size = 4096};
	task = (struct http_task){.transfer = &transfer, .until = 123456};
	dav = (struct webdav){.task = &task, .address = "http://host/store"};
	now_ms = 5000;
	waits = 0;
}

static void expect_end(void)
{
	assert_null(script->request);
	assert_string_equal(header_text, ""); /* freed */
	assert_int_equal(live, 0);
}

#define SCRIPT(...) begin((const struct answered[]){__VA_ARGS__, {NULL}})

/* ---- Requests ---- */

static void exchange(bool has_body, uint64_t size, const char *want)
{
	struct http_request request = {.method = "PUT", .has_body = has_body, .size = size};
	struct http_headers headers = {0};
	struct http_answer answer;
	http_header(&headers, "Own", "x");
	assert_int_equal(webdav_exchange(&dav, "ab/c", &request, &headers, &answer), 0);
	assert_string_equal(last_headers, want);
	assert_int_equal(answer.status, 200);
}

TEST(requests)
{
	const struct answered put = {"PUT http://host/store/ab/c", 200};
	SCRIPT(put, put, put, put);
	exchange(false, 0, "Own: x|");
	exchange(true, 65536, "Own: x|Expect: |");
	exchange(true, 65537, "Own: x|");
	dav.authorization = "Bearer t";
	exchange(true, 0, "Own: x|Expect: |Authorization: Bearer t|");
	expect_end();
	SCRIPT({"PUT http://host/store/n", .err = -ETIMEDOUT});
	struct http_request request = {.method = "PUT"};
	struct http_headers headers = {0};
	struct http_answer answer;
	assert_int_equal(webdav_exchange(&dav, "n", &request, &headers, &answer), -ETIMEDOUT);
	expect_end();
}

TEST(moving)
{
	struct http_answer answer;
	SCRIPT({"MOVE http://host/store/a/from", 201});
	assert_int_equal(webdav_move(&dav, "a/from", "b/to", &answer), 0);
	assert_string_equal(last_headers, "Destination: /store/b/to|Overwrite: F|");
	assert_int_equal(answer.status, 201);
	expect_end();
}

/* ---- Collections ---- */

TEST(collections)
{
	const struct answered a = {"MKCOL http://host/store/a/", 405},
			      b = {"MKCOL http://host/store/a/b/", 201},
			      forbidden = {"MKCOL http://host/store/a/", 403},
			      full = {"MKCOL http://host/store/a/", 507},
			      down = {"MKCOL http://host/store/a/", .err = -EHOSTUNREACH};
	SCRIPT(a, b);
	assert_true(webdav_make_collections(&dav, "a/b/c"));
	expect_end();
	begin(&(const struct answered){NULL});
	assert_true(webdav_make_collections(&dav, "c"));
	/* Another host made it at the same time. */
	SCRIPT(forbidden, a, b);
	assert_true(webdav_make_collections(&dav, "a/b/c"));
	expect_end();
	SCRIPT(forbidden, forbidden);
	assert_false(webdav_make_collections(&dav, "a/b/c"));
	expect_end();
	SCRIPT(full);
	assert_false(webdav_make_collections(&dav, "a/b/c"));
	expect_end();
	SCRIPT(down);
	assert_false(webdav_make_collections(&dav, "a/b/c"));
	expect_end();
}

/* ---- Guards ---- */

#define GUARD "http://host/store/a/n.guard/"

static const struct answered made = {"MKCOL " GUARD, 201}, exists = {"MKCOL " GUARD, 405},
			     forbidden = {"MKCOL " GUARD, 403}, no_parent = {"MKCOL " GUARD, 409},
			     dropped = {"DELETE " GUARD, 204}, full = {"MKCOL " GUARD, 507},
			     parent_made = {"MKCOL http://host/store/a/", 201},
			     parent_fails = {"MKCOL http://host/store/a/", 507};

TEST(taking)
{
	SCRIPT(made);
	assert_int_equal(webdav_take_guard(&dav, "a/n"), 0);
	expect_end();
	SCRIPT(exists, exists, made);
	assert_int_equal(webdav_take_guard(&dav, "a/n"), 0);
	assert_int_equal(waits, 2);
	expect_end();
	SCRIPT(no_parent, parent_made, made);
	assert_int_equal(webdav_take_guard(&dav, "a/n"), 0);
	expect_end();
	SCRIPT(no_parent, parent_fails);
	assert_int_equal(webdav_take_guard(&dav, "a/n"), -EREMOTEIO);
	expect_end();
	SCRIPT(full, parent_made, full);
	assert_int_equal(webdav_take_guard(&dav, "a/n"), -EREMOTEIO);
	assert_string_equal(transfer.reply.text, "HTTP 507");
	expect_end();
	SCRIPT({"MKCOL " GUARD, .err = -EHOSTUNREACH});
	assert_int_equal(webdav_take_guard(&dav, "a/n"), -EHOSTUNREACH);
	expect_end();
}

/* What Apache forbids for a moment is tried again. */
TEST(raced)
{
	SCRIPT(forbidden, forbidden, parent_made, forbidden, forbidden, made);
	assert_int_equal(webdav_take_guard(&dav, "a/n"), 0);
	assert_int_equal(waits, 1);
	expect_end();
}

/* Of a host that crashed: another second for the one that takes its place. */
TEST(left_behind)
{
	enum { SECOND = 100 };
	struct answered answers[2 * SECOND + 8] = {{NULL}};
	size_t n = 0;
	while (n < SECOND + 1)
		answers[n++] = exists;
	answers[n++] = dropped;
	answers[n] = made;
	begin(answers);
	assert_int_equal(webdav_take_guard(&dav, "a/n"), 0);
	assert_int_equal(waits, SECOND);
	expect_end();
	/* Others take it again and again. */
	while (n < 2 * SECOND + 3)
		answers[n++] = exists;
	begin(answers);
	assert_int_equal(webdav_take_guard(&dav, "a/n"), -EAGAIN);
	assert_string_equal(transfer.reply.text, "others write the object");
	assert_int_equal(waits, 2 * SECOND);
	expect_end();
}

/* Permission that never comes ends, too. */
TEST(never_permitted)
{
	enum { SECOND = 100 };
	struct answered answers[4 * SECOND + 8] = {{NULL}};
	size_t n = 0;
	for (size_t i = 0; i <= SECOND; i++) {
		answers[n++] = forbidden;
		answers[n++] = forbidden;
		answers[n++] = parent_fails;
	}
	begin(answers);
	assert_int_equal(webdav_take_guard(&dav, "a/n"), -EACCES);
	assert_int_equal(waits, SECOND);
	expect_end();
}

/* A guard is dropped also when the transfer has come to its end, and its reply stays. */
TEST(dropping)
{
	SCRIPT(dropped);
	transfer.reply.modified = 5;
	snprintf(transfer.reply.text, sizeof(transfer.reply.text), "why");
	webdav_drop_guard(&dav, "a/n");
	assert_int_equal(last_until, 5000 + 1000);
	assert_false(last_cancelable);
	assert_int_equal(task.until, 123456);
	assert_ptr_equal(transfer.canceled, &not_canceled);
	assert_int_equal(transfer.reply.modified, 5);
	assert_string_equal(transfer.reply.text, "why");
	expect_end();
}

TEST(probing)
{
	SCRIPT(made, exists, dropped);
	assert_int_equal(webdav_probe_guard(&dav, "a/n"), 1);
	expect_end();
	SCRIPT(made, made, dropped); /* it makes what there is */
	assert_int_equal(webdav_probe_guard(&dav, "a/n"), 0);
	expect_end();
	SCRIPT(made, {"MKCOL " GUARD, .err = -ETIMEDOUT}, dropped);
	assert_int_equal(webdav_probe_guard(&dav, "a/n"), -ETIMEDOUT);
	expect_end();
	SCRIPT(exists);
	assert_int_equal(webdav_probe_guard(&dav, "a/n"), 0);
	expect_end();
	SCRIPT(forbidden, forbidden, parent_fails);
	assert_int_equal(webdav_probe_guard(&dav, "a/n"), 0);
	expect_end();
	SCRIPT(full, parent_fails); /* which says nothing of what it can do */
	assert_int_equal(webdav_probe_guard(&dav, "a/n"), -EREMOTEIO);
	expect_end();
	SCRIPT({"MKCOL " GUARD, 501}, parent_fails);
	transfer.condition = STORE_IF_ABSENT;
	assert_int_equal(webdav_probe_guard(&dav, "a/n"), 0);
	expect_end();
	SCRIPT({"MKCOL " GUARD, .err = -EHOSTUNREACH});
	assert_int_equal(webdav_probe_guard(&dav, "a/n"), -EHOSTUNREACH);
	expect_end();
}

/* ---- Lists ---- */

#define RESPONSE(href, more)                                                                        \
	"<D:response><D:href>" href "</D:href><D:propstat><D:prop>" more "</D:prop></D:propstat></" \
	"D:response>"
#define FILE_OF(href, size, time)                                          \
	RESPONSE(href, "<D:getcontentlength>" size "</D:getcontentlength>" \
		       "<D:getlastmodified>" time "</D:getlastmodified>")
#define COLLECTION(href) RESPONSE(href, "<D:resourcetype><D:collection/></D:resourcetype>")
#define STATUSES(...)    "<?xml version=\"1.0\"?><D:multistatus>" __VA_ARGS__ "</D:multistatus>"

/* Lists the names that begin with @name: the list, in a buffer of its own. */
static const char *list(const char *name, int err)
{
	static char text[4096];
	FILE *file = tmpfile();
	assert_non_null(file);
	transfer.name = name;
	transfer.operation = STORE_LIST;
	transfer.fd = fileno(file);
	assert_int_equal(webdav_list(&dav), err);
	ssize_t n = pread(fileno(file), text, sizeof(text) - 1, 0);
	assert_in_range(n, 0, sizeof(text) - 1);
	text[n] = 0;
	fclose(file);
	if (!err) {
		assert_int_equal(transfer.reply.size, n);
		assert_int_equal(transfer.reply.now, 99);
	}
	assert_string_equal(transfer.reply.etag, ""); /* not those of a collection */
	assert_int_equal(transfer.reply.modified, 0);
	expect_end();
	return text;
}

TEST(lists)
{
	SCRIPT({"PROPFIND http://host/store/", 207,
		.body = STATUSES(COLLECTION("/store/") FILE_OF("/store/top", "50", "1000")
					 COLLECTION("/store/ab/") FILE_OF("/store/t2", "6", "2000"))},
	       {"PROPFIND http://host/store/ab/", 207,
		.body = STATUSES(COLLECTION("/store/ab/")
					 FILE_OF("/store/ab/x", "18446744073709551615", "3"))});
	assert_string_equal(list("", 0), "top\t50\t1000\nt2\t6\t2000\nab/x\t18446744073709551615\t3\n");
	assert_string_equal(last_headers, "Depth: 1|Content-Type: application/xml|Expect: |");
	assert_non_null(strstr(last_body, "<getcontentlength/>"));
	assert_string_equal(last_body + strlen(last_body) - 12, "</propfind>\n");
}

/* Only what can have names that begin like this is asked for. */
TEST(beginnings)
{
	const struct answered of_a = {"PROPFIND http://host/store/a/", 207,
				      .body = STATUSES(COLLECTION("/store/a/b1/") COLLECTION("/store/a/c/")
							       FILE_OF("/store/a/b2", "1", "2")
								       FILE_OF("/store/a/c2", "1", "2"))},
			      of_b1 = {"PROPFIND http://host/store/a/b1/", 207,
				       .body = STATUSES(FILE_OF("/store/a/b1/z", "3", "4"))};
	SCRIPT(of_a, of_b1);
	assert_string_equal(list("a/b", 0), "a/b2\t1\t2\na/b1/z\t3\t4\n");
	SCRIPT({"PROPFIND http://host/store/a/", 404});
	assert_string_equal(list("a/", 0), "");
	/* Longer than a collection's name. */
	SCRIPT({"PROPFIND http://host/store/a/", 207, .body = STATUSES(COLLECTION("/store/a/b1/"))}, of_b1);
	assert_string_equal(list("a/b1", 0), "a/b1/z\t3\t4\n");
}

/* Names of others, of elsewhere, of deeper down, and such that no object has. */
TEST(other_names)
{
	SCRIPT({"PROPFIND http://host/store/a/", 207,
		.body = STATUSES(FILE_OF("/store/a/b/c", "1", "2") FILE_OF("/other/a/x", "1", "2") FILE_OF(
			"/store/x", "1", "2") FILE_OF("/store/a/Upper", "1", "2")
					 FILE_OF("/storea/x", "1", "2") FILE_OF("/store/a/..", "1", "2")
						 COLLECTION("/store/a/b/c/") FILE_OF("", "1", "2") FILE_OF(
							 "http://host", "1", "2") COLLECTION("/store/"))});
	assert_string_equal(list("a/", 0), "");
	/* An element that names none keeps nothing of the one before. */
	SCRIPT({"PROPFIND http://host/store/", 207,
		.body = STATUSES(FILE_OF("/store/a", "5", "6") COLLECTION("/store/Z")
					 RESPONSE("/store/b", "") "<D:response></D:response>")});
	assert_string_equal(list("", 0), "a\t5\t6\nb\t0\t0\n");
}

TEST(addresses)
{
	SCRIPT({"PROPFIND http://host/store/", 207,
		.body = STATUSES(
			FILE_OF("http://other:8080/store/a", "1", "2") FILE_OF("/s%74or%65/%62", "1", "2")
				FILE_OF("/store/c%2Dd", "1", "2") FILE_OF("/store/e%2dd", "1", "2")
					FILE_OF("/store/f%", "1", "2") FILE_OF("/store/g%00", "1", "2")
						FILE_OF("/store/h%6", "1", "2")
							FILE_OF("http:///store/i", "1", "2"))});
	assert_string_equal(list("", 0), "a\t1\t2\nb\t1\t2\nc-d\t1\t2\ne-d\t1\t2\ni\t1\t2\n");
	/* The address of the store may be coded itself. */
	SCRIPT({"PROPFIND http://host/s%2dt/", 207,
		.body = STATUSES(FILE_OF("/s-t/a", "1", "2") FILE_OF("/s%2dt/b%30", "1", "2")
					 FILE_OF("/s-t/c%0a", "1", "2"))});
	dav.address = "http://host/s%2dt";
	assert_string_equal(list("", 0), "a\t1\t2\nb0\t1\t2\n");
	/* And have no path. */
	SCRIPT({"PROPFIND http://host/", 207, .body = STATUSES(FILE_OF("/a", "1", "2"))});
	dav.address = "http://host";
	assert_string_equal(list("", 0), "a\t1\t2\n");
}

/* The longest name leaves room for the slash of a collection. */
TEST(long_names)
{
	char body[2048], want[STORE_NAME_SIZE + 16];
	for (int n = STORE_NAME_SIZE - 3; n <= STORE_NAME_SIZE; n++) {
		snprintf(body, sizeof(body), STATUSES(FILE_OF("/store/%0*d", "1", "2")), n, 7);
		snprintf(want, sizeof(want), "%0*d\t1\t2\n", n, 7);
		SCRIPT({"PROPFIND http://host/store/", 207, .body = body});
		assert_string_equal(list("", 0), n <= STORE_NAME_SIZE - 2 ? want : "");
	}
}

TEST(failures)
{
	static const struct {
		unsigned status;
		int err;
		const char *text;
	} rows[] = {
		{400, -EOPNOTSUPP, "HTTP 400, the server has no lists"},
		{405, -EOPNOTSUPP, "HTTP 405, the server has no lists"},
		{501, -EOPNOTSUPP, "HTTP 501, the server has no lists"},
		{403, -EACCES, "HTTP 403, not permitted"},
		{200, -EREMOTEIO, "HTTP 200"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		SCRIPT({"PROPFIND http://host/store/", rows[i].status});
		list("", rows[i].err);
		assert_string_equal(transfer.reply.text, rows[i].text);
	}
	SCRIPT({"PROPFIND http://host/store/", 207, .body = "<!DOCTYPE html>"});
	list("", -EREMOTEIO);
	assert_string_equal(transfer.reply.text, "the list is no XML");
	/* Another document, none, and one that is cut off. */
	static const char *const no_lists[] = {"<html></html>", "", "<multistatus><response>"};
	for (size_t i = 0; i < sizeof(no_lists) / sizeof(*no_lists); i++) {
		SCRIPT({"PROPFIND http://host/store/", 207, .body = no_lists[i]});
		list("", -EREMOTEIO);
		assert_string_equal(transfer.reply.text, "the answer is no whole list");
	}
	SCRIPT({"PROPFIND http://host/store/", .err = -ETIMEDOUT});
	list("", -ETIMEDOUT);
	/* The second of three fails: nothing is left over. */
	SCRIPT({"PROPFIND http://host/store/", 207,
		.body = STATUSES(COLLECTION("/store/a/") COLLECTION("/store/b/"))},
	       {"PROPFIND http://host/store/b/", .err = -EIO});
	list("", -EIO);
	SCRIPT({"PROPFIND http://host/store/", 207,
		.body = STATUSES(FILE_OF("/store/a", "1", "2") FILE_OF("/store/b", "1", "2"))});
	transfer.size = 10;
	list("", -EFBIG);
	SCRIPT({"PROPFIND http://host/store/", 207,
		.body = STATUSES(FILE_OF("/store/a", "1", "2") FILE_OF("/store/b", "1", "2"))});
	transfer.size = 12;
	assert_string_equal(list("", 0), "a\t1\t2\nb\t1\t2\n");
}

/* As many as no store has. */
TEST(many_collections)
{
	static const char one[] = "<response><href>/store/%06u</href><collection/></response>";
	enum { MANY = 100000, SIZE = sizeof(one) + 2 };
	char *body = malloc((size_t)MANY * SIZE);
	size_t n = 0;
	assert_non_null(body);
	for (unsigned i = 0; i < MANY; i++)
		n += (size_t)snprintf(body + n, SIZE, one, i);
	SCRIPT({"PROPFIND http://host/store/", 207, .body = body});
	transfer.name = "";
	assert_int_equal(webdav_list(&dav), -EFBIG);
	assert_string_equal(transfer.reply.text, "too many collections");
	free(body);
	expect_end();
}

/* Without memory at any place: an error, nothing is left over, and no list that lacks something. */
TEST(no_memory)
{
	int err = -ENOMEM;
	for (long n = 0; err; n++) {
		struct http_answer answer;
		SCRIPT({"MOVE http://host/store/a/from", 201});
		allowed = n;
		err = webdav_move(&dav, "a/from", "b/to", &answer);
		allowed = -1;
		assert_int_equal(err, n < 2 ? -ENOMEM : 0);
		assert_int_equal(live, 0);
	}
	err = -ENOMEM;
	FILE *file = tmpfile();
	assert_non_null(file);
	for (long n = 0; err; n++) {
		assert_in_range(n, 0, 50);
		SCRIPT({"PROPFIND http://host/store/", 207,
			.body = STATUSES(COLLECTION("/store/a/") FILE_OF("/store/b", "1", "2"))},
		       {"PROPFIND http://host/store/a/", 207,
			.body = STATUSES(FILE_OF("/store/a/b", "1", "2"))});
		transfer.name = "";
		transfer.fd = fileno(file);
		allowed = n;
		err = webdav_list(&dav);
		allowed = -1;
		assert_true(err == 0 || err == -ENOMEM);
		assert_int_equal(live, 0);
		if (!err)
			expect_end();
	}
	assert_int_equal(transfer.reply.size, strlen("b\t1\t2\na/b\t1\t2\n"));
	fclose(file);
}

/* What the engines of stores on servers have in common: addresses, names, statuses and bodies. */
#include "store/transfer/http_store.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "gsym/base/diag.h"
#include "gsym/base/text_buf.h"
#include "tests/lib/unit.h"

/* ---- In place of http_exchange.c ---- */

static char header_text[256];

void http_header(struct http_headers *headers, const char *name, const char *value)
{
	(void)headers;
	snprintf(header_text, sizeof(header_text), "%s: %s", name, value);
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

static ssize_t random_bytes = sizeof(uint64_t);
ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags);

ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags)
{
	assert_int_equal(flags, 0);
	assert_int_equal(size, sizeof(uint64_t));
	memset(to, 0x0a, size);
	errno = ENOSYS;
	return random_bytes;
}

/* ---- Addresses and names ---- */

TEST(addresses)
{
	static const char *const rows[][2] = {
		/* given, without slashes at its end */
		{"http://h", "http://h"},
		{"https://h/", "https://h"},
		{"http://h:80/a//", "http://h:80/a"},
		{"https://[::1]/a/b%20", "https://[::1]/a/b%20"},
		{"https://h/https://x", "https://h/https://x"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *address = NULL;
		assert_int_equal(http_address_make(rows[i][0], &address, NULL), 0);
		assert_string_equal(address, rows[i][1]);
		free(address);
	}
}

TEST(refused_addresses)
{
	static const char *const none[] = {"",           "h/a",        "ftp://h",      "http:///a",
					   "https:///a", "http://",    "https://",     "HTTP://h",
					   "http:/h",    "http://h?a", "http://h/a b", "http://h#a"};
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		struct gsym_diag diag = {""};
		char *address = NULL;
		assert_int_equal(http_address_make(none[i], &address, &diag), -EINVAL);
		assert_null(address);
		assert_non_null(strstr(diag.text, "is no address of the form https://HOST/PREFIX"));
	}
	struct gsym_diag diag = {""};
	char *address = NULL;
	assert_int_equal(http_address_make("https://user:password@h", &address, &diag), -EINVAL);
	assert_string_equal(diag.text, "the address has a user: give it in a file"); /* not the password */
}

TEST(names)
{
	static const char *const valid[] = {"a", "a/b", "0-z.x/..a", "...a"},
				 *const invalid[] = {"",    "/",    "a/",   "/a",   "a//b",
						     ".",   "..",   "a/..", "../a", "a/./b",
						     "...", "a\tb", "A",    "a_b",  "a/b/"};
	char name[STORE_NAME_SIZE + 2];
	for (size_t i = 0; i < sizeof(valid) / sizeof(*valid); i++)
		assert_true(store_name_valid(valid[i]));
	for (size_t i = 0; i < sizeof(invalid) / sizeof(*invalid); i++)
		assert_false(store_name_valid(invalid[i]));
	snprintf(name, sizeof(name), "%0*d", STORE_NAME_SIZE - 1, 7);
	assert_true(store_name_valid(name));
	snprintf(name, sizeof(name), "%0*d", STORE_NAME_SIZE, 7);
	assert_false(store_name_valid(name));
}

static bool is_valid(enum store_operation operation, const char *name, enum store_condition condition,
		     const char *etag)
{
	const struct transfer transfer = {
		.operation = operation, .name = name, .condition = condition, .etag = etag};
	return http_transfer_valid(&transfer);
}

TEST(transfers)
{
	char etag[STORE_ETAG_SIZE + 1];
	assert_true(is_valid(STORE_GET, "a/b", STORE_ALWAYS, NULL));
	assert_false(is_valid(STORE_GET, "a/", STORE_ALWAYS, NULL));
	assert_false(is_valid(STORE_PUT, "", STORE_ALWAYS, NULL));
	assert_true(is_valid(STORE_PUT, "a", STORE_IF_ABSENT, ""));
	/* Tags go into a header. */
	assert_true(is_valid(STORE_PUT, "a", STORE_IF_MATCH, "!\"~"));
	assert_false(is_valid(STORE_PUT, "a", STORE_IF_MATCH, NULL));
	assert_false(is_valid(STORE_PUT, "a", STORE_IF_MATCH, ""));
	assert_false(is_valid(STORE_PUT, "a", STORE_IF_MATCH, "a b"));
	assert_false(is_valid(STORE_PUT, "a", STORE_IF_MATCH, "a\x7f"));
	assert_false(is_valid(STORE_PUT, "a", STORE_IF_MATCH, "\r\nX: y"));
	assert_false(is_valid(STORE_PUT, "A", STORE_IF_MATCH, "x"));
	snprintf(etag, sizeof(etag), "%0*d", STORE_ETAG_SIZE - 1, 7);
	assert_true(is_valid(STORE_PUT, "a", STORE_IF_MATCH, etag));
	snprintf(etag, sizeof(etag), "%0*d", STORE_ETAG_SIZE, 7);
	assert_false(is_valid(STORE_PUT, "a", STORE_IF_MATCH, etag));
}

TEST(names_of_probes)
{
	char name[STORE_NAME_SIZE];
	struct transfer transfer = {.operation = STORE_GET, .size = 1};
	assert_int_equal(http_probe_name(&transfer, name), 0);
	assert_string_equal(name, "gsymfs1/probe-0a0a0a0a0a0a0a0a");
	assert_ptr_equal(transfer.name, name);
	assert_int_equal(transfer.operation, STORE_PUT);
	assert_int_equal(transfer.size, 0);
	random_bytes = -1;
	assert_int_equal(http_probe_name(&transfer, name), -ENOSYS);
	random_bytes = sizeof(uint64_t);
}

TEST(conditions)
{
	struct http_headers headers = {0};
	header_text[0] = 0;
	http_condition(&headers, STORE_ALWAYS, "x");
	assert_string_equal(header_text, "");
	http_condition(&headers, STORE_IF_ABSENT, "x");
	assert_string_equal(header_text, "If-None-Match: *");
	http_condition(&headers, STORE_IF_MATCH, "x");
	assert_string_equal(header_text, "If-Match: x");
}

/* ---- Answers ---- */

TEST(statuses)
{
	static const struct {
		unsigned status;
		enum store_condition condition;
		int err;
		const char *text;
	} rows[] = {
		{404, STORE_ALWAYS, -ENOENT, ""},
		{410, STORE_ALWAYS, -ENOENT, ""},
		{412, STORE_IF_MATCH, -EEXIST, ""},
		{409, STORE_ALWAYS, -EREMOTEIO, "HTTP 409, conflict"},
		{409, STORE_IF_ABSENT, -EAGAIN, "HTTP 409, conflict"},
		{401, STORE_ALWAYS, -EACCES, "HTTP 401, not permitted"},
		{403, STORE_ALWAYS, -EACCES, "HTTP 403, not permitted"},
		{405, STORE_ALWAYS, -EACCES, "HTTP 405, not permitted"},
		{413, STORE_ALWAYS, -EFBIG, "HTTP 413, the object is too large for the server"},
		{429, STORE_ALWAYS, -EREMOTEIO, "HTTP 429, too many requests"},
		{501, STORE_ALWAYS, -EREMOTEIO, "HTTP 501, not implemented"},
		{501, STORE_IF_MATCH, -EOPNOTSUPP, "HTTP 501, not implemented"},
		{299, STORE_ALWAYS, -EREMOTEIO, "HTTP 299"},
		{302, STORE_ALWAYS, -EREMOTEIO, "HTTP 302, redirections are not followed"},
		{400, STORE_ALWAYS, -EREMOTEIO, "HTTP 400"},
		{500, STORE_ALWAYS, -EREMOTEIO, "HTTP 500"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct transfer transfer = {.condition = rows[i].condition};
		struct http_task task = {.transfer = &transfer};
		const struct http_answer answer = {.status = rows[i].status};
		assert_int_equal(http_status_error(&task, &answer), rows[i].err);
		assert_string_equal(transfer.reply.text, rows[i].text);
	}
}

TEST(replies)
{
	struct transfer transfer = {.reply = {.now = 1, .modified = 2, .etag = "old"}};
	struct http_task task = {.transfer = &transfer};
	/* Of a failure only the server's time is of interest. */
	http_fill_reply(&task, &(struct http_answer){.status = 404, .now = 5, .modified = 6, .etag = "new"});
	assert_int_equal(transfer.reply.now, 5);
	assert_int_equal(transfer.reply.modified, 2);
	assert_string_equal(transfer.reply.etag, "old");
	/* What an answer does not say stays. */
	http_fill_reply(&task, &(struct http_answer){.status = 201});
	assert_int_equal(transfer.reply.now, 5);
	assert_int_equal(transfer.reply.modified, 2);
	assert_string_equal(transfer.reply.etag, "old");
	http_fill_reply(&task, &(struct http_answer){.status = 200, .modified = 6, .etag = "new"});
	assert_int_equal(transfer.reply.modified, 6);
	assert_string_equal(transfer.reply.etag, "new");
}

/* ---- Bodies ---- */

TEST(bodies)
{
	struct transfer transfer = {.size = 4711};
	struct http_task task = {.transfer = &transfer};
	struct http_request request = {.method = NULL};
	struct http_body body;
	char text[16] = "";
	FILE *file = tmpfile();
	assert_non_null(file);
	transfer.fd = fileno(file);
	http_begin_get(&body, &task, &request);
	assert_string_equal(request.method, "GET");
	assert_int_equal(request.max, 4711);
	assert_int_equal(request.receive(request.user, "abc", 3), 0);
	assert_int_equal(request.receive(request.user, "defg", 4), 0);
	assert_int_equal(http_end_get(&body, &(struct http_answer){.status = 200, .etag = "t"}), 0);
	assert_int_equal(transfer.reply.size, 7);
	assert_string_equal(transfer.reply.etag, "t");
	assert_int_equal(pread(transfer.fd, text, sizeof(text), 0), 7);
	assert_string_equal(text, "abcdefg");
	transfer.reply.size = 0;
	assert_int_equal(http_end_get(&body, &(struct http_answer){.status = 206}), -EREMOTEIO); /* a part */
	assert_int_equal(http_end_get(&body, &(struct http_answer){.status = 404, .now = 9}), -ENOENT);
	assert_int_equal(transfer.reply.now, 9);
	assert_int_equal(transfer.reply.size, 0);
	transfer.fd = -1;
	assert_int_equal(request.receive(request.user, "h", 1), -EBADF);
	assert_string_equal(transfer.reply.text, "cannot write what was received: Bad file descriptor");
	fclose(file);
}

/* A store on an HTTP server: what it is asked, what its answers mean, and the token that it is shown. */
#include "tests/unit/store/transfer/scripted_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"

enum { BEARER_MAX = 16 * 1024 };

#define IF_ABSENT "PUT a <abc>; If-None-Match: *"

static bool is_stdin;  /* the next file gets its number */
static int open_error; /* of the bearer file; 0: none */

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size);

/* What is opened is handed to no other program, and nothing waits for it. */
int __wrap_open64(const char *path, int flags, ...)
{
	assert_int_equal(flags & O_ACCMODE, O_RDONLY);
	assert_true(flags & O_CLOEXEC);
	assert_true(flags & O_NONBLOCK);
	if (open_error) {
		errno = open_error;
		return -1;
	}
	if (is_stdin)
		close(STDIN_FILENO);
	return __real_open64(path, flags);
}

ssize_t __wrap_read(int fd, void *to, size_t size)
{
	assert_in_range(size, 1, BEARER_MAX + 1);
	errno = EIO;
	return __real_read(fd, to, size);
}

static void open_with(const struct store_options *options)
{
	reset_server();
	open_engine(&http_engine, options);
}

static void open_one(void)
{
	open_with(&(const struct store_options){.address = "http://h/s//"});
	/* Conditions are known to hold. */
	run_row(&(const struct transfer_row){{PUT("a"), ABSENT}, {{IF_ABSENT, 412}}, {-EEXIST}});
}

/* ---- Reading ---- */

TEST(reading)
{
	static const struct transfer_row rows[] = {
		{{GET("a/b")},
		 {{"GET a/b", 200, .body = "contents", .etag = "t", .now = 50, .modified = 40}},
		 {.size = 8, .etag = "t", .now = 50, .modified = 40}},
		{{GET("a")}, {{"GET a", 404, .now = 50}}, {-ENOENT, .now = 50}},
		{{GET("a")}, {{"GET a", .err = -ETIMEDOUT}}, {-ETIMEDOUT, .text = "no answer"}},
		/* A cache may keep all but leases. */
		{{GET("a.lease")}, {{"GET a.lease; Cache-Control: no-cache", 200}}, {0}},
		{{GET("a.leas")}, {{"GET a.leas", 200}}, {0}},
		{{GET("a.lease.b")}, {{"GET a.lease.b", 200}}, {0}},
		{{GET(".lease")}, {{"GET .lease", 200}}, {0}},
		{{HEAD("a/b")},
		 {{"HEAD a/b", 200, .length = 4711, .etag = "t", .now = 50, .modified = 40}},
		 {.size = 4711, .etag = "t", .now = 50, .modified = 40}},
		{{HEAD("a")}, {{"HEAD a", 410, .now = 50}}, {-ENOENT, .now = 50}},
		{{HEAD("a")}, {{"HEAD a", 204}}, {-EREMOTEIO, .text = "HTTP 204"}},
		{{HEAD("a")}, {{"HEAD a", .err = -EHOSTUNREACH}}, {-EHOSTUNREACH, .text = "no answer"}},
		{{HEAD("a.lease")}, {{"HEAD a.lease; Cache-Control: no-cache", 200}}, {0}},
	};
	open_one();
	RUN_ROWS(rows);
	close_engine();
}

TEST(contents)
{
	static const struct scripted script[] = {{"GET a", 200, .body = "0123456789"}, {NULL}};
	char bytes[16] = "";
	open_one();
	begin_script(script);
	struct transfer transfer = make_transfer(&(const struct transfer){GET("a")});
	assert_int_equal(http_engine.run(engine, &transfer), 0);
	assert_int_equal(pread(transfer.fd, bytes, sizeof(bytes), 0), 10);
	assert_string_equal(bytes, "0123456789");
	close_transfer();
	close_engine();
}

/* ---- Writing ---- */

TEST(writing)
{
	static const struct transfer_row rows[] = {
		{{PUT("a")},
		 {{"PUT a <abc>", 200, .etag = "n", .now = 50, .modified = 40, .length = 9}},
		 {.etag = "n", .now = 50, .modified = 40}},
		{{PUT("a"), ABSENT},
		 {{"PUT a <abc>; If-None-Match: *", 201, .etag = "n", .now = 50}},
		 {.etag = "n", .now = 50}},
		{{PUT("a.lease"), MATCH}, {{"PUT a.lease <abc>; If-Match: t", 204, .now = 50}}, {.now = 50}},
		{{PUT("a")}, {{"PUT a <abc>", 202, .now = 50}}, {-EREMOTEIO, .now = 50, .text = "HTTP 202"}},
		{{PUT("a"), ABSENT},
		 {{"PUT a <abc>; If-None-Match: *", 412, .now = 50}},
		 {-EEXIST, .now = 50}},
		{{PUT("a"), MATCH}, {{"PUT a <abc>; If-Match: t", 412}}, {-EEXIST}},
		{{PUT("a")}, {{"PUT a <abc>", 403}}, {-EACCES, .text = "HTTP 403, not permitted"}},
		{{PUT("a")}, {{"PUT a <abc>", .err = -ETIMEDOUT}}, {-ETIMEDOUT, .text = "no answer"}},
	};
	open_one();
	RUN_ROWS(rows);
	close_engine();
}

TEST(collections)
{
	static const struct transfer_row rows[] = {
		{{PUT("a/b")},
		 {{"PUT a/b <abc>", 409}, {"MKCOL a/", 201}, {"PUT a/b <abc>", 201, .etag = "n"}},
		 {.etag = "n"}},
		{{PUT("a/b"), ABSENT},
		 {{"PUT a/b <abc>; If-None-Match: *", 404},
		  {"MKCOL a/", 405},
		  {"PUT a/b <abc>; If-None-Match: *", 201, .etag = "n"}},
		 {.etag = "n"}},
		{{PUT("a/b")},
		 {{"PUT a/b <abc>", 500}, {"MKCOL a/", 201}, {"PUT a/b <abc>", 500}},
		 {-EREMOTEIO, .text = "HTTP 500"}},
		{{PUT("a/b")},
		 {{"PUT a/b <abc>", 500}, {"MKCOL a/", 201}, {"PUT a/b <abc>", .err = -ETIMEDOUT}},
		 {-ETIMEDOUT, .text = "no answer"}},
		{{PUT("a/b")},
		 {{"PUT a/b <abc>", 404, .now = 50}, {"MKCOL a/", 403}, {"MKCOL a/", 403}},
		 {-EREMOTEIO, .now = 50, .text = "HTTP 404, cannot be written"}},
		{{PUT("a/b"), ABSENT},
		 {{"PUT a/b <abc>; If-None-Match: *", 409}, {"MKCOL a/", 507}},
		 {-EAGAIN, .text = "HTTP 409, conflict"}},
		/* They are there if there is something to match. */
		{{PUT("a/b"), MATCH}, {{"PUT a/b <abc>; If-Match: t", 404}}, {-ENOENT}},
		{{PUT("a/b"), MATCH},
		 {{"PUT a/b <abc>; If-Match: t", 409}},
		 {-EAGAIN, .text = "HTTP 409, conflict"}},
	};
	open_one();
	RUN_ROWS(rows);
	close_engine();
}

TEST(deleting)
{
	static const struct transfer_row rows[] = {
		{{DEL("a")}, {{"DELETE a", 204, .now = 50}}, {.now = 50}},
		{{DEL("a")}, {{"DELETE a", 200}}, {0}},
		{{DEL("a")}, {{"DELETE a", 404, .now = 50}}, {-ENOENT, .now = 50}},
		{{DEL("a")},
		 {{"DELETE a", 300}},
		 {-EREMOTEIO, .text = "HTTP 300, redirections are not followed"}},
		{{DEL("a")}, {{"DELETE a", .err = -ETIMEDOUT}}, {-ETIMEDOUT, .text = "no answer"}},
	};
	open_one();
	RUN_ROWS(rows);
	close_engine();
}

/* ---- Conditions ---- */

#define NO_CONDITIONS                                                   \
	{                                                               \
		-EOPNOTSUPP, .text = "the server ignores If-None-Match" \
	}

/* What is written first is written twice, to see whether the second is refused. */
TEST(conditions)
{
	static const struct {
		struct transfer_row rows[3];
	} table[] = {
		{{{{PUT("a"), ABSENT}, {{IF_ABSENT, 201, .etag = "e"}, {IF_ABSENT, 412}}, {.etag = "e"}},
		  {{PUT("a"), ABSENT}, {{IF_ABSENT, 201, .etag = "f"}}, {.etag = "f"}},
		  {{PUT("a"), ABSENT}, {{IF_ABSENT, 412}}, {-EEXIST}}}},
		{{{{PUT("a"), ABSENT}, {{IF_ABSENT, 412}}, {-EEXIST}},
		  {{PUT("a"), ABSENT}, {{IF_ABSENT, 201}}, {0}},
		  {{PUT("a"), ABSENT}, {{IF_ABSENT, 201}}, {0}}}},
		{{{{PUT("a"), ABSENT},
		   {{IF_ABSENT, 201}, {IF_ABSENT, 201}, {"DELETE a", 204}},
		   NO_CONDITIONS},
		  {{PUT("a"), ABSENT}, {{NULL}}, NO_CONDITIONS},
		  {{PUT("a")}, {{"PUT a <abc>", 201}}, {0}}}},
		/* What says nothing is tried again. */
		{{{{PUT("a"), ABSENT}, {{IF_ABSENT, .err = -ETIMEDOUT}}, {-ETIMEDOUT, .text = "no answer"}},
		  {{PUT("a"), ABSENT}, {{IF_ABSENT, 201}, {IF_ABSENT, .err = -ETIMEDOUT}}, {0}},
		  {{PUT("a"), ABSENT}, {{IF_ABSENT, 201}, {IF_ABSENT, 412}}, {0}}}},
		{{{{PUT("a"), ABSENT},
		   {{IF_ABSENT, 501}},
		   {-EOPNOTSUPP, .text = "HTTP 501, not implemented"}},
		  {{PUT("a"), ABSENT}, {{IF_ABSENT, 403}}, {-EACCES, .text = "HTTP 403, not permitted"}},
		  {{PUT("a"), ABSENT}, {{IF_ABSENT, 412}}, {-EEXIST}}}},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		open_with(&(const struct store_options){.address = "http://h/s//"});
		RUN_ROWS(table[i].rows);
		close_engine();
	}
}

/* ---- Secrets ---- */

static char directory[] = "/tmp/gsymfs-http-XXXXXX", bearer[64];

static void write_bearer(const char *text, size_t size)
{
	FILE *to = fopen(bearer, "w");
	assert_non_null(to);
	assert_int_equal(fwrite(text, 1, size, to), size);
	fclose(to);
}

#define UNREADABLE "the bearer file cannot be read: "

TEST(tokens)
{
	static const struct {
		const char *text, *token; /* NULL: it is none */
	} table[] = {
		{"token", "token"},  {"token\nmore", "token"}, {"token\r\n", "token"}, {"!\x7e ", "!\x7e "},
		{"", NULL},          {"\ntoken", NULL},        {"to\tken", NULL},      {"to\x1fken", NULL},
		{"to\x7fken", NULL}, {"to\xc3\xa4ken", NULL},
	};
	open_with(&(const struct store_options){.address = "http://h/s", .bearer_file = bearer});
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		char request[64];
		write_bearer(table[i].text, strlen(table[i].text));
		snprintf(request, sizeof(request), "HEAD a; Authorization: Bearer %s", table[i].token);
		secret = table[i].token;
		n_wiped = 0;
		if (table[i].token)
			run_row(&(const struct transfer_row){{HEAD("a")}, {{request, 200}}, {0}});
		else
			run_row(&(const struct transfer_row){
				{HEAD("a")}, {{NULL}}, {-EACCES, .text = UNREADABLE "Invalid argument"}});
		assert_int_equal(n_wiped, table[i].token != NULL);
	}
	secret = NULL;
	close_engine();
}

TEST(long_tokens)
{
	char token[BEARER_MAX + 2], request[BEARER_MAX + 64];
	open_with(&(const struct store_options){.address = "http://h/s", .bearer_file = bearer});
	snprintf(token, sizeof(token), "%0*d", BEARER_MAX, 7);
	write_bearer(token, BEARER_MAX);
	snprintf(request, sizeof(request), "HEAD a; Authorization: Bearer %s", token);
	run_row(&(const struct transfer_row){{HEAD("a")}, {{request, 200}}, {0}});
	/* One that is longer is not sent, and no part of it is. */
	snprintf(token, sizeof(token), "%0*d", BEARER_MAX + 1, 7);
	write_bearer(token, BEARER_MAX + 1);
	run_row(&(const struct transfer_row){
		{HEAD("a")}, {{NULL}}, {-EACCES, .text = UNREADABLE "File too large"}});
	close_engine();
}

/* Without a standard input. */
TEST(token_at_0)
{
	const int saved = dup(STDIN_FILENO);
	open_with(&(const struct store_options){.address = "http://h/s", .bearer_file = bearer});
	write_bearer("t", 1);
	is_stdin = true;
	struct transfer transfer = make_transfer(&(const struct transfer){HEAD("a")});
	begin_script((const struct scripted[]){{"HEAD a; Authorization: Bearer t", 200}, {NULL}});
	assert_int_equal(http_engine.run(engine, &transfer), 0);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	is_stdin = false;
	close_transfer();
	if (saved >= 0) {
		assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
		close(saved);
	}
	close_engine();
}

/* It is read anew each time. */
TEST(token_files)
{
	const struct transfer_row head = {{HEAD("a")}, {{"HEAD a; Authorization: Bearer t", 200}}, {0}};
	open_with(&(const struct store_options){.address = "http://h/s", .bearer_file = bearer});
	unlink(bearer);
	run_row(&(const struct transfer_row){
		{HEAD("a")}, {{NULL}}, {-EACCES, .text = UNREADABLE "No such file or directory"}});
	write_bearer("t", 1);
	run_row(&head);
	unlink(bearer);
	assert_int_equal(mkdir(bearer, 0700), 0);
	run_row(&(const struct transfer_row){
		{HEAD("a")}, {{NULL}}, {-EACCES, .text = UNREADABLE "Is a directory"}});
	assert_int_equal(rmdir(bearer), 0);
	/* A fault of this machine is no state of the store. */
	open_error = EMFILE;
	run_row(&(const struct transfer_row){
		{HEAD("a")}, {{NULL}}, {-EMFILE, .text = UNREADABLE "Too many open files"}});
	open_error = EIO;
	run_row(&(const struct transfer_row){
		{HEAD("a")}, {{NULL}}, {-EIO, .text = UNREADABLE "Input/output error"}});
	open_error = 0;
	close_engine();
}

/* ---- Opening, memory ---- */

TEST(opening)
{
	struct gsym_diag diag = {""};
	reset_server();
	server.open_err = -ELIBACC;
	assert_int_equal(
		http_engine.open(&(const struct store_options){.address = "http://h"}, &engine, &diag),
		-ELIBACC);
	assert_string_equal(diag.text, "no client");
	assert_null(engine);
	close_engine(); /* NULL */
}

/* Each allocation fails once. */
TEST(no_memory)
{
	const struct store_options options = {.address = "http://h/s", .bearer_file = bearer};
	int err = -ENOMEM;
	write_bearer("t", 1);
	reset_server();
	for (long n = 0; err; n++) {
		assert_in_range(n, 0, 10);
		allowed = n;
		err = http_engine.open(&options, &engine, NULL);
		assert_int_equal(err, end_allocations() ? -ENOMEM : 0);
		assert_true(!err || (!engine && live == 0 && server.n_clients == 0));
	}
	const long before = live;
	static const struct scripted script[] = {
		{"PUT a <abc>; If-Match: t; Authorization: Bearer t", 201, .etag = "n"}, {NULL}};
	err = -ENOMEM;
	for (long n = 0; err; n++) {
		assert_in_range(n, 0, 20);
		struct transfer transfer = make_transfer(&(const struct transfer){PUT("a"), MATCH});
		begin_script(script);
		allowed = n;
		err = http_engine.run(engine, &transfer);
		assert_int_equal(err, end_allocations() ? -ENOMEM : 0);
		assert_int_equal(live, before);
		close_transfer();
	}
	expect_end();
	close_engine();
}

static int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(bearer, sizeof(bearer), "%s/bearer", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	unlink(bearer);
	return rmdir(directory);
}

ALL_TESTS(make_directory, remove_directory)

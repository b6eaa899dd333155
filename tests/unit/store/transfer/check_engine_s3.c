/* A bucket of S3: requests for objects, what answers mean, and conditions. */
#include "tests/unit/store/transfer/s3_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/unit.h"

#define FAILURE(code) "<Error><Code>" code "</Code><Message>m</Message></Error>"

/* ---- Objects ---- */

TEST(reading)
{
	static const struct transfer_row rows[] = {
		{{GET("a/b")},
		 {{"GET p/a/b" NO_BODY, 200, .body = "contents", .etag = "t", .now = 50, .modified = 40}},
		 {.size = 8, .etag = "t", .now = 50, .modified = 40}},
		{{GET("a")},
		 {{"GET p/a" NO_BODY, 404, .now = 50, .body = FAILURE("NoSuchKey")}},
		 {-ENOENT, .now = 50}},
		{{GET("a")}, {{"GET p/a" NO_BODY, .err = -ETIMEDOUT}}, {-ETIMEDOUT, .text = "no answer"}},
		{{GET("a")},
		 {{"GET p/a" NO_BODY, 200, .err = -EREMOTEIO, .body = "cont"}},
		 {-EREMOTEIO, .text = "no answer"}},
		{{GET("a")}, {{"GET p/a" NO_BODY, 206}}, {-EREMOTEIO, .text = "HTTP 206"}},
		{{HEAD("a/b")},
		 {{"HEAD p/a/b" NO_BODY, 200, .length = 4711, .etag = "t", .now = 50, .modified = 40}},
		 {.size = 4711, .etag = "t", .now = 50, .modified = 40}},
		{{HEAD("a")}, {{"HEAD p/a" NO_BODY, 404}}, {-ENOENT}},
		{{HEAD("a")}, {{"HEAD p/a" NO_BODY, 204}}, {-EREMOTEIO, .text = "HTTP 204"}},
		{{HEAD("a")},
		 {{"HEAD p/a" NO_BODY, 200, .err = -ETIMEDOUT, .etag = "t", .now = 50}},
		 {-ETIMEDOUT, .text = "no answer"}},
	};
	open_bucket();
	RUN_ROWS(rows);
	close_engine();
}

/* What S3 says of a failure. */
TEST(reasons)
{
	static const struct {
		unsigned status;
		const char *body;
		int err;
		const char *text;
	} table[] = {
		{403, FAILURE("AccessDenied"), -EACCES, "HTTP 403, AccessDenied"},
		{403, FAILURE("A") FAILURE("B"), -EACCES, "HTTP 403, A"},
		{403, FAILURE(""), -EACCES, "HTTP 403, not permitted"},
		{403, "<Error><Reason>A</Reason></Error>", -EACCES, "HTTP 403, not permitted"},
		{403, NULL, -EACCES, "HTTP 403, not permitted"},
		{403, "no XML & <", -EACCES, "HTTP 403, not permitted"},
		{404, FAILURE("NoSuchBucket"), -EREMOTEIO, "HTTP 404, NoSuchBucket"},
		{404, FAILURE("NoSuchKey"), -ENOENT, ""},
		{403, FAILURE("NoSuchBucket"), -EACCES, "HTTP 403, NoSuchBucket"},
		{412, FAILURE("PreconditionFailed"), -EEXIST, ""},
		{503, FAILURE("SlowDown"), -EREMOTEIO, "HTTP 503, SlowDown"},
		{413, FAILURE("EntityTooLarge"), -EFBIG, "HTTP 413, EntityTooLarge"},
	};
	open_bucket();
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct transfer_row row = {{GET("a")},
					   {{"GET p/a" NO_BODY, table[i].status, .body = table[i].body}},
					   {table[i].err}};
		snprintf(row.want.text, sizeof(row.want.text), "%s", table[i].text);
		run_row(&row);
	}
	/* One that is too long is none. */
	char body[256], text[256];
	for (int n = 63; n < 65; n++) {
		snprintf(body, sizeof(body), "<Code>%0*d</Code>", n, 7);
		snprintf(text, sizeof(text), "HTTP 403, %0*d", n, 7);
		struct transfer_row row = {{GET("a")}, {{"GET p/a" NO_BODY, 403, .body = body}}, {-EACCES}};
		snprintf(row.want.text, sizeof(row.want.text), "%s",
			 n < 64 ? text : "HTTP 403, not permitted");
		run_row(&row);
	}
	close_engine();
}

TEST(writing)
{
	static const struct transfer_row rows[] = {
		{{PUT("a")},
		 {{"PUT p/a" BODY_OF_ABC, 200, .etag = "n", .now = 50, .modified = 40}},
		 {.etag = "n", .now = 50, .modified = 40}},
		{{PUT("a"), ABSENT},
		 {{"PUT p/a <abc>; If-None-Match: *" DIGEST_OF_ABC, 200, .etag = "n"},
		  {"PUT p/a <abc>; If-None-Match: *" DIGEST_OF_ABC, 412}},
		 {.etag = "n"}},
		{{PUT("a"), ABSENT},
		 {{"PUT p/a <abc>; If-None-Match: *" DIGEST_OF_ABC, 412, .now = 50}},
		 {-EEXIST, .now = 50}},
		{{PUT("a"), ABSENT},
		 {{"PUT p/a <abc>; If-None-Match: *" DIGEST_OF_ABC, 409, .body = FAILURE("C")}},
		 {-EAGAIN, .text = "HTTP 409, C"}},
		{{PUT("a")}, {{"PUT p/a" BODY_OF_ABC, 202}}, {-EREMOTEIO, .text = "HTTP 202"}},
		{{PUT("a")},
		 {{"PUT p/a" BODY_OF_ABC, 404}},
		 {-EREMOTEIO, .text = "HTTP 404, cannot be written"}},
		{{PUT("a")}, {{"PUT p/a" BODY_OF_ABC, .err = -ETIMEDOUT}}, {-ETIMEDOUT, .text = "no answer"}},
		{{DEL("a")}, {{"DELETE p/a" NO_BODY, 204, .now = 50}}, {.now = 50}},
		{{DEL("a")}, {{"DELETE p/a" NO_BODY, 403}}, {-EACCES, .text = "HTTP 403, not permitted"}},
		{{DEL("a")}, {{"DELETE p/a" NO_BODY, 404}}, {-ENOENT}},
		{{DEL("a")}, {{"DELETE p/a" NO_BODY, .err = -ETIMEDOUT}}, {-ETIMEDOUT, .text = "no answer"}},
	};
	open_bucket();
	RUN_ROWS(rows);
	close_engine();
}

/* Bodies of several blocks, and what cannot be read. */
TEST(digests)
{
	static const struct {
		uint64_t size, has;
		const char *digest; /* NULL: an error */
	} table[] = {
		{65536, 65536, "bf718b6f653bebc184e1479f1935b8da974d701b893afcf49e701f3e2f9f9c5a"},
		{65537, 65537, "008ffc88d3c96a9f307524eb361e47c5222a887fc45fa0c1fb8d429c5c23b430"},
		{1000000, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
		{65536, 70000, "bf718b6f653bebc184e1479f1935b8da974d701b893afcf49e701f3e2f9f9c5a"},
		{70000, 69999, NULL},
	};
	static char bytes[1000000];
	memset(bytes, 'a', sizeof(bytes));
	open_bucket();
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		char request[256];
		snprintf(request, sizeof(request), "PUT p/a <%u bytes>" DIGEST "%s", (unsigned)table[i].size,
			 table[i].digest);
		struct transfer transfer = make_transfer(&(const struct transfer){PUT("a")});
		transfer.size = table[i].size;
		assert_int_equal(pwrite(transfer.fd, bytes, table[i].has, 0), table[i].has);
		begin_script(table[i].digest ? (const struct scripted[]){{request, 200}, {NULL}} : NULL);
		assert_int_equal(s3_engine.run(engine, &transfer), table[i].digest ? 0 : -EIO);
		expect_end();
		close_transfer();
	}
	struct transfer transfer = make_transfer(&(const struct transfer){PUT("a")});
	transfer.fd = -1;
	begin_script(NULL);
	assert_int_equal(s3_engine.run(engine, &transfer), -EBADF);
	assert_int_equal(transfer.reply.err, -EBADF);
	close_transfer();
	close_engine();
}

/* ---- Conditions ---- */

#define TAGGED .condition = STORE_IF_MATCH, .etag = "\"t\""
#define QUOTED                                                                   \
	{                                                                        \
		"PUT p/a <abc>; If-Match: \"t\"" DIGEST_OF_ABC, 200, .etag = "n" \
	}
#define NO_QUOTED                                                                                          \
	{                                                                                                  \
		"PUT p/a <abc>; If-Match: \"t\"" DIGEST_OF_ABC, 412, .body = FAILURE("PreconditionFailed") \
	}
#define BARE                                                                 \
	{                                                                    \
		"PUT p/a <abc>; If-Match: t" DIGEST_OF_ABC, 200, .etag = "n" \
	}
#define NO_BARE                                                 \
	{                                                       \
		"PUT p/a <abc>; If-Match: t" DIGEST_OF_ABC, 412 \
	}
/* What does not match is sent again without quotes. */
TEST(matching)
{
	static const struct transfer_row rows[] = {
		{{PUT("a"), TAGGED}, {QUOTED}, {.etag = "n"}},
		{{PUT("a"), TAGGED}, {NO_QUOTED, NO_BARE}, {-EEXIST}},
		{{PUT("a"), TAGGED}, {NO_QUOTED, BARE}, {.etag = "n"}},
		{{PUT("a"), TAGGED}, {{"PUT p/a <abc>; If-Match: \"t\"" DIGEST_OF_ABC, 404}}, {-ENOENT}},
		/* Only quotes are left out. */
		{{PUT("a"), MATCH}, {BARE}, {.etag = "n"}},
		{{PUT("a"), .condition = STORE_IF_MATCH, .etag = "\"t"},
		 {{"PUT p/a <abc>; If-Match: \"t" DIGEST_OF_ABC, 200, .etag = "n"}},
		 {.etag = "n"}},
		{{PUT("a"), .condition = STORE_IF_MATCH, .etag = "t\""},
		 {{"PUT p/a <abc>; If-Match: t\"" DIGEST_OF_ABC, 200, .etag = "n"}},
		 {.etag = "n"}},
		{{PUT("a"), .condition = STORE_IF_MATCH, .etag = "\""},
		 {{"PUT p/a <abc>; If-Match: \"" DIGEST_OF_ABC, 200, .etag = "n"}},
		 {.etag = "n"}},
		{{PUT("a"), .condition = STORE_IF_MATCH, .etag = "\"\""},
		 {{"PUT p/a <abc>; If-Match: \"\"" DIGEST_OF_ABC, 200, .etag = "n"}},
		 {.etag = "n"}},
		/* Its answer says no more than that it is there. */
		{{PUT("a"), TAGGED},
		 {NO_QUOTED, {"PUT p/a <abc>; If-Match: t" DIGEST_OF_ABC, 200, .now = 50}},
		 {.now = 50}},
	};
	open_bucket();
	RUN_ROWS(rows);
	close_engine();
}

/* ---- Credentials, memory ---- */

TEST(credentials)
{
	const struct transfer_row none = {
		{GET("a")}, {{NULL}}, {-EACCES, .text = "there are no credentials for S3"}};
	const struct transfer_row invalid = {
		{GET("a")},
		{{NULL}},
		{-EACCES, .text = "credentials for S3 cannot be read: Invalid argument"}};
	open_bucket();
	unsetenv("AWS_SECRET_ACCESS_KEY");
	run_row(&none);
	setenv("AWS_SECRET_ACCESS_KEY", "a b", 1);
	run_row(&invalid);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	setenv("AWS_SESSION_TOKEN", "token", 1);
	secret = "secret";
	n_wiped = 0;
	run_row(&(const struct transfer_row){
		{HEAD("a")}, {{"HEAD p/a" NO_BODY "; x-amz-security-token: token", 200}}, {0}});
	assert_int_equal(n_wiped, 1);
	secret = NULL;
	close_engine();
}

/* Each allocation fails once: nothing is sent, nothing is left over. */
static void fail_allocations(const struct transfer *from, const struct scripted *script)
{
	const long before = live;
	int err = -ENOMEM;
	for (long n = 0; err; n++) {
		assert_in_range(n, 0, 20);
		struct transfer transfer = make_transfer(from);
		begin_script(script);
		allowed = n;
		err = s3_engine.run(engine, &transfer);
		assert_int_equal(err, end_allocations() ? -ENOMEM : 0);
		assert_true(!err || server.next == script);
		assert_int_equal(transfer.reply.err, err);
		assert_int_equal(live, before);
		close_transfer();
	}
	expect_end();
}

TEST(no_memory)
{
	open_bucket();
	fail_allocations(&(const struct transfer){PUT("a"), TAGGED},
			 (const struct scripted[]){QUOTED, {NULL}});
	fail_allocations(&(const struct transfer){GET("a")},
			 (const struct scripted[]){{"GET p/a" NO_BODY, 200}, {NULL}});
	close_engine();
}

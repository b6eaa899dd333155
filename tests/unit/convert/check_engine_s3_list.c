/* Lists of a bucket of S3: which objects of which pages are listed, and what is no list. */
#include "s3_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/unit.h"

enum { TOKEN_MAX = 2047, PAGE_MAX = 16 << 20 };

#define FIRST         "GET ?list-type=2&prefix=p%2F" NO_BODY
#define NEXT(token)   "GET ?continuation-token=" token "&list-type=2&prefix=p%2F" NO_BODY
#define PAGE(...)     "<?xml version=\"1.0\"?><ListBucketResult>" __VA_ARGS__ "</ListBucketResult>"
#define CONTENTS(...) "<Contents>" __VA_ARGS__ "</Contents>"
#define OBJECT(key, size, time)                          \
	CONTENTS("<Key>" key "</Key><LastModified>" time \
		 "</LastModified><ETag>&quot;t&quot;</ETag><Size>" size "</Size>")
#define MORE(token) "<IsTruncated>true</IsTruncated><NextContinuationToken>" token "</NextContinuationToken>"
#define LAST        "<IsTruncated>false</IsTruncated>"
#define TIME        "2009-10-12T17:50:30.000Z"
#define SECONDS     "1255369830"

/* Lists names that begin like this: the text of the list. */
static const char *list(const char *name, const struct scripted *script, const struct store_reply *want)
{
	static char text[4096];
	struct transfer transfer = make_transfer(&(const struct transfer){LIST(name)});
	transfer.size = sizeof(text) - 1;
	begin_script(script);
	assert_int_equal(s3_engine.run(engine, &transfer), want->err);
	expect_end();
	const ssize_t n = pread(transfer.fd, text, sizeof(text) - 1, 0);
	assert_in_range(n, 0, sizeof(text) - 1);
	text[n] = 0;
	assert_int_equal(transfer.reply.err, want->err);
	assert_string_equal(transfer.reply.text, want->text);
	assert_int_equal(transfer.reply.now, want->now);
	assert_int_equal(transfer.reply.size, want->err ? 0 : n);
	assert_string_equal(transfer.reply.etag, "");
	close_transfer();
	return text;
}

TEST(pages)
{
	static const struct scripted script[] = {
		{"GET ?list-type=2&prefix=p%2Fab%2F" NO_BODY, 200, .now = 50, .etag = "x",
		 .body = PAGE(MORE("1/+= a~b-c.d_e\xc3\xa4") OBJECT("p/ab/x", "12", TIME)
				      OBJECT("p/ab/y", "18446744073709551615", "1970-01-01T00:00:01Z"))},
		{"GET ?continuation-token=1%2F%2B%3D%20a~b-c.d_e%C3%A4&list-type=2&prefix=p%2Fab%2F" NO_BODY,
		 200, .now = 51, .body = PAGE(MORE("2"))},
		{"GET ?continuation-token=2&list-type=2&prefix=p%2Fab%2F" NO_BODY, 200, .now = 52,
		 .body = PAGE(OBJECT("p/ab/z", "0", TIME))},
		{NULL},
	};
	open_bucket();
	assert_string_equal(list("ab/", script, &(const struct store_reply){.now = 52}),
			    "ab/x\t12\t" SECONDS "\nab/y\t18446744073709551615\t1\nab/z\t0\t" SECONDS "\n");
	assert_int_equal(server.max, PAGE_MAX);
	close_engine();
}

/* Keys of others, and what is not known of an object. */
TEST(objects)
{
	static const struct scripted script[] = {
		{FIRST, 200,
		 .body = PAGE(
			 LAST OBJECT("q/a", "1", TIME) OBJECT("p/", "1", TIME) OBJECT("p/A", "1", TIME)
				 OBJECT("p/a//b", "1", TIME) OBJECT("p", "1", TIME) CONTENTS(
					 "<Key>p/b</Key>") OBJECT("p/c", "7", "yesterday")
					 CONTENTS("<Size>9</Size>") CONTENTS("") CONTENTS(
						 "<Size>8</Size><Key>p/d</Key>") "<Key>p/e</Key><Size>5</"
										 "Size><CommonPrefixes></"
										 "CommonPrefixes>")},
		{NULL},
	};
	open_bucket();
	assert_string_equal(list("", script, &(const struct store_reply){.err = 0}),
			    "b\t0\t0\nc\t7\t0\nd\t8\t0\n");
	close_engine();
}

TEST(long_keys)
{
	char body[1024], want[512];
	open_bucket();
	for (int n = STORE_NAME_SIZE - 1; n <= STORE_NAME_SIZE; n++) {
		snprintf(body, sizeof(body), PAGE(CONTENTS("<Key>p/%0*d</Key>")), n, 7);
		snprintf(want, sizeof(want), "%0*d\t0\t0\n", n, 7);
		const struct scripted script[] = {{FIRST, 200, .body = body}, {NULL}};
		assert_string_equal(list("", script, &(const struct store_reply){.err = 0}),
				    n < STORE_NAME_SIZE ? want : "");
	}
	close_engine();
}

/* A page says whether there is another, and where. */
TEST(tokens)
{
	static char token[TOKEN_MAX + 2], body[TOKEN_MAX + 256], request[TOKEN_MAX + 256];
	const struct store_reply endless = {-EREMOTEIO, .text = "the list has no end"},
				 circles = {-EREMOTEIO, .text = "the list goes in circles"}, good = {0};
	open_bucket();
	list("",
	     (const struct scripted[]){{FIRST, 200, .body = PAGE("<IsTruncated>true</IsTruncated>")}, {NULL}},
	     &endless);
	list("",
	     (const struct scripted[]){
		     {FIRST, 200, .body = PAGE("<NextContinuationToken>1</NextContinuationToken>" LAST)},
		     {NULL}},
	     &endless);
	list("",
	     (const struct scripted[]){{FIRST, 200, .body = PAGE(MORE("1"))},
				       {NEXT("1"), 200, .body = PAGE(MORE("1"))},
				       {NULL}},
	     &circles);
	list("",
	     (const struct scripted[]){{FIRST, 200, .body = PAGE(MORE("1"))},
				       {NEXT("1"), 200, .body = PAGE(MORE("2"))},
				       {NEXT("2"), 200, .body = PAGE(LAST)},
				       {NULL}},
	     &good);
	/* What is said of a page is forgotten with the next. */
	list("",
	     (const struct scripted[]){{FIRST, 200, .body = PAGE(MORE("1"))},
				       {NEXT("1"), 200, .body = PAGE("<IsTruncated>True</IsTruncated>")},
				       {NULL}},
	     &good);
	for (int n = TOKEN_MAX; n <= TOKEN_MAX + 1; n++) {
		snprintf(token, sizeof(token), "%0*d", n, 7);
		snprintf(body, sizeof(body), PAGE(MORE("%s")), token);
		snprintf(request, sizeof(request),
			 "GET ?continuation-token=%s&list-type=2&prefix=p%%2F" NO_BODY, token);
		const struct scripted script[] = {{FIRST, 200, .body = body},
						  {n == TOKEN_MAX ? request : NULL, 200, .body = PAGE(LAST)},
						  {NULL}};
		list("", script, n == TOKEN_MAX ? &good : &endless);
	}
	close_engine();
}

TEST(failures)
{
	static const struct {
		struct scripted script[SCRIPT_MAX];
		struct store_reply want;
	} table[] = {
		{{{FIRST, 200, .body = "<!DOCTYPE a>"}}, {-EREMOTEIO, .text = "the list is no XML"}},
		/* What another server may say with 200, and a list that is cut off. */
		{{{FIRST, 200, .body = "<html><p>please log in</p></html>"}},
		 {-EREMOTEIO, .text = "the answer is no whole list"}},
		{{{FIRST, 200, .body = ""}}, {-EREMOTEIO, .text = "the answer is no whole list"}},
		{{{FIRST, 200, .body = "<ListBucketResult><Contents><Key>p/a"}},
		 {-EREMOTEIO, .text = "the answer is no whole list"}},
		{{{FIRST, 403, .now = 50, .body = "<Code>AccessDenied</Code>"}},
		 {-EACCES, .now = 50, .text = "HTTP 403, AccessDenied"}},
		{{{FIRST, 404, .body = "<Code>NoSuchBucket</Code>"}},
		 {-EREMOTEIO, .text = "HTTP 404, NoSuchBucket"}},
		{{{FIRST, 204}}, {-EREMOTEIO, .text = "HTTP 204"}},
		{{{FIRST, .err = -ETIMEDOUT}}, {-ETIMEDOUT, .text = "no answer"}},
		{{{FIRST, 200, .now = 50, .body = PAGE(MORE("1"))}, {NEXT("1"), .err = -ETIMEDOUT}},
		 {-ETIMEDOUT, .now = 50, .text = "no answer"}},
	};
	open_bucket();
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		list("", table[i].script, &table[i].want);
	close_engine();
}

/* No more is written than is wanted, and what cannot be written is no list. */
TEST(limits)
{
	static const struct scripted script[] = {{FIRST, 200, .body = PAGE(OBJECT("p/a", "1", TIME))},
						 {NULL}};
	const size_t size = strlen("a\t1\t" SECONDS "\n");
	open_bucket();
	for (unsigned less = 0; less < 2; less++) {
		struct transfer transfer = make_transfer(&(const struct transfer){LIST("")});
		transfer.size = size - less;
		begin_script(script);
		assert_int_equal(s3_engine.run(engine, &transfer), less ? -EFBIG : 0);
		expect_end();
		close_transfer();
	}
	struct transfer transfer = make_transfer(&(const struct transfer){LIST("")});
	transfer.fd = -1;
	begin_script(script);
	assert_int_equal(s3_engine.run(engine, &transfer), -EBADF);
	assert_string_equal(transfer.reply.text, "cannot write the list: Bad file descriptor");
	close_transfer();
	close_engine();
}

/* Each allocation fails once. */
TEST(no_memory)
{
	static const struct scripted script[] = {
		{FIRST, 200, .body = PAGE(MORE("1") OBJECT("p/a", "1", TIME))},
		{NEXT("1"), 200, .body = PAGE(OBJECT("p/b", "1", TIME))},
		{NULL}};
	int err = -ENOMEM;
	open_bucket();
	const long before = count_live();
	for (long n = 0; err; n++) {
		assert_in_range(n, 0, 50);
		struct transfer transfer = make_transfer(&(const struct transfer){LIST("")});
		begin_script(script);
		allow_allocations(n);
		err = s3_engine.run(engine, &transfer);
		assert_int_equal(err, end_allocations() ? -ENOMEM : 0);
		assert_int_equal(count_live(), before);
		close_transfer();
	}
	expect_end();
	close_engine();
}

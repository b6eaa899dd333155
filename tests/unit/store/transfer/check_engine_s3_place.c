/* Where a bucket of S3 is: addresses, regions, prefixes, and what is none; opening when something fails. */
#include "tests/unit/store/transfer/s3_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

#define REGION_OF_64 "r234567890123456789012345678901234567890123456789012345678901234"

/* Opens it and asks for an object with the longest name. */
static void ask(const char *address, const char *url, const char *region)
{
	char scope[128], name[STORE_NAME_SIZE], request[STORE_NAME_SIZE + 128];
	snprintf(name, sizeof(name), "%0*d", STORE_NAME_SIZE - 1, 7);
	snprintf(request, sizeof(request), "HEAD %s" NO_BODY, name);
	reset_server();
	server.address = url;
	snprintf(scope, sizeof(scope), "aws:amz:%s:s3", region);
	server.signature = (struct http_signature){scope, "key", "secret"};
	open_engine(&s3_engine, &(const struct store_options){.address = address});
	run_row(&(const struct transfer_row){{HEAD(name)}, {{request, 200}}, {0}});
	close_engine();
}

TEST(places)
{
	static const struct {
		const char *address, *variables[4], *url, *region;
	} table[] = {
		{"s3://b", {NULL}, "https://s3.us-east-1.amazonaws.com/b/", "us-east-1"},
		{"s3://b/", {NULL}, "https://s3.us-east-1.amazonaws.com/b/", "us-east-1"},
		{"s3://b/p", {NULL}, "https://s3.us-east-1.amazonaws.com/b/p/", "us-east-1"},
		{"s3://B-1._c/a/Z9-._~//",
		 {NULL},
		 "https://s3.us-east-1.amazonaws.com/B-1._c/a/Z9-._~/",
		 "us-east-1"},
		{"s3://b",
		 {"AWS_REGION=eu-1", "AWS_DEFAULT_REGION=eu-2"},
		 "https://s3.eu-1.amazonaws.com/b/",
		 "eu-1"},
		{"s3://b",
		 {"AWS_REGION=", "AWS_DEFAULT_REGION=eu-2"},
		 "https://s3.eu-2.amazonaws.com/b/",
		 "eu-2"},
		{"s3://b", {"AWS_DEFAULT_REGION=eu-2"}, "https://s3.eu-2.amazonaws.com/b/", "eu-2"},
		{"s3://b", {"AWS_DEFAULT_REGION="}, "https://s3.us-east-1.amazonaws.com/b/", "us-east-1"},
		{"s3://b",
		 {"AWS_REGION=" REGION_OF_64},
		 "https://s3." REGION_OF_64 ".amazonaws.com/b/",
		 REGION_OF_64},
		{"s3://b/p",
		 {"AWS_ENDPOINT_URL_S3=http://one/x/", "AWS_ENDPOINT_URL=http://two", "AWS_REGION=eu-1"},
		 "http://one/x/b/p/",
		 "eu-1"},
		{"s3://b/p", {"AWS_ENDPOINT_URL=http://two:9000"}, "http://two:9000/b/p/", "us-east-1"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		set_environment(table[i].variables);
		ask(table[i].address, table[i].url, table[i].region);
	}
}

static void refuse(const char *address, int err, const char *reason)
{
	struct gsym_diag diag = {""};
	reset_server();
	assert_int_equal(s3_engine.open(&(const struct store_options){.address = address}, &engine, &diag),
			 err);
	assert_null(engine);
	assert_non_null(strstr(diag.text, reason));
	assert_int_equal(live, 0);
	assert_int_equal(server.n_clients, 0);
}

TEST(no_places)
{
	static const struct {
		const char *address, *variables[2], *reason;
	} table[] = {
		{"s3://b", {"AWS_REGION=eu_1"}, "the region of S3 is invalid"},
		{"s3://b", {"AWS_REGION=eu.1"}, "the region of S3 is invalid"},
		{"s3://b", {"AWS_REGION=" REGION_OF_64 "5"}, "the region of S3 is invalid"},
		{"s3://b", {"AWS_ENDPOINT_URL=ftp://h"}, "store 'ftp://h': expected"},
		{"s3://b", {"AWS_ENDPOINT_URL=https://u:p@h"}, "holds a user or password"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		set_environment(table[i].variables);
		refuse(table[i].address, -EINVAL, table[i].reason);
	}
}

TEST(long_prefixes)
{
	char address[STORE_NAME_SIZE + 16], url[STORE_NAME_SIZE + 64];
	set_environment((const char *const[]){"AWS_ENDPOINT_URL=http://h", NULL});
	snprintf(address, sizeof(address), "s3://b/%0*d", STORE_NAME_SIZE - 1, 7);
	snprintf(url, sizeof(url), "http://h/b/%0*d/", STORE_NAME_SIZE - 1, 7);
	ask(address, url, "us-east-1");
}

TEST(opening)
{
	struct gsym_diag diag = {""};
	set_environment((const char *const[]){NULL});
	has_no_sodium = true;
	refuse("s3://b", -ELIBACC, "there is no libsodium");
	has_no_sodium = false;
	reset_server();
	server.open_err = -ELIBACC;
	assert_int_equal(s3_engine.open(&(const struct store_options){.address = "s3://b"}, &engine, &diag),
			 -ELIBACC);
	assert_string_equal(diag.text, "no client");
	assert_null(engine);
	assert_int_equal(live, 0);
	s3_engine.close(NULL);
}

/* Each allocation fails once. */
TEST(no_memory)
{
	int err = -ENOMEM;
	set_environment((const char *const[]){NULL});
	reset_server();
	for (long n = 0; err; n++) {
		assert_in_range(n, 0, 20);
		allowed = n;
		err = s3_engine.open(&(const struct store_options){.address = "s3://b/p"}, &engine, NULL);
		assert_int_equal(err, end_allocations() ? -ENOMEM : 0);
		assert_true(!err || (!engine && live == 0 && !server.n_clients));
	}
	s3_engine.close(engine);
	assert_int_equal(live, 0);
	assert_int_equal(server.n_clients, 0);
}

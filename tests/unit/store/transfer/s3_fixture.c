#include "tests/unit/store/transfer/s3_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/client/sodium.h"
#include "gsym/base/diag.h"

bool has_no_sodium;

const struct sodium *__real_sodium_library(struct gsym_diag *diag);
const struct sodium *__wrap_sodium_library(struct gsym_diag *diag);

const struct sodium *__wrap_sodium_library(struct gsym_diag *diag)
{
	if (!has_no_sodium)
		return __real_sodium_library(diag);
	diag_set(diag, -ELIBACC, "there is no libsodium");
	return NULL;
}

void set_environment(const char *const *variables)
{
	static const char *const names[] = {"AWS_REGION",
					    "AWS_DEFAULT_REGION",
					    "AWS_ENDPOINT_URL_S3",
					    "AWS_ENDPOINT_URL",
					    "AWS_SESSION_TOKEN",
					    "HOME",
					    "AWS_SHARED_CREDENTIALS_FILE"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
	for (; *variables; variables++) {
		char name[64];
		const size_t n = strcspn(*variables, "=");
		snprintf(name, sizeof(name), "%.*s", (int)n, *variables);
		setenv(name, *variables + n + 1, 1);
	}
	setenv("AWS_ACCESS_KEY_ID", "key", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
}

void open_bucket(void)
{
	set_environment((const char *const[]){"AWS_ENDPOINT_URL=http://h/s", NULL});
	reset_server();
	server.address = "http://h/s/bucket/";
	server.signature = (struct http_signature){"aws:amz:us-east-1:s3", "key", "secret"};
	open_engine(&s3_engine, &(const struct store_options){.address = "s3://bucket/p"});
}

/*
 * s3_fixture.h - scripted_server.h for buckets of S3, with credentials in the environment. Linked with --wrap
 * of sodium_library(), too.
 */
#ifndef TESTS_S3_FIXTURE_H
#define TESTS_S3_FIXTURE_H

#include "tests/unit/store/transfer/scripted_server.h"

/* What follows the other headers of a request: the digest of its body, which has none, or "abc". */
#define DIGEST        "; x-amz-content-sha256: "
#define NO_BODY       DIGEST "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define DIGEST_OF_ABC DIGEST "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define BODY_OF_ABC   " <abc>" DIGEST_OF_ABC

extern bool has_no_sodium;

/* Opens s3://bucket/p at http://h/s/. */
void open_bucket(void);

/* Sets keys and variables of the environment, "NAME=VALUE" until NULL, and unsets others that matter. */
void set_environment(const char *const *variables);

#endif

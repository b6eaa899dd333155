/*
 * fake_curl.h - a libcurl without a network: the test says what the other side does, and sees which options
 * were set. Of one exchange at a time.
 */
#ifndef TESTS_UNIT_CONVERT_FAKE_CURL_H
#define TESTS_UNIT_CONVERT_FAKE_CURL_H

#include <stdbool.h>
#include <stdint.h>

#include "store/transfer/curl_library.h"

/* ---- Options ---- */

struct set_option {
	CURLoption option;
	long number;
	void *pointer;
	void (*function)(void);
	curl_off_t off;
};

extern size_t n_set_options;
extern CURLoption refused_option; /* the library does not know it */

/* NULL: it was not set. */
const struct set_option *option_set(CURLoption option);

/* ---- Handles ---- */

extern bool has_library, has_easy, has_multi, has_lines; /* else there is none, or no memory for it */
extern CURLMcode add_result, perform_result;
extern unsigned inits, cleanups, resets, adds, removes; /* of handles */
extern curl_off_t pretransfer;                          /* when the connection stood */

/* ---- The exchange ---- */

/* What happens: called until it returns false, then the exchange ends with @result. */
extern bool (*play)(unsigned call);
extern unsigned play_calls;
extern CURLcode result; /* CURL_LAST: without a message */

extern int64_t now_ms; /* waiting ends after the time it may take, */
extern int last_wait;  /* this one */

/* ---- What the other side does: calls what the exchange has set for it ---- */

/* Whether all of it is taken. */
bool header_bytes(const char *line, size_t n);
bool header(const char *line);
bool body(const char *bytes, size_t unit, size_t n);

size_t read_body(char *to, size_t unit, size_t n);
int seek_body(curl_off_t off, int origin);
int open_socket(void);
extern int socket_family; /* AF_UNIX */
int close_socket(int sock);

#endif

/* http_exchange_fixture.h - a client of HTTP servers, and one exchange with a libcurl of the test's own. */
#ifndef TESTS_UNIT_CONVERT_HTTP_EXCHANGE_FIXTURE_H
#define TESTS_UNIT_CONVERT_HTTP_EXCHANGE_FIXTURE_H

#include "store/transfer/http_exchange.h"

#include "tests/unit/store/transfer/fake_curl.h"

/* ---- The kernel ---- */

extern int unsent; /* bytes that it holds */
extern unsigned quick_acks;

/* ---- The task ---- */

extern struct http_client *client;
extern struct transfer transfer;
extern struct http_task task;
extern struct http_request request;
extern struct guarded {
	struct http_answer answer;
	char after[8192]; /* must not be written to */
} guarded;
extern char taken_text[256]; /* the body, from the test's answer */
extern int take_error;
extern unsigned begun; /* how often the transfer was told that it has */

/* With all that is declared here as before the first exchange. */
void open_client(const struct store_options *options);

int http_exchange_set_up(void **state);
int http_exchange_tear_down(void **state);

/* Makes the request, of which @what is the other side: see play in fake_curl.h. */
int exchange(bool (*what)(unsigned call));

void fail_next_allocation(void);
long live_allocations(void);

/* ---- Other sides ---- */

/* A whole answer. */
bool usual(unsigned call);
/* Does nothing. */
bool silence(unsigned call);

#endif

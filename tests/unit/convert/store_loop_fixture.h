/*
 * store_loop_fixture.h - the thread of a store's client, with a process that is made up. Its clock goes on
 * only while it waits; what happens meanwhile is a list of events; what it does becomes a text.
 */
#ifndef TESTS_STORE_LOOP_FIXTURE_H
#define TESTS_STORE_LOOP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/unit.h"

#include "store/client/store_call.h"

enum {
	START_MS = 1000000, /* of the clock */
	EVENTS = 40,
	LIMIT_MS = 10000,     /* of a request that moves nothing; each byte adds a millisecond, */
	LIMIT_ANY_MS = 30000, /* and what moves an unknown number of bytes has this one */
	ASKED = 100,          /* bytes of each request, at most */
	PID = 4000,
};

struct loop_event {
	int64_t at; /* ms after the start */
	enum {
		NOTHING, /* the end of the list: the client ends a while after */
		/* Requests, by the letter of a call. */
		GET,
		HEAD,
		PUT,
		DELETE,
		LIST,
		LEAVE, /* its caller goes on without it */
		WATCH, /* likewise, and the flight is watched */
		/* Messages of the process. */
		READY,
		OPENED,
		BEGUN,
		REPLY,
		PROGRESS, /* which no such process sends */
		CLOSED,   /* its socket */
		/* The rest. */
		PREPARE,
		ABILITIES, /* are asked for */
		BREAK,     /* the breaker opens */
		NEWS,      /* of it */
		MORE_NEWS,
		STOP,
		CLOSE,
	} what;
	char call;     /* 0: of none; '?': of one that was never sent; 'P': the probe */
	int err;       /* of a reply; of CLOSED: why */
	uint64_t size; /* of what is sent or received; of requests 0: ASKED */
	/* Limit of a request; READY: one more than the protocol; CLOSE: time for those that write. */
	unsigned ms;
	enum store_condition condition;
	int fd; /* of a request; 0: none */
};

/* What it meets. Zero: nothing happens. */
extern struct loop_script {
	struct loop_event events[EVENTS];
	int start_err;          /* the process cannot be started */
	unsigned send_fails_at; /* which message cannot be sent, from 1 */
	bool hangs;             /* a process that is killed does not end */
	bool is_fast;           /* the server has answered others in time */
	unsigned interrupts;    /* the first so many polls are interrupted */
	unsigned floods;        /* messages that follow the first, and say nothing new */
	int64_t clock_step;     /* each time that the clock is read, ms */
	int64_t end;            /* when the client ends, ms after the start; 0: soon after the last event */
} with;

/*
 * What was done, a word each, after its time in ms if that is another than before:
 *
 *	start, kill, reap, end   the process
 *	a:get:MS, P:MS           a request and its limit, the probe; "+file" if it has one
 *	cancel:a
 *	a=ERR, a=ERR!            a call is over; the latter if that is news of the server
 *	P=ERR, P=ERR+            the probe; the latter if conditions hold
 *	left(N):ERR              a request that was allowed at the N-th change, and left
 *	rate(BYTES,MS)
 *	log(...)
 *	wake                     nothing had happened until then
 */
extern char did[4096];

/* Messages that were received without anything else between them. */
extern unsigned most_at_once;

extern struct store store;
extern struct store_call calls[26];

struct store_call *call_of(char letter);
/* Of the only process. */
struct flight *flight_of(char letter);

/* The process runs, and can use the store. */
void open_process(void);

/* Has the thread run to its end, and expects that it has done @want; then forgets all. */
void expect(const char *want);

int set_up(void **state);
int tear_down(void **state);

#define EVENTS_ARE(...) \
	memcpy(with.events, (struct loop_event[]){__VA_ARGS__}, sizeof((struct loop_event[]){__VA_ARGS__}))

#endif

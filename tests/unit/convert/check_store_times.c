/*
 * What the thread of a store's client does when nothing happens: requests and processes that are late, and
 * the end.
 */
#include "store_loop_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

/* ---- Requests ---- */

/* Until the first byte, if one is waited for; then by what is to come; or as long as the caller says. */
TEST(late)
{
	static const struct {
		struct loop_event asked, said;
		const char *want;
	} rows[] = {
		{{0, GET, 'a'}, {0}, "0:a:get:30000 4001:wake a=ETIMEDOUT! cancel:a"},
		{{0, LIST, 'a'}, {0}, "0:a:list:30000 4001:wake a=ETIMEDOUT! cancel:a"},
		{{0, HEAD, 'a'}, {0}, "0:a:head:10000 4001:wake a=ETIMEDOUT! cancel:a"},
		{{0, DELETE, 'a'}, {0}, "0:a:delete:10000 4001:wake a=ETIMEDOUT! cancel:a"},
		{{0, PUT, 'a', .size = 70}, {0}, "0:a:put:10070 11071:wake a=ETIMEDOUT! cancel:a"},
		{{0, GET, 'a'}, {10, BEGUN, 'a'}, "0:a:get:30000 31001:wake a=ETIMEDOUT! cancel:a"},
		{{0, GET, 'a'},
		 {10, BEGUN, 'a', .size = 70},
		 "0:a:get:30000 11081:wake a=ETIMEDOUT! cancel:a"},
		{{0, GET, 'a', .ms = 50}, {0}, "0:a:get:50 1051:wake a=ETIMEDOUT! cancel:a"},
		{{0, GET, 'a', .ms = 2999}, {0}, "0:a:get:2999 4000:wake a=ETIMEDOUT! cancel:a"},
		{{0, GET, 'a', .ms = 3001}, {0}, "0:a:get:3001 4001:wake a=ETIMEDOUT! cancel:a"},
		{{0, GET, 'a', .ms = 5000},
		 {10, BEGUN, 'a', .size = 70},
		 "0:a:get:5000 6001:wake a=ETIMEDOUT! cancel:a"},
		{{0, PUT, 'a', .ms = 5000}, {0}, "0:a:put:5000 6001:wake a=ETIMEDOUT! cancel:a"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char want[128];
		const long end = strtol(strchr(rows[i].want, ' '), NULL, 10) + 1;
		EVENTS_ARE(rows[i].asked, rows[i].said);
		with.end = end;
		open_process();
		snprintf(want, sizeof(want), "%s %ld:end(200)", rows[i].want, end);
		assert_null(store_loop(&store));
		assert_string_equal(did, want);
		assert_string_equal(call_of('a')->reply.text, "no answer in time");
		tear_down(NULL);
		set_up(NULL);
	}
}

/* Not when something else happens at the last moment. */
TEST(just_in_time)
{
	EVENTS_ARE({0, GET, 'a'}, {0, GET, 'b'}, {4000, HEAD, 'c'}, {4001, REPLY, 'a', -EIO},
		   {4001, REPLY, 'c', -EIO});
	open_process();
	expect("0:a:get:30000 b:get:30000 4000:c:head:10000 4001:a=EIO! c=EIO! b=ETIMEDOUT! cancel:b "
	       "4101:end(200)");
}

/* What waits to be sent ends in its time, which says nothing of the server. */
TEST(late_in_the_queue)
{
	EVENTS_ARE({0, GET, 'a', .ms = 100}, {0, GET, 'b'}, {0, GET, 'c', .ms = 50}, {0, PUT, 'd', .ms = 101},
		   {100, OPENED}, {110, REPLY, 'b', -EIO}, {110, REPLY, 'd', -EIO});
	expect("0:start 50:wake c=ETIMEDOUT 100:a=ETIMEDOUT b:get:30000 d:put:1 110:b=EIO! d=EIO! "
	       "210:end(200)");
}

/* When nothing is left of its time it is sent all the same, with a limit, and ends there. */
TEST(no_time_left)
{
	with.clock_step = 1;
	EVENTS_ARE({0, HEAD, 'a', .ms = 2}, {5, REPLY, 'a', -EIO});
	open_process();
	assert_null(store_loop(&store));
	assert_non_null(strstr(did, ":a:head:1 "));
	assert_int_equal(call_of('a')->reply.err, -EIO);
}

/* ---- Processes ---- */

TEST(slow_to_open)
{
	EVENTS_ARE({0, GET, 'a'}, {19999, READY}, {20000, GET, 'b'});
	with.end = 30000;
	expect("0:start 20001:wake kill a=ETIMEDOUT! b=ETIMEDOUT 30000:end(200)");
	EVENTS_ARE({0, GET, 'a'}, {20000, OPENED}, {20001, REPLY, 'a', -EIO});
	expect("0:start 20000:a:get:30000 20001:a=EIO! 20101:end(200)");
}

/* It owes an answer, and has said nothing for five seconds: the next requests go to another. */
TEST(silent)
{
	static const struct {
		struct loop_event said[2];
		const char *want;
	} rows[] = {
		{{{0}}, "5011:wake kill 6000:end(200)"},
		{{{10, READY}}, "5011:wake kill 6000:end(200)"},
		{{{11, READY}}, "5011:wake 6000:end(200)"},
		{{{5010, READY}}, "5011:wake 6000:end(200)"},
		{{{5010, REPLY, 'a', -ECANCELED}}, "6000:end(200)"},
		{{{20, HEAD, 'b'}, {4000, REPLY, 'b', -EIO}},
		 "20:b:head:10000 4000:b=EIO! 5011:wake 6000:end(200)"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char want[128];
		EVENTS_ARE({0, GET, 'a'}, {10, LEAVE, 'a'}, rows[i].said[0], rows[i].said[1]);
		with.end = 6000;
		open_process();
		snprintf(want, sizeof(want), "0:a:get:30000 10:cancel:a %s", rows[i].want);
		expect(want);
	}
	/* For one whose caller has left the time begins when nothing is expected of it any more. */
	EVENTS_ARE({0, GET, 'a'}, {10, WATCH, 'a'});
	with.end = 6000;
	open_process();
	expect("0:a:get:30000 251:wake left(7):ETIMEDOUT cancel:a 5252:wake kill 6000:end(200)");
	/* One that is late, and not answered when it is cancelled. */
	EVENTS_ARE({0, GET, 'a'}, {9000, GET, 'b'}, {9010, OPENED}, {9020, REPLY, 'b', -EIO});
	open_process();
	expect("0:a:get:30000 4001:wake a=ETIMEDOUT! cancel:a 9000:b:get:30000 9002:wake kill b=ETIMEDOUT! "
	       "9120:end(200)");
}

/* It speaks, but can take no more: all that it does is over, and it does not say so. */
TEST(without_room)
{
	static const struct {
		char last_sent, last_left; /* requests, from a on */
		const char *want;
	} rows[] = {
		{'h', 'h', " 5011:wake kill start 6000:z=ECANCELED end(200)"},
		{'h', 'g', " 5011:wake 6000:z=ECANCELED h=ECANCELED! end(200)"},
		{'g', 'g', " 5011:wake 6000:z=ECANCELED cancel:z end(200)"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = 0;
		for (char c = 'a'; c <= rows[i].last_sent; c++)
			with.events[n++] = (struct loop_event){0, PUT, c};
		for (char c = 'a'; c <= rows[i].last_left; c++)
			with.events[n++] = (struct loop_event){10, LEAVE, c};
		with.events[n++] = (struct loop_event){20, READY};
		with.events[n++] = (struct loop_event){5000, HEAD, 'z'};
		with.end = 6000;
		open_process();
		assert_null(store_loop(&store));
		assert_string_equal(strstr(did, " 5011:"), rows[i].want);
		tear_down(NULL);
		set_up(NULL);
	}
}

/* One that does not end, even killed, is asked for each second. */
TEST(not_ended)
{
	with.hangs = true;
	EVENTS_ARE({0, PREPARE}, {100, CLOSED});
	with.end = 2500;
	expect("0:start 100:kill 1100:wake 2100:wake 2500:end(200)");
}

/* A wait that was interrupted says nothing. */
TEST(interrupted)
{
	with.interrupts = 3;
	EVENTS_ARE({0, GET, 'a'}, {5, REPLY, 'a', -EIO});
	open_process();
	expect("0:a:get:30000 5:a=EIO! 105:end(200)");
}

/* ---- The breaker ---- */

TEST(breaker)
{
	EVENTS_ARE({0, GET, 'a'}, {0, PUT, 'b'}, {0, GET, 'c'}, {10, BREAK});
	assert_null(store_loop(&store));
	assert_string_equal(did, "0:start 10:a=ENETDOWN! b=ENETDOWN c=ENETDOWN 110:end(200)");
	assert_string_equal(call_of('a')->reply.text, "reason");
	tear_down(NULL);
	set_up(NULL);
	/* What is under way is not concerned. */
	EVENTS_ARE({0, GET, 'a'}, {10, BREAK}, {20, REPLY, 'a', -EIO});
	open_process();
	expect("0:a:get:30000 20:a=EIO! 120:end(200)");
	EVENTS_ARE({10, NEWS}, {20, MORE_NEWS}, {30, PREPARE});
	open_process();
	expect("10:log1(store '/srv': not used for 12 s: reason) 20:log2(store '/srv': used again) "
	       "130:end(200)");
}

/* ---- The end ---- */

/* What only reads is of no use any more; what writes goes on. */
TEST(stopped)
{
	EVENTS_ARE({0, GET, 'a'}, {0, PUT, 'b'}, {0, HEAD, 'c'}, {0, DELETE, 'd'}, {0, LIST, 'e'}, {10, STOP},
		   {20, REPLY, 'a'}, {20, REPLY, 'b', -EIO}, {30, REPLY, 'd', -EIO}, {40, GET, 'f'},
		   {50, PUT, 'g'}, {60, REPLY, 'g', -EIO});
	open_process();
	assert_null(store_loop(&store));
	assert_string_equal(did,
			    "0:a:get:30000 b:put:10100 c:head:10000 d:delete:10000 e:list:30000 "
			    "10:a=ECANCELED c=ECANCELED e=ECANCELED cancel:a cancel:c cancel:e 20:b=EIO! "
			    "30:d=EIO! 40:f=ECANCELED 50:g:put:10100 60:g=EIO! 160:end(200)");
	assert_string_equal(call_of('a')->reply.text, "cancelled");
	assert_string_equal(call_of('f')->reply.text, "cancelled");
	tear_down(NULL);
	set_up(NULL);
	/* Before it was sent. */
	EVENTS_ARE({0, GET, 'a'}, {0, PUT, 'b'}, {0, HEAD, 'c'}, {0, DELETE, 'd'}, {10, STOP}, {20, OPENED},
		   {30, REPLY, 'b', -EIO}, {30, REPLY, 'd', -EIO});
	expect("0:start 10:a=ECANCELED c=ECANCELED 20:b:put:10100 d:delete:10000 30:b=EIO! d=EIO! "
	       "130:end(200)");
	/* One that its caller has left, too. */
	EVENTS_ARE({0, GET, 'a'}, {5, WATCH, 'a'}, {10, STOP}, {20, REPLY, 'a'});
	open_process();
	expect("0:a:get:30000 10:cancel:a 120:end(200)");
}

TEST(closed)
{
	static const struct {
		struct loop_event asked, said;
		const char *want;
	} rows[] = {
		{{0, GET, 'a'}, {100, REPLY, 'a', -EIO}, "0:a:get:30000 10:a=ECANCELED cancel:a end(200)"},
		{{0, PUT, 'a'}, {100, REPLY, 'a', -EIO}, "0:a:put:10100 100:a=EIO! end(200)"},
		{{0, DELETE, 'a'}, {100, REPLY, 'a', -EIO}, "0:a:delete:10000 100:a=EIO! end(200)"},
		{{0, PUT, 'a'}, {0}, "0:a:put:10100 1010:wake a=ECANCELED! end(200)"},
		{{0, PUT, 'a'}, {1009, REPLY, 'a', -EIO}, "0:a:put:10100 1009:a=EIO! end(200)"},
		/* A probe that is ended in the middle leaves its object in the store. */
		{{0, ABILITIES}, {100, REPLY, 'P'}, "0:P:10000 100:P=ok end(200)"},
		{{0, ABILITIES}, {0}, "0:P:10000 1010:wake P=ECANCELED end(200)"},
		{{0, PREPARE}, {0}, "10:end(200)"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		EVENTS_ARE(rows[i].asked, {10, CLOSE, .ms = 1000}, rows[i].said);
		open_process();
		expect(rows[i].want);
	}
	/* What waits is still sent, by a process that is started for it. */
	EVENTS_ARE({0, PUT, 'a'}, {0, GET, 'b'}, {0, CLOSE, .ms = 1000}, {10, OPENED},
		   {20, REPLY, 'a', -EIO});
	expect("0:b=ECANCELED start 10:a:put:10100 20:a=EIO! end(200)");
	EVENTS_ARE({0, PUT, 'a'}, {0, PUT, 'b'}, {0, CLOSE, .ms = 1000});
	assert_null(store_loop(&store));
	assert_string_equal(did, "0:start 1000:wake a=ECANCELED! b=ECANCELED end(200)");
	assert_string_equal(call_of('a')->reply.text, "cancelled");
	tear_down(NULL);
	set_up(NULL);
	/* Without time nothing is begun. */
	EVENTS_ARE({0, PUT, 'a'}, {0, CLOSE});
	expect("0:a=ECANCELED! end(200)");
}

EACH_TEST(set_up, tear_down)

/* The thread of a store's client: what it sends to the process, and what it makes of what that says. */
#include "store_loop_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

static const char violates[] = "the process of the store is not of this version, or violates the protocol",
		  gone[] = "the process of the store has ended";

/* ---- The process ---- */

/* It is started when it is needed, and asked when it can use the store. */
TEST(started)
{
	EVENTS_ARE({5, GET, 'a'}, {6, HEAD, 'b'}, {10, READY}, {20, OPENED}, {30, REPLY, 'a', .size = 7},
		   {40, REPLY, 'b', -ENOENT});
	expect("5:start 20:a:get:30000 b:head:10000 30:rate(7,10) a=ok! 40:b=ENOENT! 140:end(200)");
	EVENTS_ARE({0, PREPARE}, {10, READY}, {20, OPENED}, {1000, GET, 'a'}, {1010, REPLY, 'a'});
	expect("0:start 1000:a:get:30000 1010:rate(0,10) a=ok! 1110:end(200)");
	/* Only once. */
	with.start_err = -EBUSY;
	EVENTS_ARE({0, PREPARE});
	expect("0:start 100:end(200)");
	with.end = 70000;
	expect("60000:wake 70000:end(200)");
}

TEST(not_started)
{
	with.start_err = -ECHILD;
	EVENTS_ARE({0, GET, 'a'}, {0, PUT, 'b'}, {5, DELETE, 'c'});
	assert_null(store_loop(&store));
	assert_string_equal(did, "0:start a=EREMOTEIO! b=EREMOTEIO 5:start c=EREMOTEIO! 105:end(200)");
	assert_string_equal(call_of('a')->reply.text, "cannot be run");
	assert_string_equal(call_of('b')->reply.text, "cannot be run");
}

/* Why it cannot use the store: each would have the next request start another. */
TEST(not_opened)
{
	static const struct {
		struct loop_event said;
		const char *want, *text;
	} rows[] = {
		{{10, OPENED, .err = -ELIBACC}, "0:start 10:kill a=ELIBACC! b=ELIBACC 110:end(200)", "why"},
		{{10, OPENED, .err = -ENOMEM}, "0:start 10:kill a=ENOMEM! b=ENOMEM 110:end(200)", "why"},
		{{10, OPENED, .err = -ENOENT},
		 "0:start 10:kill a=EREMOTEIO! b=EREMOTEIO 110:end(200)",
		 "why"},
		{{10, OPENED, .err = -EACCES},
		 "0:start 10:kill a=EREMOTEIO! b=EREMOTEIO 110:end(200)",
		 "why"},
		{{10, OPENED, .err = -ESTALE},
		 "0:start 10:kill a=EREMOTEIO! b=EREMOTEIO 110:end(200)",
		 "why"},
		{{10, CLOSED}, "0:start 10:kill a=EREMOTEIO! b=EREMOTEIO 110:end(200)", gone},
		{{10, CLOSED, .err = -EPROTO}, "0:start 10:kill a=EREMOTEIO! b=EREMOTEIO 110:end(200)", gone},
		{{10, READY, .ms = 1}, "0:start 10:kill a=EREMOTEIO! b=EREMOTEIO 110:end(200)", violates},
		{{10, BEGUN}, "0:start 10:kill a=EREMOTEIO! b=EREMOTEIO 110:end(200)", violates},
		{{10, REPLY, '?'}, "0:start 10:kill a=EREMOTEIO! b=EREMOTEIO 110:end(200)", violates},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		EVENTS_ARE({0, GET, 'a'}, {0, PUT, 'b'}, rows[i].said);
		assert_null(store_loop(&store));
		assert_string_equal(did, rows[i].want);
		assert_string_equal(call_of('a')->reply.text, rows[i].text);
		assert_string_equal(call_of('b')->reply.text, rows[i].text);
		tear_down(NULL);
		set_up(NULL);
	}
}

/* All fails, the requests that wait as well: the next process would say the same. */
TEST(violations)
{
	static const struct loop_event rows[] = {
		{10, OPENED},         {10, OPENED, .err = -EIO},
		{10, BEGUN},          {10, REPLY, '?'},
		{10, BEGUN, '?'},     {10, PROGRESS, 'a'},
		{10, READY, .ms = 1}, {10, REPLY, 'a', .size = ASKED + 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = 0;
		open_process();
		for (char c = 'a'; c <= 'i'; c++) /* the last one waits */
			with.events[n++] = (struct loop_event){0, GET, c};
		with.events[n] = rows[i];
		assert_null(store_loop(&store));
		assert_string_equal(strstr(did, " 10:"),
				    " 10:kill a=EREMOTEIO! b=EREMOTEIO c=EREMOTEIO d=EREMOTEIO e=EREMOTEIO "
				    "f=EREMOTEIO g=EREMOTEIO h=EREMOTEIO i=EREMOTEIO! 110:end(200)");
		assert_string_equal(call_of('a')->reply.text, violates);
		assert_string_equal(call_of('i')->reply.text, violates);
		tear_down(NULL);
		set_up(NULL);
	}
}

/* What is under way fails, and counts once; what waits is for the next process. */
TEST(replaced)
{
	EVENTS_ARE({0, GET, 'a'}, {0, PUT, 'b'}, {5, REPLY, 'a', -ESTALE}, {20, GET, 'c'});
	open_process();
	expect("0:a:get:30000 b:put:10100 5:log1(store '/srv': why: opening it again) kill a=EREMOTEIO! "
	       "b=EREMOTEIO 20:start 120:c=ECANCELED end(200)");
	/* What waits is not concerned. */
	EVENTS_ARE({0, GET, 'a'}, {0, GET, 'b'}, {0, GET, 'c'}, {0, GET, 'd'}, {0, GET, 'e'}, {0, GET, 'f'},
		   {0, GET, 'g'}, {0, GET, 'h'}, {0, GET, 'i'}, {5, REPLY, 'b', -ESTALE}, {10, OPENED},
		   {20, REPLY, 'i'});
	open_process();
	assert_null(store_loop(&store));
	assert_string_equal(strstr(did, "h=E"),
			    "h=EREMOTEIO start 10:i:get:30000 20:rate(0,10) i=ok! 120:end(200)");
}

/* The same if it ends. */
TEST(ended)
{
	for (int err = -EPROTO; err <= 0; err += EPROTO) {
		EVENTS_ARE({0, GET, 'a'}, {0, PUT, 'b'}, {5, CLOSED, .err = err}, {20, GET, 'c'},
			   {25, OPENED}, {30, REPLY, 'c'});
		open_process();
		expect("0:a:get:30000 b:put:10100 5:kill a=EREMOTEIO! b=EREMOTEIO 20:start 25:c:get:30000 "
		       "30:rate(0,5) c=ok! 130:end(200)");
	}
}

/* ---- Sending ---- */

TEST(limits)
{
	static const struct {
		struct loop_event asked;
		const char *want;
	} rows[] = {
		{{0, GET, 'a'}, "0:a:get:30000"},
		{{0, LIST, 'a'}, "0:a:list:30000"},
		{{0, HEAD, 'a', .size = 50}, "0:a:head:10000"},
		{{0, DELETE, 'a', .size = 50}, "0:a:delete:10000"},
		{{0, PUT, 'a', .size = 50}, "0:a:put:10050"},
		{{0, PUT, 'a', .size = 50, .ms = 77}, "0:a:put:77"},
		{{0, GET, 'a', .ms = 1}, "0:a:get:1"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char want[64];
		open_process();
		EVENTS_ARE(rows[i].asked, {1, REPLY, 'a', -EIO});
		snprintf(want, sizeof(want), "%s 1:a=EIO! 101:end(200)", rows[i].want);
		expect(want);
	}
	/* Waiting is a part of it. */
	EVENTS_ARE({0, GET, 'a', .ms = 100}, {30, OPENED}, {31, REPLY, 'a', -EIO});
	expect("0:start 30:a:get:70 31:a=EIO! 131:end(200)");
}

/* The file goes with the request, and is closed then. */
TEST(files)
{
	int fd = memfd_create("sent", MFD_CLOEXEC), input = dup(STDIN_FILENO);
	assert_true(fd > STDERR_FILENO);
	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	EVENTS_ARE({0, PUT, 'a', .fd = fd}, {0, PUT, 'b', .fd = -1}, {0, HEAD, 'c'}, {1, REPLY, 'a', -EIO},
		   {1, REPLY, 'b', -EIO}, {1, REPLY, 'c', -EIO});
	open_process();
	assert_null(store_loop(&store));
	assert_string_equal(did, "0:a:put:10100+file b:put:10100+file c:head:10000 1:a=EIO! b=EIO! c=EIO! "
				 "101:end(200)");
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	assert_int_equal(call_of('a')->fd, -1);
	dup2(input, STDIN_FILENO);
	close(input);
}

/* As many as the process takes, in their order; the rest waits for one that has ended. */
TEST(many)
{
	size_t n = 0;
	for (char c = 'a'; c <= 'j'; c++)
		with.events[n++] = (struct loop_event){0, HEAD, c};
	with.events[n++] = (struct loop_event){5, REPLY, 'c'};
	for (char c = 'a'; c <= 'j'; c++)
		if (c != 'c')
			with.events[n++] = (struct loop_event){c == 'j' ? 12 : 9, REPLY, c};
	open_process();
	expect("0:a:head:10000 b:head:10000 c:head:10000 d:head:10000 e:head:10000 f:head:10000 g:head:10000 "
	       "h:head:10000 5:rate(0,5) c=ok! i:head:10000 9:rate(0,9) a=ok! rate(0,9) b=ok! "
	       "rate(0,9) d=ok! rate(0,9) e=ok! rate(0,9) f=ok! rate(0,9) g=ok! rate(0,9) h=ok! "
	       "rate(0,4) i=ok! j:head:10000 12:rate(0,3) j=ok! 112:end(200)");
}

/* The process has closed its socket, and all is lost. */
TEST(not_sent)
{
	with.send_fails_at = 1;
	EVENTS_ARE({0, GET, 'a'}, {0, GET, 'b'}, {10, OPENED}, {20, REPLY, 'b', -EIO});
	open_process();
	expect("0:kill a=EREMOTEIO! start 10:b:get:30000 20:b=EIO! 120:end(200)");
	with.send_fails_at = 2;
	EVENTS_ARE({0, GET, 'a'}, {0, GET, 'b'}, {0, GET, 'c'}, {10, OPENED}, {20, REPLY, 'c', -EIO});
	open_process();
	expect("0:a:get:30000 kill a=EREMOTEIO! b=EREMOTEIO start 10:c:get:30000 20:c=EIO! 120:end(200)");
	/* Neither can a probe, nor a request be cancelled. */
	with.send_fails_at = 1;
	EVENTS_ARE({0, ABILITIES});
	open_process();
	expect("0:kill P=EREMOTEIO 100:end(200)");
	with.send_fails_at = 2;
	EVENTS_ARE({0, GET, 'a'}, {5, LEAVE, 'a'}, {5, HEAD, 'b'});
	open_process();
	assert_null(store_loop(&store));
	assert_string_equal(did, "0:a:get:30000 5:kill start 105:b=ECANCELED end(200)");
}

/* ---- Answers ---- */

TEST(replies)
{
	EVENTS_ARE({0, GET, 'a'}, {5, REPLY, 'a', .size = ASKED});
	open_process();
	assert_null(store_loop(&store));
	assert_string_equal(did, "0:a:get:30000 5:rate(100,5) a=ok! 105:end(200)");
	const struct store_reply *reply = &call_of('a')->reply;
	assert_int_equal(reply->size, ASKED);
	assert_int_equal(reply->now, 11);
	assert_int_equal(reply->modified, 12);
	assert_string_equal(reply->etag, "tag");
	assert_string_equal(reply->text, "");
	tear_down(NULL);
	set_up(NULL);
	EVENTS_ARE({0, GET, 'a'}, {5, REPLY, 'a', -EACCES});
	open_process();
	assert_null(store_loop(&store));
	assert_string_equal(call_of('a')->reply.text, "why");
}

/* Bytes that were moved, by which limits of others are set; those on their way, if their number is known. */
TEST(rates)
{
	static const struct {
		struct loop_event asked, begun, reply;
		const char *want;
	} rows[] = {
		{{0, GET, 'a'}, {2, BEGUN, 'a', .size = 90}, {5, REPLY, 'a', .size = 95}, "rate(90,5)"},
		{{0, GET, 'a'}, {2, BEGUN, 'a'}, {5, REPLY, 'a', .size = 95}, "rate(95,5)"},
		{{0, LIST, 'a'}, {2, BEGUN, 'a', .size = 90}, {5, REPLY, 'a', .size = 95}, "rate(90,5)"},
		{{0, LIST, 'a'}, {2, BEGUN, 'a'}, {5, REPLY, 'a', .size = 95}, "rate(95,5)"},
		{{0, PUT, 'a', .size = 70},
		 {2, BEGUN, 'a', .size = 60},
		 {5, REPLY, 'a', .size = 1000},
		 "rate(70,5)"},
		{{0, HEAD, 'a'}, {2, BEGUN, 'a'}, {5, REPLY, 'a', .size = 1000}, "rate(0,5)"},
		{{0, DELETE, 'a'}, {2, BEGUN, 'a'}, {5, REPLY, 'a', .size = 1000}, "rate(0,5)"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char want[64];
		EVENTS_ARE(rows[i].asked, rows[i].begun, rows[i].reply);
		open_process();
		assert_null(store_loop(&store));
		snprintf(want, sizeof(want), " 5:%s a=ok! 105:end(200)", rows[i].want);
		assert_string_equal(strstr(did, " 5:"), want);
		assert_int_equal(call_of('a')->body, rows[i].begun.size);
		assert_true(store_has_begun(call_of('a')));
		tear_down(NULL);
		set_up(NULL);
	}
	/* Nor is more expected than the client takes. */
	EVENTS_ARE({0, GET, 'a'}, {2, BEGUN, 'a', .size = UINT64_MAX}, {5, REPLY, 'a', .size = 10});
	open_process();
	assert_null(store_loop(&store));
	assert_int_equal(call_of('a')->body, ASKED);
	tear_down(NULL);
	set_up(NULL);
	/* Of a failure more is no lie. */
	EVENTS_ARE({0, GET, 'a'}, {5, REPLY, 'a', -EIO, .size = ASKED + 1});
	open_process();
	expect("0:a:get:30000 5:a=EIO! 105:end(200)");
}

/* When the server has last answered within a quarter of a second: the first byte, or that of the whole. */
TEST(prompt)
{
	static const struct {
		struct loop_event said[2];
		int64_t prompt;
	} rows[] = {
		{{{249, BEGUN, 'a'}, {300, REPLY, 'a'}}, START_MS + 249},
		{{{250, BEGUN, 'a'}, {300, REPLY, 'a'}}, 0},
		{{{249, REPLY, 'a'}}, START_MS + 249},
		{{{250, REPLY, 'a'}}, 0},
		{{{10, BEGUN, 'a'}, {20, REPLY, 'a'}}, START_MS + 10},
		{{{20, REPLY, 'a', -ENOENT}}, START_MS + 20},
		{{{20, REPLY, 'a', -EREMOTEIO}}, 0}, /* no answer of a server that works */
		{{{20, REPLY, 'a', -ETIMEDOUT}}, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		EVENTS_ARE({0, GET, 'a'}, rows[i].said[0], rows[i].said[1]);
		open_process();
		assert_null(store_loop(&store));
		assert_int_equal(store.prompt, rows[i].prompt);
		tear_down(NULL);
		set_up(NULL);
	}
}

/* Each answer begins once: a second beginning would have a limit of its own. */
TEST(begins_again)
{
	EVENTS_ARE({0, GET, 'a'}, {10, BEGUN, 'a', .size = 50}, {20, BEGUN, 'a', .size = 50});
	open_process();
	assert_null(store_loop(&store));
	assert_non_null(strstr(did, " 20:kill"));
}

/* One that does not cease to speak is not listened to for ever. */
TEST(floods)
{
	with.floods = 1000;
	EVENTS_ARE({0, GET, 'a'}, {5, BEGUN, 'a'}, {6, REPLY, 'a', -EIO});
	open_process();
	assert_null(store_loop(&store));
	assert_string_equal(did, "0:a:get:30000 6:a=EIO! 106:end(200)");
	assert_in_range(most_at_once, 2, 500);
}

/* ---- Requests that their callers have left ---- */

TEST(left)
{
	EVENTS_ARE({0, GET, 'a'}, {0, PUT, 'b'}, {10, LEAVE, 'a'}, {20, HEAD, 'c'}, {30, REPLY, 'a'},
		   {40, REPLY, 'b'}, {50, REPLY, 'c'});
	open_process();
	expect("0:a:get:30000 b:put:10100 10:cancel:a 20:c:head:10000 40:rate(100,40) b=ok! 50:rate(0,30) "
	       "c=ok! 150:end(200)");
}

/* One that only reads goes on until its answer begins, or is overdue. */
TEST(watched)
{
	static const struct {
		struct loop_event said[2];
		bool is_fast;
		const char *want;
	} rows[] = {
		{{{30, REPLY, 'a'}}, false, "30:left(7):ok 130:end(200)"},
		{{{30, REPLY, 'a', -ENOENT}}, false, "30:left(7):ENOENT 130:end(200)"},
		{{{30, REPLY, 'a', -EREMOTEIO}}, false, "30:left(7):EREMOTEIO 130:end(200)"},
		{{{30, BEGUN, 'a', .size = 9}, {40, REPLY, 'a'}}, false, "30:cancel:a 140:end(200)"},
		{{{300, REPLY, 'a', -ECANCELED}}, false, "251:wake left(7):ETIMEDOUT cancel:a 400:end(200)"},
		{{{300, REPLY, 'a', -ECANCELED}}, true, "251:wake left(7):ECANCELED cancel:a 400:end(200)"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char want[128];
		with.is_fast = rows[i].is_fast;
		EVENTS_ARE({0, GET, 'a'}, {10, WATCH, 'a'}, rows[i].said[0], rows[i].said[1]);
		open_process();
		snprintf(want, sizeof(want), "0:a:get:30000 %s", rows[i].want);
		expect(want);
	}
}

/* ---- The probe ---- */

/* Before all else, and what depends on its result waits for it. */
TEST(probe)
{
	static const struct {
		struct loop_event said;
		const char *want;
	} rows[] = {
		{{20, REPLY, 'P', .size = 1}, "20:P=ok+ b:put:10100"},
		{{20, REPLY, 'P', .size = 0}, "20:P=ok b:put:10100"},
		{{20, REPLY, 'P', .size = 2}, "20:P=ok b:put:10100"},
		{{20, REPLY, 'P', -EACCES}, "20:P=EACCES b:put:10100"},
		{{20, BEGUN, 'P', .size = 5}, "11001:wake P=ETIMEDOUT cancel:P b:put:10100"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char want[256];
		EVENTS_ARE({0, ABILITIES}, {0, GET, 'a'}, {0, PUT, 'b', .condition = STORE_IF_ABSENT},
			   {0, PUT, 'c', .condition = STORE_IF_MATCH},
			   {0, GET, 'd', .condition = STORE_IF_ABSENT}, {1, REPLY, 'a', -EIO},
			   {1, REPLY, 'c', -EIO}, {1, REPLY, 'd', -EIO}, rows[i].said,
			   {11100, REPLY, 'b', -EIO});
		open_process();
		snprintf(want, sizeof(want),
			 "0:P:10000 a:get:30000 c:put:10100 d:get:30000 1:a=EIO! c=EIO! d=EIO! %s "
			 "11100:b=EIO! 11200:end(200)",
			 rows[i].want);
		expect(want);
	}
}

TEST(no_probe)
{
	for (unsigned i = 0; i < 4; i++) {
		store.config.bazel = i == 0;
		store.is_stopped = i == 1;
		store.breaker.state = i == 2 ? BREAKER_HALF_OPEN : BREAKER_CLOSED;
		store.probe_at = i == 3 ? START_MS + 1000 : 0;
		EVENTS_ARE({10, ABILITIES}, {10, PUT, 'a', .condition = STORE_IF_ABSENT},
			   {15, REPLY, 'a', -EIO});
		open_process();
		expect("10:a:put:10100 15:a=EIO! 115:end(200)");
	}
	/* It is not wanted. */
	EVENTS_ARE({10, GET, 'a'}, {10, PUT, 'b', .condition = STORE_IF_ABSENT}, {15, REPLY, 'a', -EIO},
		   {15, REPLY, 'b', -EIO});
	open_process();
	expect("10:a:get:30000 b:put:10100 15:a=EIO! b=EIO! 115:end(200)");
	/* Again, when its time has come. */
	store.probe_at = START_MS + 10;
	EVENTS_ARE({10, ABILITIES}, {20, REPLY, 'P', -EIO});
	open_process();
	expect("10:P:10000 20:P=EIO 120:end(200)");
	/* What comes too late says nothing. */
	EVENTS_ARE({0, ABILITIES}, {11050, REPLY, 'P', .size = 1}, {11060, HEAD, 'a'},
		   {11070, REPLY, 'a', -EIO});
	open_process();
	expect("0:P:10000 11001:wake P=ETIMEDOUT cancel:P 11060:a:head:10000 11070:a=EIO! 11170:end(200)");
}

/* What a process has found out is lost with it. */
TEST(probed_again)
{
	EVENTS_ARE({0, ABILITIES}, {5, REPLY, 'P', .size = 1}, {10, CLOSED}, {20, HEAD, 'a'}, {30, OPENED},
		   {40, REPLY, 'P'}, {40, REPLY, 'a'});
	open_process();
	expect("0:P:10000 5:P=ok+ 10:kill 20:start 30:P:10000 a:head:10000 40:P=ok rate(0,10) a=ok! "
	       "140:end(200)");
	/* With the process ends the probe. */
	EVENTS_ARE({0, ABILITIES}, {10, CLOSED});
	open_process();
	expect("0:P:10000 10:kill P=EREMOTEIO 110:end(200)");
}

EACH_TEST(set_up, tear_down)

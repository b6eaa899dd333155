/* Servers of debuginfod: the list, which of them are asked, and how long one that failed is left alone. */
#include "work/run/debuginfod.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

enum { SECOND = 1000, HOUR = 3600 * SECOND };

static int64_t now_ms = 5 * HOUR;
static char said[512]; /* the last warning */
static unsigned warnings;

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*ret = (struct timespec){.tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000};
	return 0;
}

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
{
	va_list args;
	assert_non_null(log);
	assert_int_equal(level, LOG_LEVEL_WARNING);
	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
	warnings++;
}

static const struct log log_of_servers = {.program = NULL};

static int begin(struct fetcher *f, const char *urls)
{
	*f = (struct fetcher){.log = &log_of_servers};
	mutex_init(&f->lock, LOCK_FETCH);
	warnings = 0;
	return fetch_servers_read(f, urls);
}

static void end(struct fetcher *f)
{
	fetch_servers_free(f);
	assert_int_equal(f->n_list, 0);
	assert_int_equal(live, 0);
}

/* Those that are asked now, as the client takes them. */
static uint32_t choose(struct fetcher *f, const char *expected)
{
	char urls[WORKER_PATH_MAX];
	struct fetch_rest rest;
	uint32_t chosen = fetch_servers_choose(f, urls, &rest);
	assert_string_equal(urls, expected);
	return chosen;
}

/* ---- The list ---- */

TEST(lists)
{
	static const char *const rows[][2] = {
		{"", ""},
		{"   ", ""},
		{"http://a", "http://a"},
		{" http://a\t\nhttp://b ", "http://a http://b"},
		{"http://a/ http://b/// /", "http://a http://b"},
		{"http://a http://a/ http://b http://a", "http://a http://b"},
		{"http://a http://ab http://aa", "http://a http://ab http://aa"},
		{"http://ab http://a", "http://ab http://a"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct fetcher f;
		assert_int_equal(begin(&f, rows[i][0]), 0);
		choose(&f, rows[i][1]);
		assert_int_equal(f.urls_size, *rows[i][1] ? strlen(rows[i][1]) + 1 : 0);
		end(&f);
	}
}

TEST(too_many)
{
	char urls[FETCH_SERVERS_MAX * 12 + 24] = "";
	struct fetcher f;
	for (unsigned i = 0; i < FETCH_SERVERS_MAX; i++)
		snprintf(urls + strlen(urls), sizeof(urls) - strlen(urls), "http://%02u ", i);
	assert_int_equal(begin(&f, urls), 0);
	assert_int_equal(f.n_list, FETCH_SERVERS_MAX);
	end(&f);
	strcat(urls, "http://00"); /* it is listed already */
	assert_int_equal(begin(&f, urls), 0);
	end(&f);
	strcat(urls, " http://x");
	assert_int_equal(begin(&f, urls), -E2BIG);
	assert_int_equal(f.n_list, FETCH_SERVERS_MAX);
	end(&f);
}

/* All of them fit into what is sent to the worker that is their client. */
TEST(too_long)
{
	char urls[WORKER_PATH_MAX + 16];
	struct fetcher f;
	for (size_t size = WORKER_PATH_MAX - 3; size < WORKER_PATH_MAX + 3; size++) {
		memset(urls, 'a', size);
		urls[size] = 0;
		urls[100] = ' ';
		assert_int_equal(begin(&f, urls), size + 1 < WORKER_PATH_MAX ? 0 : -E2BIG);
		end(&f);
	}
}

TEST(without_memory)
{
	struct fetcher f;
	for (int n = 0; n < 2; n++) {
		allowed = n;
		assert_int_equal(begin(&f, "http://a http://b"), -ENOMEM);
		allowed = -1;
		assert_int_equal(f.n_list, n);
		end(&f);
	}
}

/* ---- Backoff ---- */

static void rests(struct fetcher *f, int64_t ms, int failure)
{
	char urls[WORKER_PATH_MAX];
	struct fetch_rest rest;
	fetch_servers_choose(f, urls, &rest);
	assert_int_equal(rest.failure, failure);
	assert_int_equal(rest.ms, ms);
}

/* Twice as long after each failure in turn, at most an hour; a reply ends it. */
TEST(exponential_backoff)
{
	struct fetcher f;
	int64_t ms = 10 * SECOND;
	assert_int_equal(begin(&f, "http://a http://b"), 0);
	rests(&f, 0, 0);
	for (unsigned i = 1; i < 15; i++) {
		fetch_servers_note(&f, 3, 1, -ETIMEDOUT, 1);
		assert_int_equal(warnings, i);
		assert_non_null(strstr(said, "debuginfod: a: "));
		rests(&f, ms, -ETIMEDOUT);
		assert_int_equal(choose(&f, "http://b"), 2);
		/* Others that were under way count once. */
		fetch_servers_note(&f, 3, 1, -EIO, 1);
		rests(&f, ms, -ETIMEDOUT);
		assert_int_equal(warnings, i);
		now_ms += ms - 1;
		assert_int_equal(choose(&f, "http://b"), 2);
		now_ms++;
		assert_int_equal(choose(&f, "http://a http://b"), 3);
		rests(&f, 0, 0);
		ms = ms * 2 < HOUR ? ms * 2 : HOUR;
	}
	assert_int_equal(ms, HOUR);
	fetch_servers_note(&f, 2, 0, 0, 1); /* of the other one */
	fetch_servers_note(&f, 1, 1, -ETIMEDOUT, 1);
	rests(&f, HOUR, -ETIMEDOUT);
	fetch_servers_note(&f, 1, 0, 0, 1);
	assert_int_equal(choose(&f, "http://a http://b"), 3);
	fetch_servers_note(&f, 1, 1, -ETIMEDOUT, 1);
	rests(&f, 10 * SECOND, -ETIMEDOUT);
	end(&f);
}

/* At most a third of the time is spent on waiting for a server in vain. */
TEST(slow_failures)
{
	static const int64_t rows[][2] = {
		/* took, rests */
		{5 * SECOND - 1, 10 * SECOND},
		{5 * SECOND, 10 * SECOND},
		{5 * SECOND + 1, 10 * SECOND + 2},
		{HOUR / 2, HOUR},
		{HOUR / 2 + 1, HOUR},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct fetcher f;
		assert_int_equal(begin(&f, "http://a"), 0);
		fetch_servers_note(&f, 1, 1, -ETIMEDOUT, rows[i][0]);
		rests(&f, rows[i][1], -ETIMEDOUT);
		end(&f);
	}
}

TEST(shortest_rest)
{
	struct fetcher f;
	assert_int_equal(begin(&f, "http://a http://b http://c"), 0);
	fetch_servers_note(&f, 7, 1, -ETIMEDOUT, 20 * SECOND);
	rests(&f, 40 * SECOND, -ETIMEDOUT);
	fetch_servers_note(&f, 2, 2, -EHOSTUNREACH, 1);
	rests(&f, 10 * SECOND, -EHOSTUNREACH);
	fetch_servers_note(&f, 4, 4, -EIO, 30 * SECOND);
	rests(&f, 10 * SECOND, -EHOSTUNREACH);
	assert_int_equal(choose(&f, ""), 0);
	end(&f);
}

/* Without a client library there is one message, which is not about the server; none has a password. */
TEST(messages)
{
	static const char *const rows[][2] = {
		{"http://user:secret@host/path", ": host/path:"},
		{"http://host/a@b", ": host/a@b:"},
		{"http://a@b@host", ": host:"},
		{"user:secret@host", ": host:"},
	};
	struct fetcher f;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(begin(&f, rows[i][0]), 0);
		fetch_servers_note(&f, 1, 1, -ETIMEDOUT, 1);
		assert_int_equal(warnings, 1);
		assert_non_null(strstr(said, rows[i][1]));
		assert_non_null(strstr(said, "for 10 s"));
		assert_null(strstr(said, "secret"));
		end(&f);
	}
	assert_int_equal(begin(&f, "http://a"), 0);
	fetch_servers_note(&f, 1, 1, -ELIBACC, 1);
	assert_int_equal(warnings, 0);
	rests(&f, 10 * SECOND, -ELIBACC);
	end(&f);
}

/* Of the servers 1, 3 and 31 the client knows the first as 0, the second as 1, the third as 2. */
TEST(sets)
{
	const uint32_t asked = 1U << 1 | 1U << 3 | 1U << 31;
	assert_int_equal(fetch_servers_spread(asked, 0), 0);
	assert_int_equal(fetch_servers_spread(asked, 1), 1U << 1);
	assert_int_equal(fetch_servers_spread(asked, 2), 1U << 3);
	assert_int_equal(fetch_servers_spread(asked, 4), 1U << 31);
	assert_int_equal(fetch_servers_spread(asked, 5), 1U << 31 | 1U << 1);
	assert_int_equal(fetch_servers_spread(asked, UINT32_MAX), asked);
	assert_int_equal(fetch_servers_spread(0, UINT32_MAX), 0);
	assert_int_equal(fetch_servers_spread(UINT32_MAX, 0x80000001), 0x80000001);
}

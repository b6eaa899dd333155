/*
 * debuginfod_servers.c - which servers are asked, and which are left alone for a while because they failed.
 *
 * Each server has its own backoff, so that one that fails leaves requests to the others alone.
 */
#include "work/run/debuginfod.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work/worker/child.h"

enum {
	/* Exponential backoff after consecutive failures. */
	REST_MS_MIN = 10 * 1000,
	REST_MS_MAX = 3600 * 1000,
};

/* ---- The list: made before threads ask, so that no lock is needed ---- */

static bool is_listed(const struct fetcher *f, const char *url, size_t size) NOT_ANALYZED
{
	for (size_t i = 0; i < f->n_list; i++)
		if (strlen(f->list[i].url) == size && !strncmp(f->list[i].url, url, size))
			return true;
	return false;
}

static int add_server(struct fetcher *f, const char *url, size_t size) NOT_ANALYZED
{
	while (size && url[size - 1] == '/')
		size--;
	if (!size || is_listed(f, url, size))
		return 0;
	if (f->n_list == FETCH_SERVERS_MAX || f->urls_size + size + 1 >= WORKER_PATH_MAX)
		return -E2BIG;
	char *copy = strndup(url, size);
	if (!copy)
		return -ENOMEM;
	f->list[f->n_list++] = (struct fetch_server){.url = copy};
	f->urls_size += size + 1;
	return 0;
}

int fetch_servers_read(struct fetcher *f, const char *urls) NOT_ANALYZED
{
	int err = 0;
	while (*urls && !err) {
		size_t size = 0;
		while (urls[size] && !isspace((unsigned char)urls[size]))
			size++;
		err = add_server(f, urls, size);
		urls += size + (urls[size] != 0);
	}
	return err;
}

void fetch_servers_free(struct fetcher *f) NOT_ANALYZED
{
	while (f->n_list)
		free(f->list[--f->n_list].url);
}

/* ---- Backoff ---- */

uint32_t fetch_servers_choose(struct fetcher *f, char urls[static WORKER_PATH_MAX], struct fetch_rest *ret)
{
	uint32_t chosen = 0;
	size_t n = 0;
	mutex_lock(&f->lock);
	int64_t now = monotonic_ms();
	*ret = (struct fetch_rest){0};
	*urls = 0;
	for (size_t i = 0; i < f->n_list; i++) {
		const struct fetch_server *s = &f->list[i];
		int64_t left = s->rest_until - now;
		if (left > 0 && (!ret->failure || left < ret->ms))
			*ret = (struct fetch_rest){s->failure, left};
		if (left > 0)
			continue;
		n += (size_t)snprintf(urls + n, WORKER_PATH_MAX - n, "%s%s", n ? " " : "", s->url);
		chosen |= 1U << i;
	}
	mutex_unlock(&f->lock);
	return chosen;
}

/* Without a password. */
static const char *shown_url(const char *url)
{
	const char *host = strstr(url, "://");
	host = host ? host + 3 : url;
	size_t n = strcspn(host, "/");
	const char *at = memrchr(host, '@', n);
	return at ? at + 1 : host;
}

/* @took: milliseconds. Concurrent failures count once. */
static void fail(const struct fetcher *f, struct fetch_server *s, int failure, int64_t took)
{
	int64_t now = monotonic_ms();
	if (s->rest_until > now)
		return;
	s->rest_ms = s->rest_ms ? s->rest_ms * 2 : REST_MS_MIN;
	/* At most a third of the time is spent on timeouts. */
	s->rest_ms = s->rest_ms < took * 2 ? took * 2 : s->rest_ms;
	s->rest_ms = s->rest_ms > REST_MS_MAX ? REST_MS_MAX : s->rest_ms;
	s->rest_until = now + s->rest_ms;
	s->failure = failure;
	if (failure != -ELIBACC)
		log_warning(f->log, "debuginfod: %s: %s; no more requests to it for %lld s",
			    shown_url(s->url), strerror(-failure), (long long)s->rest_ms / 1000);
}

void fetch_servers_note(struct fetcher *f, uint32_t asked, uint32_t failed, int failure, int64_t took)
{
	mutex_lock(&f->lock);
	for (size_t i = 0; i < f->n_list; i++) {
		if (failed & 1U << i)
			fail(f, &f->list[i], failure, took);
		else if (asked & 1U << i)
			f->list[i].rest_ms = f->list[i].rest_until = 0;
	}
	mutex_unlock(&f->lock);
}

uint32_t fetch_servers_spread(uint32_t asked, uint32_t among)
{
	uint32_t ret = 0;
	for (unsigned i = 0, n = 0; i < FETCH_SERVERS_MAX; i++)
		if (asked & 1U << i)
			ret |= (among >> n++ & 1) << i;
	return ret;
}

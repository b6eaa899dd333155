#include "store/transfer/http_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"

/* ---- Addresses and names ---- */

static size_t scheme_size(const char *address)
{
	if (strncmp(address, "http://", 7) == 0)
		return 7;
	return strncmp(address, "https://", 8) == 0 ? 8 : 0;
}

int http_address_make(const char *text, char **ret, struct gsym_diag *diag)
{
	static const char allowed[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~/:[]%";
	const size_t scheme = scheme_size(text);
	size_t n = strlen(text);
	if (strchr(text, '@'))
		return diag_set(diag, -EINVAL, "the address has a user: give it in a file");
	if (!scheme || strspn(text, allowed) != n || text[scheme] == '/' || !text[scheme])
		return diag_set(diag, -EINVAL, "'%s' is no address of the form https://HOST/PREFIX", text);
	while (n > scheme && text[n - 1] == '/')
		n--;
	*ret = strndup(text, n);
	return *ret ? 0 : -ENOMEM;
}

bool store_name_valid(const char *name)
{
	size_t whole = strspn(name, "0123456789abcdefghijklmnopqrstuvwxyz./-");
	if (name[whole] || whole >= STORE_NAME_SIZE)
		return false;
	for (const char *part = name;; part++) {
		size_t n = strcspn(part, "/");
		if (n == 0 || strspn(part, ".") == n)
			return false;
		part += n;
		if (!*part)
			return true;
	}
}

bool http_transfer_valid(const struct transfer *transfer)
{
	if (transfer->condition == STORE_IF_MATCH) {
		const char *etag = transfer->etag ? transfer->etag : "";
		if (!*etag || strlen(etag) >= STORE_ETAG_SIZE)
			return false;
		for (; *etag; etag++)
			if (*etag < 0x21 || *etag > 0x7e)
				return false;
	}
	return store_name_valid(transfer->name);
}

int http_probe_name(struct transfer *transfer, char ret[static STORE_NAME_SIZE])
{
	uint64_t random;
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -errno;
	snprintf(ret, STORE_NAME_SIZE, "gsymfs1/probe-%016llx", (unsigned long long)random);
	transfer->operation = STORE_PUT;
	transfer->name = ret;
	transfer->size = 0;
	return 0;
}

/* A server that does not know a condition may also say so. */
int http_probe_conditions(int (*put)(void *user, enum store_condition condition, const char *etag),
			  void *user)
{
	static const struct {
		enum store_condition condition;
		const char *etag;
		bool is_met;
	} probes[] = {{STORE_IF_ABSENT, NULL, true},
		      {STORE_IF_ABSENT, NULL, false},
		      {STORE_IF_MATCH, "\"00000000000000000000000000000000\"", false}};
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		int err = put(user, probes[i].condition, probes[i].etag);
		if (err && err != -EEXIST && err != -EOPNOTSUPP)
			return err;
		if (err != (probes[i].is_met ? 0 : -EEXIST))
			return 0;
	}
	return 1;
}

void http_condition(struct http_headers *headers, enum store_condition condition, const char *etag)
{
	if (condition == STORE_IF_ABSENT)
		http_header(headers, "If-None-Match", "*");
	else if (condition == STORE_IF_MATCH)
		http_header(headers, "If-Match", etag);
}

/* ---- Answers ---- */

int http_status_error(struct http_task *task, const struct http_answer *answer)
{
	const bool conditional = task->transfer->condition != STORE_ALWAYS;
	const unsigned status = answer->status;
	switch (status) {
	case 404:
	case 410: return -ENOENT;
	case 412: return -EEXIST;
	case 409: return http_fail(task, conditional ? -EAGAIN : -EREMOTEIO, "HTTP 409, conflict");
	case 401:
	case 403:
	case 405: return http_fail(task, -EACCES, "HTTP %u, not permitted", status);
	case 413: return http_fail(task, -EFBIG, "HTTP 413, the object is too large for the server");
	case 429: return http_fail(task, -EREMOTEIO, "HTTP 429, too many requests");
	case 400:
	case 501:
		return http_fail(task, conditional ? -EOPNOTSUPP : -EREMOTEIO, "HTTP %u%s", status,
				 status == 501 ? ", not implemented" : "");
	default:
		return http_fail(task, -EREMOTEIO, "HTTP %u%s", status,
				 status / 100 == 3 ? ", redirections are not followed" : "");
	}
}

void http_fill_reply(struct http_task *task, const struct http_answer *answer)
{
	struct store_reply *reply = &task->transfer->reply;
	if (answer->now)
		reply->now = answer->now;
	if (!http_succeeded(answer))
		return;
	if (answer->modified)
		reply->modified = answer->modified;
	if (*answer->etag)
		memcpy(reply->etag, answer->etag, sizeof(reply->etag));
}

/* ---- Bodies ---- */

static int receive_body(void *user, const char *bytes, size_t size)
{
	struct http_body *body = user;
	int err = write_all(body->task->transfer->fd, bytes, size, (off_t)body->n);
	if (err)
		return http_fail(body->task, err, "cannot write what was received: %s", strerror(-err));
	body->n += size;
	return 0;
}

void http_begin_get(struct http_body *ret, struct http_task *task, struct http_request *request)
{
	*ret = (struct http_body){.task = task};
	request->method = "GET";
	request->receive = receive_body;
	request->user = ret;
	request->max = task->transfer->size;
}

int http_end_get(struct http_body *body, const struct http_answer *answer)
{
	http_fill_reply(body->task, answer);
	if (answer->status != 200)
		return http_status_error(body->task, answer);
	body->task->transfer->reply.size = body->n;
	return 0;
}

#include "store/transfer/http_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"
#include "gsym/base/text_buf.h"

enum { LISTING_BUFFER = 64 * 1024 };

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

const char *http_address_path(const char *address)
{
	const char *slash = strchr(address + scheme_size(address), '/');
	return slash ? slash : "";
}

static bool has_name_bytes(const char *name)
{
	size_t n = strspn(name, "0123456789abcdefghijklmnopqrstuvwxyz./-");
	return !name[n] && n < STORE_NAME_SIZE;
}

bool store_name_valid(const char *name)
{
	if (!has_name_bytes(name))
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

/* The beginning of a valid name. */
static bool is_beginning(const char *name)
{
	char whole[STORE_NAME_SIZE + 1];
	if (!has_name_bytes(name))
		return false;
	snprintf(whole, sizeof(whole), "%sx", name);
	return store_name_valid(whole);
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
	return transfer->operation == STORE_LIST ? is_beginning(transfer->name)
						 : store_name_valid(transfer->name);
}

int http_random_name(const char *prefix, const char *suffix, char ret[static STORE_NAME_SIZE])
{
	uint64_t random;
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -errno;
	int n = snprintf(ret, STORE_NAME_SIZE, "%s%016llx%s", prefix, (unsigned long long)random, suffix);
	return n < STORE_NAME_SIZE ? 0 : -EINVAL;
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

/* ---- Listings ---- */

static int flush_listing(struct store_listing *listing)
{
	int err = listing->buf->failed ? -ENOMEM : 0;
	if (!err)
		err = write_all(listing->task->transfer->fd, listing->buf->v, listing->buf->n,
				(off_t)listing->n);
	if (err)
		return http_fail(listing->task, err, "cannot write the list: %s", strerror(-err));
	listing->n += listing->buf->n;
	text_reset(listing->buf);
	return 0;
}

int store_listing_add(struct store_listing *listing, const char *name, uint64_t size, int64_t modified)
{
	struct text_buf *buf = listing->buf;
	text_str(buf, name);
	text_char(buf, '\t');
	text_dec(buf, size);
	text_char(buf, '\t');
	text_dec(buf, modified > 0 ? (uint64_t)modified : 0);
	text_char(buf, '\n');
	if (listing->n + buf->n > listing->task->transfer->size)
		return http_fail(listing->task, -EFBIG, "the list is larger than expected");
	return buf->n >= LISTING_BUFFER || buf->failed ? flush_listing(listing) : 0;
}

int store_listing_end(struct store_listing *listing)
{
	int err = flush_listing(listing);
	listing->task->transfer->reply.size = listing->n;
	return err;
}

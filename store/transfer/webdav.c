/*
 * A list is made of one PROPFIND a collection, since servers refuse a depth of infinity. Collections wait on
 * a stack; only those are taken that stand directly in the one that was asked for, so that no server can
 * lead in circles.
 */
#include "store/transfer/webdav.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/transfer/xml_scan.h"
#include "work/os/monotonic.h"
#include "gsym/base/ascii.h"
#include "gsym/base/text_buf.h"

enum {
	WITHOUT_EXPECT_MAX = 64 * 1024, /* bytes of a body */
	COLLECTIONS_MAX = 100000,       /* of a list */
	MULTISTATUS_MAX = 64 << 20,     /* bytes of the answer for one collection */
	GUARD_WAIT = 1000,              /* ms; it is held for as long as some requests take */
	GUARD_PAUSE = 10,               /* ms */
};

int webdav_exchange(struct webdav *dav, const char *name, struct http_request *request,
		    struct http_headers *headers, struct http_answer *ret)
{
	char *url = NULL;
	int err = -ENOMEM;
	/* libcurl 7.88 asks for a "100 Continue" before any body. Where requests are signed it has to. */
	if (request->has_body && request->size <= WITHOUT_EXPECT_MAX)
		http_header(headers, "Expect", "");
	if (dav->authorization)
		http_header(headers, "Authorization", dav->authorization);
	request->headers = headers;
	if (asprintf(&url, "%s/%s", dav->address, name) >= 0) {
		request->url = url;
		err = http_exchange(dav->task, request, ret);
	}
	free(url);
	http_headers_deinit(headers);
	return err;
}

/*
 * Apache forbids to make what another host makes at the same moment: it has looked whether it exists, and
 * then cannot make it. Asked again it says that it exists, unless it is forbidden indeed.
 */
static int make_collection(struct webdav *dav, const char *name, struct http_answer *ret)
{
	int err = 0;
	for (unsigned tries = 0; tries < 2; tries++) {
		struct http_request request = {.method = "MKCOL"};
		struct http_headers headers = {0};
		err = webdav_exchange(dav, name, &request, &headers, ret);
		if (err || ret->status != 403)
			break;
	}
	return err;
}

bool webdav_make_collections(struct webdav *dav, const char *name)
{
	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		char part[STORE_NAME_SIZE + 1];
		struct http_answer answer = {0};
		snprintf(part, sizeof(part), "%.*s", (int)(slash + 1 - name), name);
		if (make_collection(dav, part, &answer))
			return false;
		if (answer.status != 201 && answer.status != 405)
			return false;
	}
	return true;
}

int webdav_move(struct webdav *dav, const char *from, const char *to, struct http_answer *ret)
{
	char *path = NULL;
	struct http_request request = {.method = "MOVE"};
	struct http_headers headers = {0};
	/* A path, since the server may not know the scheme and host that a proxy before it has. */
	if (asprintf(&path, "%s/%s", http_address_path(dav->address), to) < 0)
		return -ENOMEM;
	http_header(&headers, "Destination", path);
	http_header(&headers, "Overwrite", "F");
	free(path);
	return webdav_exchange(dav, from, &request, &headers, ret);
}

/* ---- Guards ---- */

enum { GUARD_SIZE = STORE_NAME_SIZE + sizeof(".guard/") };

static void guard_name(const char *name, char ret[static GUARD_SIZE])
{
	snprintf(ret, GUARD_SIZE, "%s.guard/", name);
}

/* 1 if it was made, 0 if it exists, or a negative errno. */
static int make_guard(struct webdav *dav, const char *name)
{
	char guard[GUARD_SIZE];
	struct http_answer answer;
	guard_name(name, guard);
	int err = make_collection(dav, guard, &answer);
	if (!err && answer.status != 201 && answer.status != 405 && webdav_make_collections(dav, name))
		err = make_collection(dav, guard, &answer);
	if (err)
		return err;
	if (answer.status == 201)
		return 1;
	return answer.status == 405 ? 0 : http_status_error(dav->task, &answer);
}

/* Also when the transfer is to end: its limits do not hold, but those of a guard. */
void webdav_drop_guard(struct webdav *dav, const char *name)
{
	char guard[GUARD_SIZE];
	struct http_request request = {.method = "DELETE"};
	struct http_headers headers = {0};
	struct http_answer answer;
	struct transfer *transfer = dav->task->transfer;
	const struct store_reply reply = transfer->reply;
	const atomic_bool *canceled = transfer->canceled;
	const int64_t until = dav->task->until;
	transfer->canceled = NULL;
	dav->task->until = monotonic_ms() + GUARD_WAIT;
	guard_name(name, guard);
	webdav_exchange(dav, guard, &request, &headers, &answer);
	dav->task->until = until;
	transfer->canceled = canceled;
	transfer->reply = reply;
}

/* Apache looks whether a guard exists, and forbids what another host makes before it does so itself. */
int webdav_take_guard(struct webdav *dav, const char *name)
{
	const struct timespec pause = {.tv_nsec = GUARD_PAUSE * 1000000};
	int64_t until = monotonic_ms() + GUARD_WAIT;
	for (bool dropped = false;;) {
		int made = make_guard(dav, name);
		bool raced = made == -EACCES && monotonic_ms() < until;
		if (made && !raced)
			return made < 0 ? made : 0;
		if (monotonic_ms() >= until) {
			if (dropped)
				return http_fail(dav->task, -EAGAIN, "others write the object");
			webdav_drop_guard(dav, name);
			dropped = true;
			until += GUARD_WAIT;
			continue;
		}
		nanosleep(&pause, NULL);
	}
}

int webdav_probe_guard(struct webdav *dav, const char *name)
{
	int made = make_guard(dav, name);
	if (made <= 0)
		return made == -EACCES || made == -EOPNOTSUPP ? 0 : made;
	made = make_guard(dav, name);
	webdav_drop_guard(dav, name);
	return made < 0 ? made : made == 0;
}

/* ---- Lists ---- */

struct webdav_walk {
	struct webdav *dav;
	const char *beginning; /* of the names that are wanted */
	char *root;            /* path of the store, decoded */
	VEC(char *) collections;
	size_t n_seen;
	const char *collection; /* that the answer is for: "" or with a slash at its end */
	struct store_listing listing;
	/* Of the element "response": */
	char name[STORE_NAME_SIZE]; /* "": none that is wanted */
	bool is_collection;
	uint64_t size;
	int64_t modified;
};

/* Decodes %XX in place; %00 stays. */
static void decode_path(char *path)
{
	char *to = path;
	for (; *path; path++) {
		int high = *path == '%' ? hex_value(path[1]) : -1;
		int low = high >= 0 ? hex_value(path[2]) : -1;
		const bool coded = low >= 0 && (high || low);
		*to++ = coded ? (char)(high << 4 | low) : *path;
		path += coded ? 2 : 0;
	}
	*to = 0;
}

static const char *skip_text(const char *text, const char *head)
{
	size_t n = strlen(head);
	return text && strncmp(text, head, n) == 0 ? text + n : NULL;
}

/* The name of a child of the collection, from a path or an address with one. */
static void parse_href(struct webdav_walk *walk, const char *text)
{
	char path[XML_TEXT_SIZE];
	const char *host = strstr(text, "://");
	const char *begin = host ? strchr(host + 3, '/') : text;
	snprintf(path, sizeof(path), "%s", begin ? begin : "");
	decode_path(path);
	const char *name = skip_text(skip_text(path, walk->root), "/");
	const char *child = name ? skip_text(name, walk->collection) : NULL;
	size_t n = child ? strcspn(child, "/") : 0;
	/* One part, which may have a slash after it. */
	if (n == 0 || (child[n] && child[n + 1]) || child + n - name >= STORE_NAME_SIZE - 1)
		return;
	memcpy(walk->name, name, (size_t)(child + n - name));
	walk->name[child + n - name] = 0;
	if (!store_name_valid(walk->name))
		walk->name[0] = 0;
}

static int push_collection(struct webdav_walk *walk, const char *name)
{
	if (walk->n_seen++ == COLLECTIONS_MAX)
		return http_fail(walk->dav->task, -EFBIG, "too many collections");
	char *copy = strdup(name);
	if (!copy || vec_push(&walk->collections, copy)) {
		free(copy);
		return -ENOMEM;
	}
	return 0;
}

static int end_response(struct webdav_walk *walk)
{
	if (!walk->name[0])
		return 0;
	if (!walk->is_collection)
		return skip_text(walk->name, walk->beginning)
			       ? store_listing_add(&walk->listing, walk->name, walk->size, walk->modified)
			       : 0;
	size_t n = strlen(walk->name);
	snprintf(walk->name + n, sizeof(walk->name) - n, "/");
	if (!skip_text(walk->name, walk->beginning) && !skip_text(walk->beginning, walk->name))
		return 0;
	return push_collection(walk, walk->name);
}

static int begin_element(void *user, const char *element)
{
	struct webdav_walk *walk = user;
	if (strcmp(element, "response") == 0) {
		walk->name[0] = 0;
		walk->is_collection = false;
		walk->size = 0;
		walk->modified = 0;
	}
	return 0;
}

static int end_element(void *user, const char *element, const char *text)
{
	struct webdav_walk *walk = user;
	if (strcmp(element, "response") == 0)
		return end_response(walk);
	if (strcmp(element, "href") == 0)
		parse_href(walk, text);
	else if (strcmp(element, "collection") == 0)
		walk->is_collection = true;
	else if (strcmp(element, "getcontentlength") == 0)
		walk->size = strtoull(text, NULL, 10);
	else if (strcmp(element, "getlastmodified") == 0)
		walk->modified = curl_library(NULL)->getdate(text, NULL);
	return 0;
}

static int receive_xml(void *user, const char *bytes, size_t size)
{
	return xml_scan(user, bytes, size);
}

static int map_list_status(struct webdav_walk *walk, const struct http_answer *answer,
			   const struct xml_scan *scan)
{
	switch (answer->status) {
	case 207:
		return xml_scan_is_whole(scan, "multistatus")
			       ? 0
			       : http_fail(walk->dav->task, -EREMOTEIO, "the answer is no whole list");
	case 404: return 0; /* there is no such collection yet */
	case 400:
	case 405:
	case 501:
		return http_fail(walk->dav->task, -EOPNOTSUPP, "HTTP %u, the server has no lists",
				 answer->status);
	default: return http_status_error(walk->dav->task, answer);
	}
}

static int list_collection(struct webdav_walk *walk)
{
	static const char wanted[] = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
				     "<propfind xmlns=\"DAV:\"><prop><getcontentlength/><getlastmodified/>"
				     "<resourcetype/></prop></propfind>\n";
	struct xml_scan scan = {.begin = begin_element, .end = end_element, .user = walk};
	struct http_request request = {.method = "PROPFIND",
				       .has_body = true,
				       .text = wanted,
				       .size = sizeof(wanted) - 1,
				       .receive = receive_xml,
				       .user = &scan,
				       .max = MULTISTATUS_MAX};
	struct http_headers headers = {0};
	struct http_answer answer = {0};
	http_header(&headers, "Depth", "1");
	http_header(&headers, "Content-Type", "application/xml");
	int err = webdav_exchange(walk->dav, walk->collection, &request, &headers, &answer);
	http_fill_reply(walk->dav->task, &answer);
	if (err == -EBADMSG)
		return http_fail(walk->dav->task, -EREMOTEIO, "the list is no XML");
	return err ? err : map_list_status(walk, &answer, &scan);
}

static int walk_collections(struct webdav_walk *walk)
{
	int err = 0;
	while (walk->collections.n > 0 && !err) {
		char *name = walk->collections.v[--walk->collections.n];
		walk->collection = name;
		err = list_collection(walk);
		free(name);
	}
	return err ? err : store_listing_end(&walk->listing);
}

/* The collection that all wanted names stand in. */
static int push_first(struct webdav_walk *walk)
{
	char name[STORE_NAME_SIZE];
	const char *slash = strrchr(walk->beginning, '/');
	snprintf(name, sizeof(name), "%.*s", slash ? (int)(slash + 1 - walk->beginning) : 0, walk->beginning);
	return push_collection(walk, name);
}

int webdav_list(struct webdav *dav)
{
	struct text_buf buf = {0};
	struct webdav_walk walk = {.dav = dav,
				   .beginning = dav->task->transfer->name,
				   .root = strdup(http_address_path(dav->address)),
				   .listing = {.task = dav->task, .buf = &buf}};
	int err = walk.root ? push_first(&walk) : -ENOMEM;
	if (!err) {
		decode_path(walk.root);
		err = walk_collections(&walk);
	}
	while (walk.collections.n > 0)
		free(walk.collections.v[--walk.collections.n]);
	vec_free(&walk.collections);
	free(walk.root);
	text_deinit(&buf);
	/* Tag and time were those of a collection. */
	dav->task->transfer->reply.etag[0] = 0;
	dav->task->transfer->reply.modified = 0;
	return err;
}

#include "tests/unit/store/transfer/scripted_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gsym/base/diag.h"
#include "tests/unit/open_descriptors.h"
#include "tests/unit/wrap_asprintf.h"

enum { REQUEST_TEXT = 20000, SHORT_BODY = 32 };

/* ---- The server ---- */

struct exchange_server server;

void begin_script(const struct scripted *script)
{
	static const struct scripted none;
	server.next = script ? script : &none;
}

void expect_end(void)
{
	if (server.next->request)
		fail_msg("not asked: %s", server.next->request);
}

struct http_client {
	const struct store_options *options;
};

/* No list of WebDAV is sent. */
const struct curl_library *curl_library(struct gsym_diag *diag)
{
	(void)diag;
	return NULL;
}

int http_client_open(const struct store_options *options, struct http_client **ret, struct gsym_diag *diag)
{
	if (server.open_err)
		return diag_set(diag, server.open_err, "no client");
	struct http_client *client = malloc(sizeof(*client));
	if (!client)
		return -ENOMEM;
	client->options = options;
	server.n_clients++;
	*ret = client;
	return 0;
}

void http_client_close(struct http_client *client)
{
	server.n_clients -= client != NULL;
	free(client);
}

void http_header(struct http_headers *headers, const char *name, const char *value)
{
	struct curl_slist *line = malloc(sizeof(*line)), **last = &headers->list;
	const size_t size = strlen(name) + strlen(value) + 3;
	if (line)
		*line = (struct curl_slist){.data = malloc(size)};
	if (!line || !line->data) {
		free(line);
		headers->failed = true;
		return;
	}
	snprintf(line->data, size, "%s: %s", name, value);
	while (*last)
		last = &(*last)->next;
	*last = line;
}

void http_headers_deinit(struct http_headers *headers)
{
	while (headers->list) {
		struct curl_slist *line = headers->list;
		headers->list = line->next;
		free(line->data);
		free(line);
	}
}

void http_task_init(struct http_task *ret, struct http_client *client, struct transfer *transfer)
{
	assert_non_null(client);
	*ret = (struct http_task){.client = client, .transfer = transfer};
}

int http_fail(struct http_task *task, int err, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(task->transfer->reply.text, sizeof(task->transfer->reply.text), fmt, args);
	va_end(args);
	return err;
}

bool http_succeeded(const struct http_answer *answer)
{
	return answer->status / 100 == 2;
}

static void describe_body(const struct transfer *transfer, char *ret, size_t size)
{
	char bytes[SHORT_BODY];
	if (transfer->size > SHORT_BODY)
		snprintf(ret, size, " <%llu bytes>", (unsigned long long)transfer->size);
	else if (transfer->size && pread(transfer->fd, bytes, transfer->size, 0) != (ssize_t)transfer->size)
		snprintf(ret, size, " <unreadable>");
	else
		snprintf(ret, size, " <%.*s>", (int)transfer->size, bytes);
}

static void describe(const struct transfer *transfer, const struct http_request *request,
		     char ret[static REQUEST_TEXT])
{
	const size_t n_address = strlen(server.address);
	char body[2 * SHORT_BODY] = "";
	assert_memory_equal(request->url, server.address, n_address);
	if (request->sends)
		describe_body(transfer, body, sizeof(body));
	snprintf(ret, REQUEST_TEXT, "%s %s%s", request->method, request->url + n_address, body);
	for (const struct curl_slist *line = request->headers->list; line; line = line->next)
		if (strncmp(line->data, "Expect:", 7) != 0)
			snprintf(ret + strlen(ret), REQUEST_TEXT - strlen(ret), "; %s", line->data);
}

static void expect_signature(const struct http_signature *signature)
{
	if (!server.signature.scope) {
		assert_null(signature);
		return;
	}
	assert_non_null(signature);
	assert_string_equal(signature->scope, server.signature.scope);
	assert_string_equal(signature->key, server.signature.key);
	assert_string_equal(signature->secret, server.signature.secret);
}

int http_exchange(struct http_task *task, const struct http_request *request, struct http_answer *ret)
{
	char text[REQUEST_TEXT];
	*ret = (struct http_answer){.status = 0};
	if (request->headers->failed)
		return -ENOMEM;
	describe(task->transfer, request, text);
	assert_string_equal(text, server.next->request ? server.next->request : "no more requests");
	expect_signature(request->signature);
	const struct scripted *answer = server.next++;
	*ret = (struct http_answer){.status = answer->status,
				    .size = answer->length,
				    .now = answer->now,
				    .modified = answer->modified};
	snprintf(ret->etag, sizeof(ret->etag), "%s", answer->etag ? answer->etag : "");
	int err = 0;
	if (answer->body && !http_succeeded(ret))
		snprintf(ret->failure, sizeof(ret->failure), "%s", answer->body);
	else if (answer->body && request->receives)
		ret->size = (uint64_t)pwrite(task->transfer->fd, answer->body, strlen(answer->body), 0);
	if (!err && answer->err)
		err = http_fail(task, answer->err, "no answer");
	return err;
}

/* ---- The machine ---- */

const char *secret;
unsigned n_wiped;

void __wrap_explicit_bzero(void *p, size_t size);
void __wrap___explicit_bzero_chk(void *p, size_t size, size_t size_of_object);

void __wrap_explicit_bzero(void *p, size_t size)
{
	n_wiped += secret && memmem(p, size, secret, strlen(secret));
	memset(p, 0, size);
}

void __wrap___explicit_bzero_chk(void *p, size_t size, size_t size_of_object)
{
	assert_in_range(size, 0, size_of_object);
	__wrap_explicit_bzero(p, size);
}

/* ---- One engine ---- */

void *engine;
static const struct engine_type *engine_type;
static const atomic_bool not_canceled;
static FILE *file; /* of the transfer */

void reset_server(void)
{
	server = (struct exchange_server){.address = "http://h/s/"};
	live = 0;
	engine = NULL;
}

void open_engine(const struct engine_type *type, const struct store_options *options)
{
	engine_type = type;
	assert_int_equal(engine_type->open(options, &engine, NULL), 0);
	assert_non_null(engine);
}

void close_engine(void)
{
	engine_type->close(engine);
	assert_int_equal(server.n_clients, 0);
	assert_int_equal(live, 0);
}

struct transfer make_transfer(const struct transfer *from)
{
	struct transfer transfer = *from;
	file = tmpfile();
	assert_non_null(file);
	transfer.fd = fileno(file);
	transfer.canceled = &not_canceled;
	transfer.size = 100;
	if (transfer.operation == STORE_PUT) {
		assert_int_equal(pwrite(transfer.fd, "abc", 3, 0), 3);
		transfer.size = 3;
	}
	return transfer;
}

void close_transfer(void)
{
	fclose(file);
}

static void expect_reply(const struct store_reply *reply, const struct store_reply *want)
{
	assert_int_equal(reply->err, want->err);
	assert_string_equal(reply->text, want->text);
	assert_int_equal(reply->now, want->now);
	assert_int_equal(reply->modified, want->modified);
	assert_string_equal(reply->etag, want->etag);
	if (!want->err)
		assert_int_equal(reply->size, want->size);
}

void run_row(const struct transfer_row *row)
{
	const unsigned n_open = count_open_descriptors();
	struct transfer transfer = make_transfer(&row->transfer);
	begin_script(row->script);
	assert_int_equal(engine_type->run(engine, &transfer), row->want.err);
	expect_end();
	expect_reply(&transfer.reply, &row->want);
	close_transfer();
	assert_int_equal(count_open_descriptors(), n_open);
}

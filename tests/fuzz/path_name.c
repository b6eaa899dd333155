/*
 * Names as a user can spell them: every text means one thing in each place, and what is understood can be
 * spelled again. The rest of the input goes to the other parsers of the daemon: the index and the worker's
 * messages.
 */
#include "work/worker/worker.h"
#include "fs/scan/index.h"
#include "fs/name/name.h"
#include "tests/fuzz/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_address(const char *name, const struct request *r)
{
	struct request again;
	char spelled[32];
	snprintf(spelled, sizeof(spelled), "0x%llx", (unsigned long long)r->address);
	name_parse(PLACE_IMAGE, &r->context, spelled, &again);
	expect(again.kind == REQUEST_ADDRESS && again.address == r->address);
	expect(strchr(name, '.') != NULL || (r->format == RENDER_TEXT && !r->raw));
}

/* A symbol is the beginning of the name, whatever the name is. */
static void check_symbol(const char *name, const struct request *r)
{
	expect(r->kind == REQUEST_SYMBOL || r->kind == REQUEST_NONE);
	if (r->kind == REQUEST_SYMBOL)
		expect(r->symbol == name && r->symbol_size > 0 && r->symbol_size <= strlen(name));
}

static void check_batch(const char *name, const struct request *r)
{
	expect(name[0] == 'q');
	const struct request again = batch_of(batch_code(r));
	expect(again.format == r->format && again.raw == r->raw && again.context.space == r->context.space);
}

static void check_id(const char *name, const struct request *r)
{
	struct request again;
	name_parse(PLACE_ROOT, NULL, r->id, &again);
	expect(again.kind == REQUEST_ID && !again.alias && strcmp(again.id, r->id) == 0);
	expect(r->alias == (strcmp(name, r->id) != 0));
}

static void check_name(const char *name)
{
	struct request r;
	for (uint32_t code = 0; code < CONTEXT_CODES; code++) {
		const struct context context = context_of(code);
		name_parse(PLACE_IMAGE, &context, name, &r);
		if (context.space == SPACE_SYMBOL && !context.wants_load) {
			check_symbol(name, &r);
			continue;
		}
		expect(r.kind == REQUEST_NONE || r.kind == REQUEST_ADDRESS || r.kind == REQUEST_CONTEXT ||
		       (r.kind == REQUEST_BATCH && !context.wants_load));
		expect(r.kind != REQUEST_CONTEXT || context_code(&r.context) != code);
		if (r.kind == REQUEST_ADDRESS)
			check_address(name, &r);
		if (r.kind == REQUEST_BATCH)
			check_batch(name, &r);
	}
	name_parse(PLACE_ROOT, NULL, name, &r);
	expect(r.kind == REQUEST_NONE || r.kind == REQUEST_ID || r.kind == REQUEST_BATCH);
	if (r.kind == REQUEST_ID)
		check_id(name, &r);
}

/* A line's place is a path, component by component, to where there is a q. */
static void check_place(const char *path, size_t size)
{
	struct context context = {0}, said;
	struct request r;
	char name[NAME_BYTES_MAX + 1];
	size_t id_size;
	bool good = context_parse_place(path, size, &id_size, &said);
	expect(id_size <= size && !memchr(path, '/', id_size));
	for (size_t at = id_size, n; good && at < size; at += n) {
		at++;
		n = strcspn(path + at, "/");
		n = at + n < size ? n : size - at;
		if (!n)
			continue;
		expect(n <= NAME_BYTES_MAX);
		memcpy(name, path + at, n);
		name[n] = 0;
		name_parse(PLACE_IMAGE, &context, name, &r);
		expect(r.kind == REQUEST_CONTEXT);
		context = r.context;
	}
	expect(!good || (context_equal(&context, &said) && said.space != SPACE_SYMBOL && !said.wants_load));
}

static void check_message(const uint8_t *data, size_t size)
{
	union worker_message msg;
	memset(&msg, 0xff, sizeof(msg));
	memcpy(&msg, data, size < sizeof(msg) ? size : sizeof(msg));
	if (worker_message_check(&msg, size) != 0)
		return;
	if (msg.head.type == WORKER_FAILED)
		expect(strlen(msg.failed.text) < sizeof(msg.failed.text));
	if (msg.head.type == WORKER_REQUEST)
		expect(*msg.request.name != '/' && !strstr(msg.request.name, "/.") &&
		       strlen(msg.request.etag) < sizeof(msg.request.etag));
	if (msg.head.type == WORKER_REPLY)
		expect(strlen(msg.reply.text) < sizeof(msg.reply.text) && !strchr(msg.reply.etag, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct index index = {.files = {.n = 0}};
	char *name = malloc(size + 1);
	if (!name)
		return 0;
	memcpy(name, data, size);
	name[size] = 0;
	check_name(name);
	check_place(name, size);
	free(name);
	check_message(data, size);
	if (index_decode(&index, (struct span){data, size}) == 0)
		index_deinit(&index);
	return 0;
}

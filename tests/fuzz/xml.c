/* The scanner of lists says the same of a document however it is cut, and keeps its limits. */
#include "store/transfer/xml_scan.h"
#include "tests/fuzz/expect.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct xml_events {
	uint64_t hash;
	unsigned n;
};

static void note_bytes(struct xml_events *events, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		events->hash = (events->hash ^ (uint8_t)bytes[i]) * 0x100000001b3;
	events->hash = (events->hash ^ size) * 0x100000001b3;
}

static int note_begin(void *user, const char *name)
{
	struct xml_events *events = user;
	expect(strlen(name) < XML_NAME_SIZE);
	note_bytes(events, name, strlen(name));
	events->n++;
	return 0;
}

static int note_end(void *user, const char *name, const char *text)
{
	expect(strlen(text) < XML_TEXT_SIZE);
	note_bytes(user, text, strlen(text));
	return note_begin(user, name);
}

/* In pieces of @step bytes. */
static int scan(const uint8_t *data, size_t size, size_t step, struct xml_events *ret)
{
	struct xml_scan xml = {.begin = note_begin, .end = note_end, .user = ret};
	int err = 0;
	memset(ret, 0, sizeof(*ret));
	for (size_t off = 0; off < size && !err; off += step)
		err = xml_scan(&xml, (const char *)data + off, size - off < step ? size - off : step);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct xml_events whole, bytes, pieces;
	int err = scan(data, size, size ? size : 1, &whole);
	expect(scan(data, size, 1, &bytes) == err);
	expect(scan(data, size, 7, &pieces) == err);
	expect(whole.hash == bytes.hash && whole.n == bytes.n && whole.hash == pieces.hash);
	expect(whole.n <= size);
	return 0;
}

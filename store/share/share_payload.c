#include "store/share/share_payload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "gsym/base/file_io.h"

enum { KEY_BYTES = FINGERPRINT_DIGITS / 2 /* of the key that are in the name */ };

#define FAILURE "gsymfs-failure 1\n"
#define USES    "uses\t"

void share_entry_name(const struct store_key *key, const char *id, char ret[static CACHE_KEY_SIZE])
{
	int n = snprintf(ret, CACHE_KEY_SIZE, "%.*s-", ID_TEXT_SIZE - 1, id);
	for (size_t i = 0; i < KEY_BYTES; i++)
		snprintf(ret + (size_t)n + 2 * i, 3, "%02x", key->digest[i]);
}

/* ---- Conversions ---- */

struct copying {
	struct span notes;
	struct text_buf out;
};

/* All but the lines of neighbours. */
static int copy_notes(void *arg)
{
	struct copying *c = arg;
	const char *at = (const char *)c->notes.data, *end = at + c->notes.size;
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((stop ? stop + 1 : end) - at);
		if (n < sizeof(USES) - 1 || memcmp(at, USES, sizeof(USES) - 1) != 0)
			text_bytes(&c->out, at, n);
		at += n;
	}
	return c->out.failed ? -ENOMEM : 0;
}

int share_payload_write(int fd, const struct store_key *key, const char *id, const struct handle *handle,
			struct span inputs, uint64_t *ret_size)
{
	char name[CACHE_KEY_SIZE];
	struct copying c = {.notes = handle->notes};
	struct stat st;
	share_entry_name(key, id, name);
	int err = handle_run(handle, copy_notes, &c);
	/* From a truncated mapping write(2) fails with EFAULT instead of raising SIGBUS. */
	if (!err)
		err = write_all(fd, handle->gsym.data, handle->gsym.size, 0);
	if (!err)
		err = trailer_write(fd, name, handle->gsym.size, text_span(&c.out), inputs);
	if (!err)
		err = handle_check(handle);
	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err)
		*ret_size = (uint64_t)st.st_size;
	text_deinit(&c.out);
	return err;
}

/* ---- Failures ---- */

void share_failure_write(struct text_buf *out, const char *message, struct span inputs)
{
	text_lit(out, FAILURE);
	for (; *message; message++)
		text_char(out, *message == '\n' ? ' ' : *message);
	text_char(out, '\n');
	text_bytes(out, inputs.data, inputs.size);
}

int share_failure_read(struct span payload, char *ret_message, size_t size, struct span *ret_inputs)
{
	const size_t head = sizeof(FAILURE) - 1;
	if (payload.size < head || memcmp(payload.data, FAILURE, head) != 0)
		return -EBADMSG;
	const uint8_t *at = payload.data + head, *end = payload.data + payload.size;
	const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
	if (!stop || stop == at)
		return -EBADMSG;
	size_t n = (size_t)(stop - at);
	n = n < size ? n : size - 1;
	for (size_t i = 0; i < n; i++)
		ret_message[i] = (char)(at[i] >= 0x20 && at[i] < 0x7f ? at[i] : '?');
	ret_message[n] = 0;
	*ret_inputs = (struct span){stop + 1, (size_t)(end - stop - 1)};
	return 0;
}

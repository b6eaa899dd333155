/*
 * Cache files are untrusted input as well: they may be corrupt, or truncated by a crash. The checksum is
 * computed with pread(2), which reports truncation as an error; reading a mapping would raise SIGBUS.
 */
#include "work/cache/handle.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "gsym/base/diag.h"
#include "gsym/base/fault.h"
#include "gsym/base/vec.h"
#include "gsym/base/file_io.h"
#include "gsym/base/invariant.h"
#include "gsym/codec/header.h"
#include "gsym/read/reader.h"
#include "gsym/base/sanitizer.h"
#include "work/cache/cache_entry.h"
#include "work/cache/cache_key.h"
#include "work/os/guard.h"

static const uint8_t magic[8] = {'g', 's', 'y', 'm', 'f', 's', '0', '3'};

enum {
	CHECKSUM_SIZE = 8,
	STAMPED_SIZE = 4096, /* the header, and where functions are */
};

struct trailer {
	uint64_t gsym_size;
	uint64_t notes_size;
	uint64_t inputs_size;
	uint64_t key_size;
	uint64_t checksum;
};

static int hash_block(void *state, const void *bytes, size_t n, uint64_t off)
{
	(void)off;
	XXH3_64bits_update(state, bytes, n);
	return 0;
}

static void free_state(XXH3_state_t **state)
{
	XXH3_freeState(*state);
}

static int checksum(int fd, uint64_t size, const void *tail, size_t tail_size, uint64_t *ret)
{
	CLEANUP(free_state) XXH3_state_t *state = XXH3_createState();
	if (!state)
		return -ENOMEM;
	XXH3_64bits_reset(state);
	int err = read_blocks(fd, size, hash_block, state);
	if (err)
		return err;
	if (tail_size)
		XXH3_64bits_update(state, tail, tail_size);
	*ret = XXH3_64bits_digest(state);
	return 0;
}

/* ---- Writing ---- */

/* Writes @data at @end and advances that. */
static int append_span(int fd, struct span data, uint64_t *end)
{
	int err = write_all(fd, data.data, data.size, (off_t)*end);
	*end += data.size;
	return err;
}

int trailer_write(int fd, const char *key, uint64_t gsym_size, struct span notes, struct span inputs)
{
	const struct span name = {(const uint8_t *)key, strlen(key)};
	if (notes.size > NOTES_MAX || inputs.size > INPUTS_MAX || name.size >= CACHE_KEY_SIZE)
		return -EINVAL;
	uint8_t fields[TRAILER_SIZE];
	store64(fields, gsym_size, false);
	store64(fields + 8, notes.size, false);
	store64(fields + 16, inputs.size, false);
	store64(fields + 24, name.size, false);
	memcpy(fields + 32, magic, sizeof(magic));
	uint64_t sum = 0, end = gsym_size;
	int err = append_span(fd, notes, &end);
	if (!err)
		err = append_span(fd, inputs, &end);
	if (!err)
		err = append_span(fd, name, &end);
	if (!err)
		err = checksum(fd, end, fields, sizeof(fields) - CHECKSUM_SIZE, &sum);
	if (err)
		return err;
	store64(fields + 40, sum, false);
	return write_all(fd, fields, sizeof(fields), (off_t)end);
}

/* ---- Opening ---- */

static bool sizes_fit(const struct trailer *t, uint64_t body)
{
	if (t->notes_size > NOTES_MAX || t->inputs_size > INPUTS_MAX || t->key_size >= CACHE_KEY_SIZE)
		return false;
	uint64_t appended = t->notes_size + t->inputs_size + t->key_size;
	return appended <= body && t->gsym_size == body - appended;
}

static int trailer_read(int fd, uint64_t file_size, struct trailer *ret, struct gsym_diag *diag)
{
	uint8_t fields[TRAILER_SIZE];
	if (file_size < TRAILER_SIZE)
		return diag_set(diag, -EBADMSG, "truncated: %llu bytes are less than a trailer",
				(unsigned long long)file_size);
	int err = read_all(fd, fields, sizeof(fields), (off_t)(file_size - TRAILER_SIZE));
	if (err)
		return diag_set(diag, err, "cannot read the trailer: %s", strerror(-err));
	if (memcmp(fields + 32, magic, sizeof(magic)) != 0)
		return diag_set(diag, -EBADMSG, "no trailer: truncated, or of another version");
	struct trailer t = {load64(fields, false), load64(fields + 8, false), load64(fields + 16, false),
			    load64(fields + 24, false), load64(fields + 40, false)};
	if (!sizes_fit(&t, file_size - TRAILER_SIZE))
		return diag_set(diag, -EBADMSG,
				"corrupt: the sizes in the trailer do not match the file size");
	*ret = t;
	return 0;
}

static int check_key(int fd, const struct trailer *t, const char *key, struct gsym_diag *diag)
{
	char found[CACHE_KEY_SIZE] = "";
	int err = read_all(fd, found, (size_t)t->key_size,
			   (off_t)(t->gsym_size + t->notes_size + t->inputs_size));
	if (err)
		return diag_set(diag, err, "cannot read the key: %s", strerror(-err));
	if (strcmp(found, key) != 0)
		return diag_set(diag, -EBADMSG, "the entry '%s' under another name", found);
	return 0;
}

static int verify(int fd, uint64_t file_size, const char *key, struct trailer *ret, struct gsym_diag *diag)
{
	int err = trailer_read(fd, file_size, ret, diag);
	if (err)
		return err;
	uint64_t sum = 0;
	err = checksum(fd, file_size - CHECKSUM_SIZE, NULL, 0, &sum);
	if (err)
		return diag_set(diag, err, "cannot read: %s", strerror(-err));
	if (sum != ret->checksum)
		return diag_set(diag, -EBADMSG, "corrupt: checksum mismatch");
	return check_key(fd, ret, key, diag);
}

static int map(int fd, const struct trailer *t, struct handle *handle)
{
	uint64_t size = t->gsym_size + t->notes_size + t->inputs_size + t->key_size + TRAILER_SIZE;
	void *at = file_map(fd, size, MAP_SHARED);
	if (at == MAP_FAILED)
		return system_error(errno);
	handle->map_size = (size_t)size;
	handle->map = at;
	handle->gsym = (struct span){at, (size_t)t->gsym_size};
	handle->notes = (struct span){handle->gsym.data + t->gsym_size, (size_t)t->notes_size};
	handle->inputs = (struct span){handle->notes.data + t->notes_size, (size_t)t->inputs_size};
	return 0;
}

static void handle_free(struct handle *handle)
{
	if (!handle)
		return;
	for (size_t i = 0; i < HANDLE_SLOTS; i++) {
		struct handle_slot *slot = &handle->slots[i];
		void *value = atomic_load(&slot->value);
		if (value)
			atomic_load (&slot->destroy)(value);
	}
	gsym_reader_close(handle->reader);
	if (handle->in_memory)
		atomic_fetch_sub(handle->in_memory, handle->map_size);
	if (handle->map)
		munmap(handle->map, handle->map_size);
	free(handle);
}

static void handle_freep(struct handle **handle)
{
	handle_free(*handle);
}

/*
 * Whether GSYM with @uuid may be the image that @key begins with. A truncated id (convert_types.h) is the
 * beginning of the image's, or that with zeros appended; an image without an id is named by a hash.
 */
static bool is_of_image(struct span uuid, const char *key)
{
	char text[CACHE_KEY_SIZE];
	uint8_t id[IMAGE_ID_MAX];
	const char *dash = strrchr(key, '-');
	snprintf(text, sizeof(text), "%.*s", (int)(dash ? dash - key : 0), key);
	size_t n = id_parse(text, id), common = uuid.size < n ? uuid.size : n;
	if (!n)
		return true;
	for (size_t i = common; i < uuid.size; i++)
		if (uuid.data[i])
			return false;
	return common && memcmp(id, uuid.data, common) == 0;
}

static int check_image(const struct handle *handle, const char *key, struct gsym_diag *diag)
{
	const struct gsym_info *info = gsym_reader_info(handle->reader);
	if (!is_of_image((struct span){info->uuid, info->uuid_size}, key))
		return diag_set(diag, -EBADMSG, "its UUID is not the id of the image");
	return 0;
}

struct open_reader {
	struct handle *handle;
	const char *key;
	struct gsym_diag *diag;
};

/*
 * One key has several results only because of other neighbours, whose states are in the inputs. Notes are
 * left out: they tell how long it took.
 */
static uint64_t stamp_of(const struct handle *handle)
{
	size_t n = handle->gsym.size < STAMPED_SIZE ? handle->gsym.size : STAMPED_SIZE;
	uint64_t stamp = XXH3_64bits_withSeed(handle->gsym.data, n, handle->gsym.size);
	stamp = XXH3_64bits_withSeed(handle->inputs.data, handle->inputs.size, stamp);
	return stamp ? stamp : 1;
}

static int open_reader(void *arg)
{
	struct open_reader *o = arg;
	notes_read_map(o->handle->notes, &o->handle->addresses);
	o->handle->stamp = stamp_of(o->handle);
	int err = gsym_reader_open_memory(o->handle->gsym.data, o->handle->gsym.size, &o->handle->reader,
					  o->diag);
	if (!err && o->handle->addresses.is_relative)
		o->handle->addresses.relative_end = reader_code_end(o->handle->reader);
	return err ? err : check_image(o->handle, o->key, o->diag);
}

static int open_checked(int fd, const struct stat *st, const char *key, struct handle **ret,
			struct gsym_diag *diag)
{
	struct trailer trailer;
	int err = verify(fd, (uint64_t)st->st_size, key, &trailer, diag);
	if (err)
		return err;
	CLEANUP(handle_freep) struct handle *handle = calloc(1, sizeof(*handle));
	if (!handle)
		return diag_set(diag, -ENOMEM, "no memory");
	atomic_init(&handle->refs, 1);
	handle->ino = st->st_ino;
	handle->pending = st->st_mode & CACHE_PENDING;
	err = map(fd, &trailer, handle);
	if (err)
		return diag_set(diag, err, "cannot map: %s", strerror(-err));
	struct open_reader o = {handle, key, diag};
	err = guard_run(open_reader, &o);
	if (err)
		return err == -EFAULT ? diag_set(diag, -EBADMSG, "truncated while it was read") : err;
	*ret = TAKE(handle);
	return 0;
}

int handle_open(int fd, const char *key, struct handle **ret, struct gsym_diag *diag)
{
	struct stat st;
	if (fstat(fd, &st))
		return diag_set(diag, system_error(errno), "%s: cannot stat: %s", key, strerror(errno));
	int err = open_checked(fd, &st, key, ret, diag);
	return err ? diag_prefix(diag, err, "%s", key) : 0;
}

struct key_copy {
	const struct handle *handle;
	char *to;
};

static int copy_key(void *arg)
{
	const struct key_copy *copy = arg;
	const struct handle *handle = copy->handle;
	const uint8_t *key = handle->inputs.data + handle->inputs.size;
	const uint8_t *end = (const uint8_t *)handle->map + handle->map_size - TRAILER_SIZE;
	invariant(end >= key && end - key < CACHE_KEY_SIZE);
	memcpy(copy->to, key, (size_t)(end - key));
	copy->to[end - key] = 0;
	return 0;
}

int handle_key(const struct handle *handle, char ret[static CACHE_KEY_SIZE])
{
	return handle_run(handle, copy_key, &(struct key_copy){handle, ret});
}

static int read_notes(int fd, const struct trailer *t, struct text_buf *notes)
{
	if (!text_reserve(notes, (size_t)t->notes_size))
		return -ENOMEM;
	int err = read_all(fd, notes->v + notes->n, (size_t)t->notes_size, (off_t)t->gsym_size);
	if (!err)
		notes->n += (size_t)t->notes_size;
	return err;
}

int handle_gsym_size(int fd, uint64_t size, uint64_t *ret, struct gsym_diag *diag)
{
	struct trailer trailer = {0};
	int err = trailer_read(fd, size, &trailer, diag);
	*ret = trailer.gsym_size;
	return err;
}

static int peek_trailer(int fd, const char *key, struct trailer *ret)
{
	struct stat st;
	int err = fstat(fd, &st) ? system_error(errno) : trailer_read(fd, (uint64_t)st.st_size, ret, NULL);
	return err ? err : check_key(fd, ret, key, NULL);
}

int handle_peek_functions(int fd, const char *key, uint32_t *ret)
{
	struct trailer trailer;
	uint8_t start[HEADER_START_SIZE];
	int err = peek_trailer(fd, key, &trailer);
	if (!err)
		err = trailer.gsym_size < sizeof(start) ? -EBADMSG : read_all(fd, start, sizeof(start), 0);
	if (!err)
		*ret = header_num_addresses(start);
	return err;
}

int handle_peek(int fd, const char *key, uint64_t *ret_size, struct text_buf *notes)
{
	struct trailer trailer;
	int err = peek_trailer(fd, key, &trailer);
	if (err)
		return err;
	*ret_size = trailer.gsym_size;
	return notes && trailer.notes_size ? read_notes(fd, &trailer, notes) : 0;
}

bool handle_attach(struct handle *handle, unsigned slot, void *value, void (*destroy)(void *value))
{
	void *none = NULL;
	atomic_store_explicit(&handle->slots[slot].destroy, destroy, memory_order_relaxed);
	return atomic_compare_exchange_strong(&handle->slots[slot].value, &none, value);
}

/* A file that was truncated lacks the magic number at its end. */
static int check_magic(void *arg)
{
	const struct handle *handle = arg;
	const uint8_t *end = (const uint8_t *)handle->map + handle->map_size;
	return memcmp(end - CHECKSUM_SIZE - sizeof(magic), magic, sizeof(magic)) ? -EFAULT : 0;
}

/*
 * Some machines read memory in another order than the program asks for: the magic number must not be read
 * before what an answer was made of.
 */
static void finish_reading(void)
{
#if !SANITIZER /* TSan knows no fences */
	atomic_thread_fence(memory_order_acquire);
#endif
}

int handle_check(const struct handle *handle)
{
	finish_reading();
	return guard_run(check_magic, (void *)handle);
}

int handle_run(const struct handle *handle, int (*work)(void *arg), void *arg)
{
	int err = guard_run(work, arg);
	return handle_check(handle) ? -EFAULT : err;
}

struct handle *handle_get(struct handle *handle)
{
	unsigned before = atomic_fetch_add_explicit(&handle->refs, 1, memory_order_relaxed);
	invariant(before > 0 && before < UINT_MAX);
	return handle;
}

void handle_put(struct handle *handle)
{
	if (!handle)
		return;
	unsigned before = atomic_fetch_sub_explicit(&handle->refs, 1, memory_order_acq_rel);
	invariant(before > 0);
	if (before == 1)
		handle_free(handle);
}

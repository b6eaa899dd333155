#include "fs/scan/index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "gsym/base/file_io.h"
#include "work/cache/cache_dir.h"
#include "work/cache/cache_temp.h"
#include "work/types/convert_revision.h"
#include "work/types/valid_name.h"
#include "gsym/base/cursor.h"
#include "gsym/base/invariant.h"
#include "gsym/base/vec.h"

static const uint8_t magic[8] = {'g', 's', 'y', 'm', 'f', 's', 'I', 'X'};

enum {
	REVISION = 16 << 16 | IDENTITY_REVISION,
	RECORD_MIN = 6 * 8 + 2 + 3,
	/* Of an image, its id, arch, name and Go's build id following: */
	IMAGE_KIND = 0,
	IMAGE_FLAGS,
	IMAGE_ID_SIZE,
	IMAGE_ARCH_SIZE,
	IMAGE_TITLE_SIZE,
	IMAGE_GO_ID_SIZE,
	IMAGE_HTLHASH,
	IMAGE_MIN = IMAGE_HTLHASH + HTLHASH_SIZE,
	IMAGE_MAX = IMAGE_MIN + 4 * UINT8_MAX,
	RECORD_MAX = RECORD_MIN + IDENTITIES_MAX * IMAGE_MAX + RECORD_REASON_MAX,
	CHECKSUM_SIZE = 8,
};

enum { READERS_KNOWN = 1 << 15 };

enum image_flags {
	FLAG_LOST = 1,
	FLAG_ID_IS_HASH = 2,
	FLAG_DWARF = 4,
	FLAG_SYMTAB = 8,
	FLAG_TEXT = 16,
	FLAG_GSYM = 32,
	FLAG_ID_IS_TRUNCATED = 64,
	FLAG_GO = 128,
};

/* No file is as large. */
static const uint64_t unknown_size = UINT64_MAX;

void record_forget(struct file_record *record)
{
	record->key.size = unknown_size;
	record->state = RECORD_IDENTIFIED;
	record->readers = 0;
}

bool record_set_readers(struct file_record *record, mode_t readers)
{
	invariant((readers & ~(mode_t)0444) == 0);
	if (file_key_unsettled(&record->key))
		return false;
	record->readers = (uint16_t)(READERS_KNOWN | readers);
	return true;
}

bool record_readers(const struct file_record *record, mode_t *ret)
{
	if (!(record->readers & READERS_KNOWN))
		return false;
	*ret = record->readers & 0444;
	return true;
}

static uint64_t key_hash(uint64_t dev, uint64_t ino)
{
	uint64_t both[2] = {dev, ino};
	return XXH3_64bits(both, sizeof(both));
}

struct file_record *index_find(const struct index *index, uint64_t dev, uint64_t ino)
{
	return TABLE_FIND(struct file_record, r, &index->files, key_hash(dev, ino),
			  r->key.dev == dev && r->key.ino == ino);
}

static struct file_record *add_record(struct index *index, const struct file_key *key)
{
	struct file_record *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->key = *key;
	if (table_add(&index->files, &r->table, key_hash(key->dev, key->ino))) {
		free(r);
		return NULL;
	}
	return r;
}

struct file_record *index_get(struct index *index, uint64_t dev, uint64_t ino)
{
	const struct file_key unknown = {.dev = dev, .ino = ino, .size = unknown_size};
	struct file_record *r = index_find(index, dev, ino);
	return r ? r : add_record(index, &unknown);
}

static void record_free(struct file_record *r)
{
	free(r->images);
	free(r);
}

void index_remove(struct index *index, uint64_t dev, uint64_t ino)
{
	struct file_record *r = index_find(index, dev, ino);
	if (!r)
		return;
	table_remove(&index->files, &r->table);
	record_free(r);
}

bool index_sweep(struct index *index, uint32_t pass)
{
	bool any = false;
	TABLE_EACH(struct file_record, r, &index->files) {
		if (r->pass == pass)
			continue;
		table_remove(&index->files, &r->table);
		record_free(r);
		any = true;
	}
	return any;
}

size_t index_count_images(const struct index *index)
{
	size_t n = 0;
	TABLE_EACH(struct file_record, r, &index->files)
		n += r->n_images;
	return n;
}

void index_deinit(struct index *index)
{
	TABLE_EACH(struct file_record, r, &index->files)
		record_free(r);
	table_deinit(&index->files);
}

/* ---- Writing ---- */

typedef VEC(uint8_t) bytes;

static void put(bytes *out, const void *data, size_t size)
{
	memcpy(out->v + out->n, data, size);
	out->n += size;
}

static void put64(bytes *out, uint64_t value)
{
	uint8_t b[8];
	store64(b, value, false);
	put(out, b, sizeof(b));
}

static void put8(bytes *out, uint8_t value)
{
	out->v[out->n++] = value;
}

static uint8_t flags_of(const struct image_identity *id)
{
	return (uint8_t)((id->id_is_hash ? FLAG_ID_IS_HASH : 0) |
			 (id->id_is_truncated ? FLAG_ID_IS_TRUNCATED : 0) | (id->has_dwarf ? FLAG_DWARF : 0) |
			 (id->has_symtab ? FLAG_SYMTAB : 0) | (id->has_text ? FLAG_TEXT : 0) |
			 (id->has_gsym ? FLAG_GSYM : 0) | (id->has_go ? FLAG_GO : 0) |
			 (id->has_lost ? FLAG_LOST : 0));
}

static size_t encode_image(uint8_t *out, const struct image_identity *id)
{
	size_t arch_size = strnlen(id->arch, sizeof(id->arch));
	size_t name_size = strnlen(id->name, sizeof(id->name) - 1);
	size_t go_id_size = strnlen(id->go_id, sizeof(id->go_id));
	out[IMAGE_KIND] = (uint8_t)id->kind;
	out[IMAGE_FLAGS] = flags_of(id);
	out[IMAGE_ID_SIZE] = (uint8_t)id->id_size;
	out[IMAGE_ARCH_SIZE] = (uint8_t)arch_size;
	out[IMAGE_TITLE_SIZE] = (uint8_t)name_size;
	out[IMAGE_GO_ID_SIZE] = (uint8_t)go_id_size;
	memcpy(out + IMAGE_HTLHASH, id->htlhash, HTLHASH_SIZE);
	out += IMAGE_MIN;
	memcpy(out, id->id, id->id_size);
	memcpy(out + id->id_size, id->arch, arch_size);
	memcpy(out + id->id_size + arch_size, id->name, name_size);
	memcpy(out + id->id_size + arch_size + name_size, id->go_id, go_id_size);
	return IMAGE_MIN + id->id_size + arch_size + name_size + go_id_size;
}

/* Takes over @images. */
static void replace_images(struct file_record *r, uint8_t *images, size_t n)
{
	free(r->images);
	r->images = images;
	r->n_images = (uint8_t)n;
	r->reason_size = 0;
}

int record_set_images(struct file_record *r, const struct image_identity *images, size_t n)
{
	uint8_t packed[IDENTITIES_MAX * IMAGE_MAX];
	size_t size = 0;
	for (size_t i = 0; i < n; i++)
		size += encode_image(packed + size, &images[i]);
	uint8_t *copy = n ? malloc(size) : NULL;
	if (n && !copy)
		return -ENOMEM;
	if (n)
		memcpy(copy, packed, size);
	replace_images(r, copy, n);
	return 0;
}

static size_t packed_size(const uint8_t *image)
{
	return IMAGE_MIN + (size_t)image[IMAGE_ID_SIZE] + image[IMAGE_ARCH_SIZE] + image[IMAGE_TITLE_SIZE] +
	       image[IMAGE_GO_ID_SIZE];
}

static size_t images_size(const struct file_record *r)
{
	size_t size = 0;
	for (size_t i = 0; i < r->n_images; i++)
		size += packed_size(r->images + size);
	return size;
}

int record_set_reason(struct file_record *r, const char *reason)
{
	size_t size = images_size(r), n = strnlen(reason, RECORD_REASON_MAX);
	uint8_t *images = n ? realloc(r->images, size + n) : NULL;
	if (n && !images)
		return -ENOMEM;
	if (n) {
		r->images = images;
		memcpy(images + size, reason, n);
	}
	r->reason_size = (uint8_t)n;
	return 0;
}

void record_reason(const struct file_record *r, char ret[static RECORD_REASON_MAX + 1])
{
	if (r->reason_size)
		memcpy(ret, r->images + images_size(r), r->reason_size);
	ret[r->reason_size] = 0;
}

static int encode_record(bytes *out, const struct file_record *r)
{
	bool hashing = r->state == RECORD_HASHING;
	size_t size = images_size(r) + r->reason_size;
	if (vec_reserve(out, RECORD_MIN + size))
		return -ENOMEM;
	put64(out, r->key.dev);
	put64(out, r->key.ino);
	put64(out, hashing ? unknown_size : r->key.size);
	put64(out, (uint64_t)r->key.mtime_ns);
	put64(out, (uint64_t)r->key.ctime_ns);
	put64(out, (uint64_t)r->again);
	put8(out, (uint8_t)r->readers);
	put8(out, (uint8_t)(r->readers >> 8));
	put8(out, hashing ? RECORD_IDENTIFIED : r->state);
	put8(out, r->n_images);
	put8(out, r->reason_size);
	if (size)
		put(out, r->images, size);
	return 0;
}

typedef VEC(const struct file_record *) record_vec;

static int by_order(const void *a, const void *b)
{
	const struct file_record *x = *(const struct file_record *const *)a;
	const struct file_record *y = *(const struct file_record *const *)b;
	return COMPARE(x->order, y->order);
}

/*
 * In the order of the last walk: the next mount allocates records in this order, so its walk reads them
 * sequentially from memory.
 */
static int list_records(const struct index *index, unsigned root, record_vec *ret)
{
	if (vec_reserve(ret, index->files.n))
		return -ENOMEM;
	TABLE_EACH(struct file_record, r, &index->files)
		if (r->root == root)
			ret->v[ret->n++] = r;
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_order);
	return 0;
}

static int encode_records(bytes *out, const struct index *index, unsigned root)
{
	record_vec records = {0};
	int err = list_records(index, root, &records);
	if (!err)
		put64(out, records.n);
	for (size_t i = 0; i < records.n && !err; i++)
		err = encode_record(out, records.v[i]);
	vec_free(&records);
	return err;
}

static int encode_all(bytes *out, const struct index *index, unsigned root)
{
	if (vec_reserve(out, INDEX_HEADER_SIZE))
		return -ENOMEM;
	uint8_t revision[8] = {0};
	store32(revision, REVISION, false);
	put(out, magic, sizeof(magic));
	put(out, revision, sizeof(revision));
	if (encode_records(out, index, root) || vec_reserve(out, CHECKSUM_SIZE))
		return -ENOMEM;
	put64(out, XXH3_64bits(out->v, out->n));
	return 0;
}

int index_encode(const struct index *index, unsigned root, void **ret_data, size_t *ret_size)
{
	bytes out = {0};
	int err = encode_all(&out, index, root);
	if (err) {
		vec_free(&out);
		return err;
	}
	*ret_data = out.v;
	*ret_size = out.n;
	return 0;
}

/* ---- Reading ---- */

static int decode_image(struct cursor *c, struct image_identity *id)
{
	uint8_t kind = cursor_u8(c), flags = cursor_u8(c), id_size = cursor_u8(c), arch_size = cursor_u8(c);
	uint8_t name_size = cursor_u8(c), go_id_size = cursor_u8(c);
	const uint8_t *htlhash = cursor_take(c, HTLHASH_SIZE);
	const uint8_t *id_bytes = cursor_take(c, id_size), *arch = cursor_take(c, arch_size);
	const uint8_t *name = cursor_take(c, name_size), *go_id = cursor_take(c, go_id_size);
	if (!cursor_ok(c) || kind == IMAGE_OTHER || kind > IMAGE_KIND_LAST || id_size == 0 ||
	    id_size > sizeof(id->id) || arch_size >= sizeof(id->arch) || go_id_size >= sizeof(id->go_id))
		return -EBADMSG;
	*id = (struct image_identity){
		.kind = (enum image_kind)kind,
		.id_size = id_size,
		.id_is_hash = flags & FLAG_ID_IS_HASH,
		.id_is_truncated = flags & FLAG_ID_IS_TRUNCATED,
		.has_dwarf = flags & FLAG_DWARF,
		.has_symtab = flags & FLAG_SYMTAB,
		.has_text = flags & FLAG_TEXT,
		.has_gsym = flags & FLAG_GSYM,
		.has_go = flags & FLAG_GO,
		.has_lost = flags & FLAG_LOST,
	};
	memcpy(id->id, id_bytes, id_size);
	memcpy(id->arch, arch, arch_size);
	memcpy(id->htlhash, htlhash, HTLHASH_SIZE);
	memcpy(id->go_id, go_id, go_id_size);
	memcpy(id->name, name, name_size);
	return !name_size || (strlen(id->name) == name_size && image_name_valid(id->name)) ? 0 : -EBADMSG;
}

void record_image(const struct file_record *record, size_t number, struct image_identity *ret)
{
	const uint8_t *at = record->images;
	invariant(number < record->n_images);
	for (size_t i = 0; i < number; i++)
		at += packed_size(at);
	struct cursor c = cursor_new(at, packed_size(at), false);
	int err = decode_image(&c, ret);
	invariant(!err); /* it was checked when it was read */
	(void)err;
}

static int decode_images(struct cursor *c, struct file_record *r)
{
	struct image_identity image;
	int64_t again = (int64_t)cursor_u64(c);
	uint16_t readers = cursor_u16(c);
	uint8_t state = cursor_u8(c), n = cursor_u8(c), reason_size = cursor_u8(c);
	struct cursor images = *c;
	size_t left = cursor_left(c);
	if (!cursor_ok(c) || state > RECORD_STATE_LAST || n > IDENTITIES_MAX ||
	    reason_size > RECORD_REASON_MAX || (readers & ~(READERS_KNOWN | 0444)))
		return -EBADMSG;
	for (size_t i = 0; i < n; i++)
		if (decode_image(c, &image))
			return -EBADMSG;
	cursor_skip(c, reason_size);
	if (!cursor_ok(c))
		return -EBADMSG;
	size_t size = left - cursor_left(c);
	uint8_t *copy = size ? malloc(size) : NULL;
	if (size && !copy)
		return -ENOMEM;
	if (size)
		memcpy(copy, cursor_take(&images, size), size);
	r->again = again;
	r->state = state;
	r->readers = readers;
	replace_images(r, copy, n);
	r->reason_size = reason_size;
	return 0;
}

static int decode_record(struct index *index, struct cursor *c)
{
	struct file_key key;
	key.dev = cursor_u64(c);
	key.ino = cursor_u64(c);
	key.size = cursor_u64(c);
	key.mtime_ns = (int64_t)cursor_u64(c);
	key.ctime_ns = (int64_t)cursor_u64(c);
	if (!cursor_ok(c))
		return -EBADMSG;
	/* Not searched for one of the same file: two would be found as one, the later, and swept as two. */
	struct file_record *r = add_record(index, &key);
	if (!r)
		return -ENOMEM;
	r->order = (uint32_t)index->files.n;
	return decode_images(c, r);
}

/* Takes the header; -EBADMSG for one that is not of this revision. */
static int decode_header(struct cursor *c, uint64_t *ret_count)
{
	const uint8_t *m = cursor_take(c, sizeof(magic));
	uint32_t revision = cursor_u32(c);
	cursor_skip(c, 4);
	*ret_count = cursor_u64(c);
	return cursor_ok(c) && memcmp(m, magic, sizeof(magic)) == 0 && revision == REVISION ? 0 : -EBADMSG;
}

int index_check_header(struct span header, uint64_t file_size)
{
	struct cursor c = cursor_new(header.data, header.size, false);
	uint64_t count;
	if (decode_header(&c, &count) || file_size > INDEX_SIZE_MAX ||
	    file_size < INDEX_HEADER_SIZE + CHECKSUM_SIZE)
		return -EBADMSG;
	uint64_t records = file_size - INDEX_HEADER_SIZE - CHECKSUM_SIZE;
	return count <= records / RECORD_MIN && records <= count * RECORD_MAX ? 0 : -EBADMSG;
}

static int decode_all(struct index *index, struct cursor *c)
{
	uint64_t count;
	if (decode_header(c, &count) || !cursor_can_hold(c, count, RECORD_MIN))
		return -EBADMSG;
	if (table_reserve(&index->files, count))
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		int err = decode_record(index, c);
		if (err)
			return err;
	}
	return cursor_left(c) == 0 ? 0 : -EBADMSG;
}

int index_decode(struct index *index, struct span data)
{
	if (data.size < INDEX_HEADER_SIZE + CHECKSUM_SIZE)
		return -EBADMSG;
	size_t body = data.size - CHECKSUM_SIZE;
	if (XXH3_64bits(data.data, body) != load64(data.data + body, false))
		return -EBADMSG;
	struct cursor c = cursor_new(data.data, body, false);
	int err = decode_all(index, &c);
	if (err)
		index_deinit(index);
	return err;
}

void index_merge(struct index *index, struct index *part, unsigned root)
{
	bool empty = !index->files.n;
	table_reserve(&index->files, index->files.n + part->files.n);
	TABLE_EACH(struct file_record, r, &part->files) {
		r->root = (uint8_t)root;
		table_remove(&part->files, &r->table);
		if ((!empty && index_find(index, r->key.dev, r->key.ino)) ||
		    table_add(&index->files, &r->table, r->table.hash))
			record_free(r);
	}
	index_deinit(part);
}

/* ---- On disk ---- */

enum { INDEX_NAME_SIZE = 40 };

static void index_file_name(char name[INDEX_NAME_SIZE], const char *source)
{
	snprintf(name, INDEX_NAME_SIZE, CACHE_INDEX_PREFIX "%016llx",
		 (unsigned long long)XXH3_64bits(source, strlen(source)));
}

/* The whole file, if its beginning and its size are those of an index: nothing is allocated for another. */
static int read_index(int fd, uint8_t **ret_data, size_t *ret_size)
{
	uint8_t header[INDEX_HEADER_SIZE];
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	int err = read_all(fd, header, sizeof(header), 0);
	if (!err)
		err = index_check_header((struct span){header, sizeof(header)}, (uint64_t)st.st_size);
	if (err)
		return err;
	CLEANUP(freep) uint8_t *data = malloc((size_t)st.st_size);
	if (!data)
		return -ENOMEM;
	memcpy(data, header, sizeof(header));
	err = read_all(fd, data + sizeof(header), (size_t)st.st_size - sizeof(header), sizeof(header));
	if (err)
		return err;
	*ret_size = (size_t)st.st_size;
	*ret_data = TAKE(data);
	return 0;
}

static int load_index(struct index *index, int fd)
{
	CLEANUP(freep) uint8_t *data = NULL;
	size_t size = 0;
	int err = read_index(fd, &data, &size);
	return err ? err : index_decode(index, (struct span){data, size});
}

void index_load(struct index *index, unsigned root, const struct cache *cache, const char *source)
{
	struct index part = {0};
	char name[INDEX_NAME_SIZE];
	index_file_name(name, source);
	int fd = openat(cache->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return;
	int err = fd < 0 ? -errno : load_index(&part, fd);
	if (fd >= 0)
		close(fd);
	if (!err)
		index_merge(index, &part, root);
	if (err == -EBADMSG)
		log_warning(cache->log,
			    "cache: %s: corrupt or of another version; all files will be identified again",
			    name);
	else if (err)
		log_warning(cache->log, "cache: %s: cannot read: %s; all files will be identified again",
			    name, strerror(-err));
}

void index_save(const struct index *index, unsigned root, struct cache *cache, const char *source)
{
	CLEANUP(freep) void *data = NULL;
	size_t size = 0;
	char name[INDEX_NAME_SIZE];
	struct gsym_diag diag = {"no memory"};
	index_file_name(name, source);
	if (index_encode(index, root, &data, &size) || cache_write_file(cache, name, data, size, &diag))
		log_warning(cache->log, "%s; the next mount will identify all files again", diag.text);
}

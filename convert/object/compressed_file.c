/*
 * compressed_file.c - files that are compressed as a whole.
 *
 * The first bytes tell whether the file is wanted, so that archives among binaries cost one step each. The
 * mapping grows with what is inflated: the formats do not tell, or not truly, how much that will be.
 */
#include "convert/object/compressed_file.h"

#include "convert/object/inflate/inflater.h"
#include "work/types/memory_limit.h"
#include "gsym/base/vec.h"

#include <sys/mman.h>

enum {
	FIRST = 64 << 10,       /* bytes that are inflated before the rest */
	MODEST_SIZE = 64 << 20, /* up to this any ratio is accepted */
	MODEST_RATIO = 64,      /* debug data shrinks to a tenth */
};

struct compressed_format {
	const char *name;
	uint8_t magic[6];
	uint8_t magic_size;
	const struct inflater_kind *kind; /* NULL: not read */
};

static const struct compressed_format formats[] = {
	{"xz", {0xfd, '7', 'z', 'X', 'Z', 0}, 6, &inflater_xz},
	{"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, &inflater_zstd},
#ifdef HAVE_ISAL
	{"gzip", {0x1f, 0x8b, 8}, 3, &inflater_gzip},
#else
	{"gzip", {0x1f, 0x8b, 8}, 3, NULL},
#endif
	{"bzip2", {'B', 'Z', 'h'}, 3, NULL},
};

static const struct compressed_format *format_of(struct span file)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (file.size >= formats[i].magic_size &&
		    !memcmp(file.data, formats[i].magic, formats[i].magic_size))
			return &formats[i];
	return NULL;
}

const char *compressed_file_format(struct span file)
{
	const struct compressed_format *format = format_of(file);
	return format ? format->name : NULL;
}

uint64_t compressed_file_most(uint64_t size)
{
	uint64_t most = size > UINT64_MAX / MODEST_RATIO ? UINT64_MAX : size * MODEST_RATIO;
	return most > MODEST_SIZE ? most : MODEST_SIZE;
}

/* An anonymous mapping that grows. */
struct file_inflation {
	const struct inflater_kind *kind;
	void *inflater;
	uint8_t *v;
	size_t n, cap;
	uint64_t most;
};

static void inflation_deinit(struct file_inflation *f)
{
	if (f->inflater)
		f->kind->close(f->inflater);
	if (f->v)
		munmap(f->v, f->cap);
}

static int grow(struct file_inflation *f)
{
	if (f->cap > PTRDIFF_MAX / 2)
		return -ENOMEM;
	size_t cap = f->cap ? f->cap * 2 : FIRST;
	void *v = f->v ? mremap(f->v, f->cap, cap, MREMAP_MAYMOVE)
		       : mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (v == MAP_FAILED) {
		memory_limit_note(cap - f->cap);
		return -ENOMEM;
	}
	f->v = v;
	f->cap = cap;
	return 0;
}

/* Fills the mapping: 1 if more may follow, 0 at the end. */
static int fill_input(struct file_inflation *f)
{
	int64_t n = f->kind->inflate(f->inflater, f->v + f->n, f->cap - f->n);
	if (n < 0)
		return (int)n;
	f->n += (size_t)n;
	if (f->n > f->most)
		return -EFBIG;
	if (f->n == f->cap && !f->kind->ended(f->inflater))
		return 1;
	return f->kind->ended(f->inflater) ? 0 : -EBADMSG;
}

static int inflate_all(struct file_inflation *f, bool (*probe)(struct span first))
{
	int more = grow(f);
	if (!more)
		more = fill_input(f);
	/* Also damage in the first bytes leaves those before it. */
	bool first = more >= 0 || (more == -EBADMSG && f->n);
	if (first && probe && !probe((struct span){f->v, f->n}))
		return -ENOEXEC;
	while (more > 0) {
		more = grow(f);
		if (!more)
			more = fill_input(f);
	}
	return more;
}

unsigned compressed_file_memory(struct span file)
{
	const struct compressed_format *format = format_of(file);
	return format && format->kind ? format->kind->memory_mib : 0;
}

int compressed_file_inflate(struct span file, bool (*probe)(struct span first), uint64_t most,
			    struct span *ret)
{
	const struct compressed_format *format = format_of(file);
	CLEANUP(inflation_deinit) struct file_inflation f = {.most = most};
	if (!format || !format->kind)
		return -ENOTSUP;
	f.kind = format->kind;
	f.inflater = f.kind->open(file);
	int err = f.inflater ? inflate_all(&f, probe) : -ENOMEM;
	if (err)
		return err;
	if (!f.n)
		return -ENOEXEC;
	/* What is left over is less than a page, or half of the mapping. */
	void *v = mremap(f.v, f.cap, f.n, 0);
	if (v == MAP_FAILED)
		return -ENOMEM;
	*ret = (struct span){TAKE(f.v), f.n};
	return 0;
}

/*
 * section_stream.c - a section inflated by the inflater of its format. Steps have a fixed size, so that the
 * outcome does not depend on the number of threads.
 *
 * Pages that were given back are moved to where the next bytes go, a huge page at a time: so a section of any
 * size goes through the same few pages, which need neither be found nor cleared for each of its bytes, and
 * stay in the cache.
 */
#include "convert/object/object_file.h"

#include "convert/object/inflate/inflater.h"
#include "gsym/base/huge_pages.h"
#include "gsym/base/invariant.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum {
	STEP = 256 << 10,         /* bytes inflated at a time: they are read while they are in the cache */
	INPUT_RELEASED = 4 << 20, /* compressed bytes used between two calls of object_release() */
};

struct section_stream {
	const struct object_file *object;
	struct object_section *section;
	const struct inflater_kind *kind;
	void *inflater;
	uint64_t released;      /* compressed bytes given back to the system */
	uint64_t done;          /* bytes inflated */
	_Atomic uint64_t used;  /* bytes given back by section_stream_release() */
	uintptr_t moved, paged; /* addresses up to which pages were moved away, and are there to be written */
	int err;                /* of the step that failed: no other one will do better */
};

/* The inflater for @section, or NULL: it can, or had better, be inflated whole. */
static const struct inflater_kind *find_kind(const struct object_section *section)
{
#ifdef HAVE_ISAL
	if (section->compression == COMPRESSION_ZLIB)
		return &inflater_zlib;
#endif
	bool suits = section->compression == COMPRESSION_ZSTD && inflater_zstd_suits(section->raw);
	return suits ? &inflater_zstd : NULL;
}

int section_stream_open(const struct object_file *object, struct object_section *section,
			struct section_stream **ret)
{
	*ret = NULL;
	const struct inflater_kind *kind = find_kind(section);
	if (section->data.data || !kind || !section->full_size)
		return 0;
	struct section_stream *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct section_stream){.object = object, .section = section, .kind = kind};
	s->inflater = kind->open(section->raw);
	int err = s->inflater ? section_reserve(section) : -ENOMEM;
	if (err) {
		section_stream_close(s);
		return err;
	}
	uintptr_t start = (uintptr_t)section->data.data;
	s->moved = s->paged = (start + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
	huge_pages_advise((void *)start, section->data.size);
	*ret = s;
	return 0;
}

void section_stream_close(struct section_stream *stream)
{
	if (!stream)
		return;
	const struct span data = stream->section->data;
	if (data.data) /* it may be unloaded */
		(void)madvise((void *)(uintptr_t)data.data, data.size, MADV_DONTNEED);
	if (stream->inflater)
		stream->kind->close(stream->inflater);
	free(stream);
}

/* ---- Pages ---- */

/*
 * Moves a huge page that is not used any more to @to; a kernel that cannot leaves @to as it is, and the page
 * is given back. 0; -ENOMEM after a failure that may have unmapped @to, where another thread may map since.
 */
static int move_page(uintptr_t from, uintptr_t to)
{
	const int how = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
	if (mremap((void *)from, HUGE_PAGE, HUGE_PAGE, how, (void *)to) != MAP_FAILED)
		return 0;
	bool unchanged = errno == EINVAL || errno == ENOSYS || errno == EPERM;
	(void)madvise((void *)from, HUGE_PAGE, MADV_DONTNEED);
	return unchanged ? 0 : -ENOMEM;
}

/* Provides pages for the next @size bytes; what is not moved there is new. 0 or -ENOMEM. */
static int provide_pages(struct section_stream *s, uint64_t size)
{
	const struct span data = s->section->data;
	uintptr_t start = (uintptr_t)data.data, end = start + s->done + size;
	uintptr_t used = start + atomic_load_explicit(&s->used, memory_order_acquire);
	for (; s->paged < end; s->paged += HUGE_PAGE) {
		if (used < s->moved + HUGE_PAGE || start + data.size - s->paged < HUGE_PAGE)
			continue;
		if (move_page(s->moved, s->paged))
			return -ENOMEM;
		s->moved += HUGE_PAGE;
	}
	return 0;
}

/* ---- Inflating ---- */

/* Gives the compressed bytes that were used back to the system. */
static void release_used(struct section_stream *s)
{
	uint64_t used = s->kind->used(s->inflater);
	if (used - s->released < INPUT_RELEASED)
		return;
	object_release(s->object, s->section->raw, s->released, used);
	s->released = used;
}

/*
 * What the inflater's @err means for the section: one that takes too much memory is of no more use than a
 * damaged one.
 */
static int section_error(int64_t err)
{
	return err == -E2BIG ? -EBADMSG : (int)err;
}

/* Whether the compressed bytes end where the section does. 0, -EBADMSG or -ENOMEM. */
static int check_end(struct section_stream *s)
{
	uint8_t beyond;
	int64_t more = s->kind->ended(s->inflater) ? 0 : s->kind->inflate(s->inflater, &beyond, 1);
	if (more < 0)
		return section_error(more);
	return !more && s->kind->ended(s->inflater) ? 0 : -EBADMSG;
}

static int step(struct section_stream *s)
{
	const struct span data = s->section->data;
	uint64_t left = data.size - s->done;
	uint64_t size = left < STEP ? left : STEP;
	if (provide_pages(s, size))
		return -ENOMEM;
	int64_t n = s->kind->inflate(s->inflater, (uint8_t *)(uintptr_t)data.data + s->done, size);
	if (n < 0)
		return section_error(n);
	if ((uint64_t)n != size)
		return -EBADMSG;
	s->done += size;
	return s->done == data.size ? check_end(s) : 0;
}

int section_stream_step(struct section_stream *stream, uint64_t *ret)
{
	if (!stream->err)
		stream->err = step(stream);
	if (stream->err)
		return stream->err;
	release_used(stream);
	*ret = stream->done;
	return 0;
}

void section_stream_release(struct section_stream *stream, uint64_t to)
{
	uint64_t used = atomic_load_explicit(&stream->used, memory_order_relaxed);
	invariant(to <= stream->section->data.size);
	while (used < to && !atomic_compare_exchange_weak_explicit(
				    &stream->used, &used, to, memory_order_release, memory_order_relaxed))
		;
}

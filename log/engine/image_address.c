#include "log/engine/pending_stack.h"

#include "gsym/base/address.h"

static bool next_segment(const struct filter_images *images, const struct filter_image *image, size_t i,
			 struct filter_segment *ret)
{
	return images->segment && images->segment(images->user, image, i, ret);
}

bool image_address_in_file(const struct filter_images *images, const struct filter_image *image,
			   uint64_t offset, uint64_t *ret)
{
	struct filter_segment s;
	for (size_t i = 0; next_segment(images, image, i, &s); i++)
		if (offset >= s.off && offset - s.off < s.size)
			return !__builtin_add_overflow(s.addr, offset - s.off, ret);
	return false;
}

/* Whether @segment is mapped to @size bytes, on a machine with pages of that size. */
static bool is_mapped_to(const struct filter_segment *segment, uint64_t page, uint64_t size)
{
	uint64_t start = segment->addr % page;
	return start + segment->size >= segment->size &&
	       (start + segment->size + page - 1) / page == size / page && size % page == 0;
}

static bool is_in_function(const struct filter_image *image, uint64_t address)
{
	struct gsym_answer answer = {.n_frames = 0};
	int err = gsym_lookup(image->reader, address, &answer, NULL);
	gsym_answer_deinit(&answer);
	return !err;
}

/* Whether @address, and no other address that has been found before, is in a function. */
static bool is_only(const struct filter_image *image, uint64_t address, bool *found, uint64_t *ret)
{
	if (!is_in_function(image, address) || (*found && *ret == address))
		return true;
	bool first = !*found;
	*ret = address;
	*found = true;
	return first;
}

/*
 * perf writes offsets in the file, older and newer versions addresses in memory. Those are what a mapping
 * tells, or link-time addresses of a program that is always loaded at the same place.
 */
static bool from_perf(const struct filter_images *images, const struct filter_image *image,
		      const struct log_frame *frame, uint64_t *ret)
{
	uint64_t address;
	bool found = false;
	if (image_address_in_file(images, image, frame->address, &address) &&
	    !is_only(image, address, &found, ret))
		return false;
	if (image_address_in_file(images, image, frame->mapped, &address) &&
	    !is_only(image, address, &found, ret))
		return false;
	bool may_be_fixed = image->base && frame->address >= image->base;
	return (!may_be_fixed || is_only(image, frame->address, &found, ret)) && found;
}

/*
 * The stacks that BPF programs collect have build ids and offsets in the file (struct bpf_stack_build_id), as
 * lines of the same look have link-time addresses.
 */
static uint64_t from_bpf(const struct filter_images *images, const struct filter_image *image,
			 uint64_t number)
{
	uint64_t address;
	return image_address_in_file(images, image, number, &address) && is_in_function(image, address)
		       ? address
		       : number;
}

/*
 * Segments tell not whether they are code, but the functions in them do. The size in memory has to be that of
 * the segment, which also shows most other builds.
 */
static bool from_code(const struct filter_images *images, const struct filter_image *image,
		      const struct log_frame *frame, uint64_t *ret)
{
	static const uint64_t pages[] = {0x1000, 0x4000, 0x10000};
	struct filter_segment s;
	bool found = false;
	for (size_t k = 0; k < ARRAY_SIZE(pages) && !found; k++) {
		for (size_t i = 0; next_segment(images, image, i, &s); i++) {
			uint64_t address = s.addr - s.addr % pages[k] + frame->address;
			if (is_mapped_to(&s, pages[k], frame->code_size) &&
			    !is_only(image, address, &found, ret))
				return false;
		}
	}
	return found;
}

bool image_address_is_ambiguous(const struct filter_images *images, const struct filter_image *image,
				const struct log_frame *frame, uint64_t taken)
{
	uint64_t other = frame->address;
	bool is_offset = frame->space == FRAME_RVA || taken == other; /* in the file, if it is not as taken */
	if (!frame->beside_id || (is_offset && !image_address_in_file(images, image, frame->address, &other)))
		return false;
	return other != taken && is_in_function(image, other);
}

bool image_address_lacks_segments(const struct filter_images *images, const struct filter_image *image,
				  enum frame_space space)
{
	struct filter_segment first;
	return (space == FRAME_FILE || space == FRAME_PERF || space == FRAME_CODE) &&
	       !next_segment(images, image, 0, &first);
}

bool image_address_of(const struct filter_images *images, const struct filter_image *image,
		      const struct log_frame *frame, uint64_t *ret)
{
	switch ((enum frame_space)frame->space) {
	case FRAME_NAME:
	case FRAME_MANGLED: *ret = frame->address; return true;
	case FRAME_LINK: *ret = address_from_usual_base(frame->address, image->relative_end); return true;
	case FRAME_FIXED: *ret = frame->address; return image->base;
	case FRAME_RVA: return !__builtin_add_overflow(frame->address, image->base, ret);
	case FRAME_FILE: return image_address_in_file(images, image, frame->address, ret);
	case FRAME_BPF:
		*ret = from_bpf(images, image, address_from_usual_base(frame->address, image->relative_end));
		return true;
	case FRAME_PERF: return from_perf(images, image, frame, ret);
	case FRAME_CODE: break;
	}
	return from_code(images, image, frame, ret);
}

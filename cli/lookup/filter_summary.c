#include "cli/lookup/filter_summary.h"

#include <inttypes.h>

#include "cli/command/message.h"

static bool is_of_other_build(const struct filter_unexplained *frame)
{
	return frame->cause == FILTER_OTHER_BUILD || frame->cause == FILTER_REJECTED;
}

static void report_build(const struct filter_unexplained *frame)
{
	bool rejected = frame->cause == FILTER_REJECTED;
	if (!frame->logged_size) {
		complain("%s: the log is of another build: %s, too, starts elsewhere in the image; all its "
			 "frames are left as they are while others do",
			 frame->module.name, frame->symbol);
		return;
	}
	complain("%s: the log %s of another build: %s%s has 0x%" PRIx64 " bytes there, 0x%" PRIx64
		 " in the image; %s left as they are",
		 frame->module.name, rejected ? "is" : "seems to be", frame->symbol, rejected ? ", too," : "",
		 frame->logged_size, frame->image_size,
		 rejected ? "all its frames from here on are" : "such frames are");
}

void filter_report_builds(const struct filter *filter, size_t *reported)
{
	const struct filter_unexplained *v;
	size_t n = filter_unexplained(filter, &v);
	for (; *reported < n; (*reported)++)
		if (is_of_other_build(&v[*reported]))
			report_build(&v[*reported]);
}

/* ---- Summary ---- */

static const char *reason_of(const struct filter_unexplained *frame, const struct image_files *images)
{
	bool mounted = images->mount;
	switch (frame->cause) {
	case FILTER_NO_IMAGE:
		if (images->refused.n)
			return "not found, but not all of the mount could be read, see above";
		if (frame->module.id[0])
			return mounted ? "not mounted; add the file with this id to SOURCE"
				       : "no FILE has this id; give the GSYM file of that build, or --mount";
		return mounted ? "the log has no id, and nothing has this name; add the file to SOURCE"
			       : "the log has no id, and no FILE has this name; give that object file or its "
				 "GSYM file";
	case FILTER_NO_ID:
		return "the log has no id; give --by-name if the mount has the build that wrote the log";
	case FILTER_AMBIGUOUS:
		return "the log has no id, and several builds have this name; give the GSYM file of the "
		       "right one";
	case FILTER_NO_MAPPING:
		return "nothing tells what was there in memory; give --maps, --pid, --core or --base";
	case FILTER_NO_FUNCTION:
		return "not in a function of the image; another build may have written the log";
	case FILTER_SEVERAL: return "several functions of the image have the name in the log";
	case FILTER_NO_SEGMENTS:
		return "the log has offsets in the file, which GSYM alone cannot translate; give the program "
		       "or --mount";
	case FILTER_OTHER_FUNCTION:
		return "of another build: the function that the log names is elsewhere in the image; give "
		       "the build that wrote the log";
	case FILTER_OTHER_BUILD: return "of another build: the function's size differs";
	case FILTER_REJECTED: break;
	}
	return frame->logged_size ? "of another build: the sizes of other functions differ"
				  : "of another build: other functions that the log names start elsewhere";
}

static void tell_module(const struct filter_unexplained *frame, const struct image_files *images)
{
	const struct filter_module *module = &frame->module;
	bool both = module->name[0] && module->id[0];
	/* The frame whose size led to the rejection is among those of another size, too. */
	uint64_t n = frame->n_frames - (frame->cause == FILTER_REJECTED && frame->logged_size);
	if (!n)
		return;
	complain("%s%s%s%s%s: %" PRIu64 " frame%s not explained: %s",
		 module->name[0] || module->id[0] ? "" : "addresses", module->name, both ? " (" : "",
		 module->id, both ? ")" : "", n, n == 1 ? "" : "s", reason_of(frame, images));
}

void filter_tell_summary(const struct filter *filter, const struct image_files *images)
{
	const struct filter_counts counts = filter_count(filter);
	const struct filter_unexplained *v;
	size_t n = filter_unexplained(filter, &v);
	if (!counts.met) {
		complain("no frames found: no line of the log names a module and an offset in it");
		return;
	}
	complain("%" PRIu64 " of %" PRIu64 " frames explained", counts.found, counts.met);
	for (size_t i = 0; i < n; i++)
		tell_module(&v[i], images);
}

/*
 * unexplained.h - what a filter left as it is although the log names its image, and why: one entry for each
 * module and cause, with the first frame as the example. Front ends tell their users from it.
 */
#ifndef LOG_ENGINE_UNEXPLAINED_H
#define LOG_ENGINE_UNEXPLAINED_H

#include "gsym/base/vec.h"
#include "log/line/filter_types.h"

enum { UNEXPLAINED_MAX = 256 }; /* entries; frames of further modules are not listed */

struct unexplained_list {
	VEC(struct filter_unexplained) entries; /* in the order of their first frames */
};

/*
 * Counts a frame, in the entry of its module and cause or in a new one.
 *
 * @list:   the entries
 * @frame:  module, cause, and the example if it is the first; its n_frames is not read
 *
 * 0 or -ENOMEM.
 */
int unexplained_add(struct unexplained_list *list, const struct filter_unexplained *frame);

void unexplained_deinit(struct unexplained_list *list);
size_t unexplained_memory(const struct unexplained_list *list);

#endif

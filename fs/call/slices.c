#include "fs/call/slices.h"

#include "fs/call/call.h"
#include "fs/call/runners.h"
#include "fs/sys/slice.h"

void slices_begin(struct slices *slices, const struct call *call)
{
	slices->until = time_after(call->on_runner ? WORK_SLICE_MS : FUSE_SLICE_MS);
}

bool slices_are_late(const struct slices *slices)
{
	return time_now() >= slices->until;
}

int call_in_slices(struct call *call, struct slices *slices, int (*step)(void *work, struct call *call),
		   void *work)
{
	bool may_take_long = call->on_runner;
	if (!may_take_long && (slices->slow || !runners_hold(call->runners)))
		return call_hand_over(call);
	slices_begin(slices, call);
	int err = step(work, call);
	if (!may_take_long)
		runners_release(call->runners);
	return err == SLICE_USED_UP ? call_hand_over(call) : err;
}

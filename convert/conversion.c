#include "convert/conversion.h"

void conversion_report(struct conversion *c, const struct convert_progress *progress)
{
	const struct convert_options *o = c->options;
	if (o->progress && o->progress(o->progress_user, progress))
		atomic_store(&c->cancelled, true);
}

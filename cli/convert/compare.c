#include "cli/convert/compare.h"

#include "cli/convert/isolate.h"
#include "cli/command/message.h"
#include "cli/convert/summary.h"

#include <errno.h>

static int step(void *user)
{
	const struct comparison *c = user;
	struct gsym_diag diag = {0};
	struct verify_report report;
	int err = verify_against(c->input, c->reader, &c->options, &report, &diag);
	if (err == -ENODATA && c->dwarf_optional) {
		complain("%s", diag.text);
		return STATUS_OK;
	}
	if (err)
		return fail(c->input, err, &diag);
	bool differ = verify_differences(&report) > 0;
	if (differ || !c->quiet)
		summary_print_report(c->file, c->input, &report);
	return differ ? STATUS_FAILED : STATUS_OK;
}

int compare(struct comparison *comparison)
{
	return isolate(step, comparison, "comparison by libdwarf");
}

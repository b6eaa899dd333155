/* A build without shared stores (-Dstore=disabled): none is opened. */
#include <errno.h>

#include "gsym/base/diag.h"
#include "store/share/share.h"

int share_open(const struct share_options *options, const char *program, int stop_fd, struct cache *cache,
	       const struct log *log, struct share **ret, struct gsym_diag *diag)
{
	(void)program, (void)stop_fd, (void)cache, (void)log, (void)ret;
	return diag_set(diag, -ENOTSUP,
			"shared store '%s': this build has no shared stores: it needs libsodium and libcurl",
			options->store.address);
}

/* Of no converter: none is opened. */
const struct result_store share_store = {.take = NULL};

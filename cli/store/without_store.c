/* A build without shared stores (-Dstore=disabled): its options are known, and refused. */
#include "cli/command/message.h"
#include "cli/store/convert_shared.h"
#include "cli/store/store_command.h"

static int refuse(void)
{
	complain("this build has no shared stores: it needs libsodium and libcurl");
	return STATUS_FAILED;
}

#define REFUSED(action)                                                   \
	int action(const struct store_command *c, int n, char **operands) \
	{                                                                 \
		(void)c, (void)n, (void)operands;                         \
		return refuse();                                          \
	}

REFUSED(store_keygen)
REFUSED(store_get)
REFUSED(store_put)
REFUSED(store_list)
REFUSED(store_prune)
REFUSED(store_verify)

int convert_shared(const struct convert_shared *c)
{
	(void)c;
	return refuse();
}

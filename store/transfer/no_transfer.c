/* A build without shared stores (-Dstore=disabled): no client asks for the process that transfers. */
#include "store/transfer/store_child.h"

int work_store(void)
{
	return 1;
}

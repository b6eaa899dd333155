/* The records of a Breakpad file, behind a good MODULE record. */
#include "whole.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char module[] = "MODULE Linux x86_64 3322110055447766889900AABBCCDDEE0 prog\n";
	uint8_t *file = malloc(sizeof(module) - 1 + size);
	if (!file)
		return 0;
	memcpy(file, module, sizeof(module) - 1);
	if (size)
		memcpy(file + sizeof(module) - 1, data, size);
	convert_whole(file, sizeof(module) - 1 + size);
	free(file);
	return 0;
}

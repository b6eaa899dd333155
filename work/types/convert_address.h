/* convert_address.h - addresses that are asked for, before they are resolved. */
#ifndef WORK_TYPES_CONVERT_ADDRESS_H
#define WORK_TYPES_CONVERT_ADDRESS_H

#include <stdint.h>

/* What an address that is asked counts from. */
enum address_origin {
	ADDRESS_LINKED,    /* as the image was linked */
	ADDRESS_FROM_BASE, /* from its image base */
	ADDRESS_IN_FILE,   /* an offset in the file with its code */
	ADDRESS_ORIGINS,
};

struct convert_address {
	uint64_t value;
	enum address_origin origin;
};

#endif

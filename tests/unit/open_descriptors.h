/* open_descriptors.h - counts open files, for tests of what is left open. */
#ifndef TESTS_UNIT_OPEN_DESCRIPTORS_H
#define TESTS_UNIT_OPEN_DESCRIPTORS_H

#include <fcntl.h>

/* Of the lowest 256 numbers. */
static inline unsigned count_open_descriptors(void)
{
	unsigned n = 0;
	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

#endif

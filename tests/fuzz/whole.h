/*
 * whole.h - a file through the whole converter, for targets that are about what it reads. What comes out must
 * be GSYM that our reader accepts whole, and the same for two threads as for one.
 */
#ifndef TESTS_FUZZ_WHOLE_H
#define TESTS_FUZZ_WHOLE_H

#include <stddef.h>
#include <stdint.h>

/* Ends the program when it is not so. */
void convert_whole(const uint8_t *data, size_t size);

#endif

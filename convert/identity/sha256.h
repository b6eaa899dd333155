/* sha256.h - SHA-256 (FIPS 180-4) of a few kilobytes, for ids that other tools made with it. */
#ifndef CONVERT_IDENTITY_SHA256_H
#define CONVERT_IDENTITY_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_SIZE = 32 };

void sha256(const void *data, size_t size, uint8_t ret[static SHA256_SIZE]);

#endif

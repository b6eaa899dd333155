/* address.h - addresses as people and tools write them. */
#ifndef GSYM_BASE_ADDRESS_H
#define GSYM_BASE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads all @size bytes of @text as an address: hexadecimal, with or without "0x", in either case, leading
 * zeros allowed. False for anything else and for what does not fit 64 bits.
 */
bool address_parse(const char *text, size_t size, uint64_t *ret);

/*
 * Parses the line that @text begins with: how many bytes it takes, newline included. 0 when it is not just
 * an address of at most 16 digits and a newline; the caller then decides with address_parse().
 */
size_t address_line(const char *text, size_t size, uint64_t *ret);

#endif

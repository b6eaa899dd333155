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
 * The same for a line, which @text begins with: how many bytes it takes with its newline. 0 for one that has
 * more than an address, too many digits to be told at once, or no newline: which is no judgement.
 */
size_t address_line(const char *text, size_t size, uint64_t *ret);

#endif

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

/*
 * Whether the @n hexadecimal digits of @text are an address without "0x" where a name may be meant, too: any
 * number that starts with a decimal digit, and what nm, objdump and perf print, 8 or 16 digits.
 */
bool address_may_be_bare(const char *text, size_t n);

/*
 * Reads the address that @text begins with, without "0x" as address_may_be_bare() says; returns what follows
 * it, or NULL when there is none or it does not fit 64 bits.
 */
const char *address_begin(const char *text, uint64_t *ret);

/*
 * Makes @n relative in an image whose addresses count from a base that is not known, as of a PDB file without
 * its program: where it is not before @end, the end of the code, but would be when one of the bases that
 * linkers choose is subtracted, it is a link-time address. Else returns @n, also with an @end of 0.
 */
uint64_t address_from_usual_base(uint64_t n, uint64_t end);

/* The offset that the name of a symbol ends with, "+0x" and digits, which is cut off @size; 0 without one. */
uint64_t address_cut_offset(const char *text, size_t *size);

#endif

/*
 * Damage as files suffer it: flipped bits, cut ends, moved blocks, and the values parsers trip over. Fields
 * of object files are 1 to 8 bytes wide in either byte order, or LEB128, so values are written in all these
 * forms.
 */
#include "mutate.h"

#include <string.h>

static uint64_t chance_next(struct chance *chance)
{
	uint64_t z = chance->state += 0x9e3779b97f4a7c15u; /* splitmix64 */

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t chance_below(struct chance *chance, uint64_t limit)
{
	return chance_next(chance) % limit;
}

static const uint64_t interesting[] = {
	0,
	1,
	2,
	7,
	8,
	16,
	0x7f,
	0x80,
	0xff,
	0x100,
	0x7fff,
	0x8000,
	0xffff,
	0x10000,
	0x7fffffff,
	0x80000000,
	0xfffffff0,
	0xfffffffe,
	0xffffffff,
	0x100000000,
	0x7fffffffffffffff,
	0x8000000000000000,
	0xfffffffffffffffe,
	0xffffffffffffffff,
};

static uint64_t some_value(struct chance *chance, const struct sample *sample)
{
	switch (chance_below(chance, 4)) {
	case 0: /* near the size of the file, where offsets end */
		return sample->size + chance_below(chance, 9) - 4;
	case 1: return chance_next(chance) >> chance_below(chance, 64);
	default: return interesting[chance_below(chance, sizeof(interesting) / sizeof(interesting[0]))];
	}
}

static void flip_bit(struct sample *sample, struct chance *chance)
{
	sample->data[chance_below(chance, sample->size)] ^= (uint8_t)(1u << chance_below(chance, 8));
}

static void write_fixed(struct sample *sample, struct chance *chance)
{
	uint64_t value = some_value(chance, sample);
	size_t width = (size_t)1 << chance_below(chance, 4);
	uint64_t big_endian = chance_below(chance, 2);

	if (width > sample->size)
		return;
	uint8_t *at = sample->data + chance_below(chance, sample->size - width + 1);
	for (size_t i = 0; i < width; i++)
		at[big_endian ? width - 1 - i : i] = (uint8_t)(value >> (8 * i));
}

/* Bytes that go on: a LEB128 that is too long, or a string without an end. */
static void write_run(struct sample *sample, struct chance *chance)
{
	size_t at = chance_below(chance, sample->size);
	size_t size = 1 + chance_below(chance, 16);

	if (size > sample->size - at)
		size = sample->size - at;
	memset(sample->data + at, chance_below(chance, 2) ? 0xff : 0x80, size);
}

static void cut_end(struct sample *sample, struct chance *chance)
{
	sample->size = chance_below(chance, sample->size + 1);
}

static void delete_block(struct sample *sample, struct chance *chance)
{
	size_t at = chance_below(chance, sample->size);
	size_t size = 1 + chance_below(chance, sample->size - at);

	memmove(sample->data + at, sample->data + at + size, sample->size - at - size);
	sample->size -= size;
}

/* Inserts at most 64 bytes of @from. */
static void insert_block(struct sample *sample, const uint8_t *from, size_t from_size, struct chance *chance)
{
	uint8_t block[64];
	size_t size = 1 + chance_below(chance, sizeof(block));
	size_t at = chance_below(chance, sample->size + 1);

	if (size > from_size || size > sample->cap - sample->size)
		return;
	memcpy(block, from + chance_below(chance, from_size - size + 1), size);
	memmove(sample->data + at + size, sample->data + at, sample->size - at);
	memcpy(sample->data + at, block, size);
	sample->size += size;
}

/* Overwrites a block, so that what follows keeps its place. */
static void copy_block(struct sample *sample, const uint8_t *from, size_t from_size, struct chance *chance)
{
	size_t size = 1 + chance_below(chance, 256);

	if (size > from_size || size > sample->size)
		return;
	memmove(sample->data + chance_below(chance, sample->size - size + 1),
		from + chance_below(chance, from_size - size + 1), size);
}

static void change_in_place(struct sample *sample, const uint8_t *other, size_t other_size,
			    struct chance *chance)
{
	switch (chance_below(chance, 8)) {
	case 0: copy_block(sample, sample->data, sample->size, chance); break;
	case 1: copy_block(sample, other, other_size, chance); break;
	case 2: write_run(sample, chance); break;
	case 3:
	case 4: flip_bit(sample, chance); break;
	default: write_fixed(sample, chance); break;
	}
}

static void change_size(struct sample *sample, const uint8_t *other, size_t other_size, struct chance *chance)
{
	switch (chance_below(chance, 4)) {
	case 0: cut_end(sample, chance); break;
	case 1: delete_block(sample, chance); break;
	case 2: insert_block(sample, sample->data, sample->size, chance); break;
	default: insert_block(sample, other, other_size, chance); break;
	}
}

/* Few inputs change their size: what refers to later places by offset is lost then, and the rest never read.
 */
void mutate(struct sample *sample, const uint8_t *other, size_t other_size, struct chance *chance)
{
	if (sample->size && chance_below(chance, 5) == 0)
		change_size(sample, other, other_size, chance);
	for (uint64_t n = 1 + chance_below(chance, 8); n && sample->size; n--)
		change_in_place(sample, other, other_size, chance);
}

/* Operands that are an address or a symbol with an offset. */

#include "cli/lookup/lookup_parts.h"

#include <errno.h>
#include <string.h>

#include "tests/lib/unit.h"

static const struct {
	const char *text;
	int err;
	size_t symbol_size; /* 0: an address */
	uint64_t value;
} operands[] = {
	{"0x10", 0, 0, 0x10},
	{"0X1f", 0, 0, 0x1f},
	{"0x", -ERANGE, 0, 0},
	{"0x1g", -ERANGE, 0, 0},
	{"0xffffffffffffffff", 0, 0, UINT64_MAX},
	{"0x10000000000000000", -ERANGE, 0, 0},
	/* A bare number may be meant to be decimal, unless its length or a letter tells. */
	{"0", 0, 0, 0},
	{"1", -EINVAL, 0, 0},
	{"00", -EINVAL, 0, 0},
	{"1234567", -EINVAL, 0, 0},
	{"12345678", 0, 0, 0x12345678},
	{"123456789", -EINVAL, 0, 0},
	{"123456789012345", -EINVAL, 0, 0},
	{"1234567890123456", 0, 0, 0x1234567890123456},
	{"12345678901234567", -EINVAL, 0, 0},
	{"1f", 0, 0, 0x1f},
	{"1234567890123456f", -ERANGE, 0, 0},
	{"deadbeef", 0, 0, 0xdeadbeef},
	{"deadbeefdeadbeef", 0, 0, 0xdeadbeefdeadbeef},
	/* Letters alone are a name. */
	{"dead", 0, 4, 0},
	{"f", 0, 1, 0},
	{"deadbeefd", 0, 9, 0},
	{"main", 0, 4, 0},
	{"12g", 0, 3, 0},
	{"main+0x10", 0, 4, 0x10},
	{"main+10", 0, 7, 0},
	{"main+0x", 0, 7, 0},
	{"1+0x10", 0, 1, 0x10},
	{"x0x10", 0, 5, 0},
	{"+0x10", -ERANGE, 0, 0x10},
	{"", -ERANGE, 0, 0},
};

TEST(parse)
{
	for (size_t i = 0; i < sizeof(operands) / sizeof(operands[0]); i++) {
		struct place_operand place;
		int err = place_operand_parse(operands[i].text, &place);
		if (err != operands[i].err)
			print_error("%s\n", operands[i].text);
		assert_int_equal(err, operands[i].err);
		if (err)
			continue;
		assert_int_equal(place.value, operands[i].value);
		assert_ptr_equal(place.symbol, operands[i].symbol_size ? operands[i].text : NULL);
		if (place.symbol)
			assert_int_equal(place.symbol_size, operands[i].symbol_size);
	}
}

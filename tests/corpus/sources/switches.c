/* Jump tables and computed goto: rows that jump back and forth, labels in the middle of functions. */
#include "common.h"

NOINLINE int dense_switch(int n)
{
	switch (n) {
	case 0:
		return sink + 1;
	case 1:
		sink = 4;
		return 5;
	case 2:
	case 3:
		sink += n;
		break;
	case 4:
		return dense_switch(sink);
	case 5:
		sink *= 3;
		/* fall through */
	case 6:
		return sink - 6;
	case 7:
		for (int i = 0; i < sink; i++)
			sink += i;
		break;
	default:
		return -n;
	}
	return sink;
}

NOINLINE int interpret(const unsigned char *code)
{
	static const void *const labels[] = { &&op_end, &&op_add, &&op_mul, &&op_neg };
	int value = 1;

	goto *labels[*code & 3];
op_add:
	value += sink;
	goto *labels[*++code & 3];
op_mul:
	value *= sink;
	goto *labels[*++code & 3];
op_neg:
	value = -value;
	goto *labels[*++code & 3];
op_end:
	return value;
}

NOINLINE int loop_nest(int n)
{
	int total = 0;
	for (int i = 0; i < n; i++)
		for (int j = i; j < n; j++)
			for (int k = j; k < n; k += 2) {
				if ((i ^ j ^ k) == sink)
					goto done;
				total += i * j - k;
			}
done:
	return total;
}

int run_switches(int n)
{
	static const unsigned char program[] = { 1, 2, 3, 1, 0 };
	return dense_switch(n) + interpret(program) + loop_nest(n);
}

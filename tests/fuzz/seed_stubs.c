/* Calls into other libraries: code that linkers make stubs for. */
int external(int);
void another(int *);

int (*pointer)(int) = external;

static inline __attribute__((always_inline)) int twice(int x)
{
	another(&x);
	return x + external(x);
}

int both(int x)
{
	return twice(x) + twice(x + 1);
}

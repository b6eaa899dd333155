/* What the seeds are built from: small, with inlining, a split function and a switch. */
static volatile int sink;

static inline __attribute__((always_inline)) int inner(int x)
{
	return x * 3 + sink;
}

static inline __attribute__((always_inline)) int outer(int x)
{
	return inner(x) - inner(x + 1);
}

__attribute__((noinline, cold)) void rare(int x)
{
	sink += x;
}

__attribute__((noinline)) int work(int x)
{
	if (__builtin_expect(x == sink, 0)) {
		rare(x);
		sink = 1;
	}
	for (int i = 0; i < x; i++)
		sink += outer(i);
	return sink;
}

void _start(void)
{
	sink = work(sink);
	for (;;)
		;
}

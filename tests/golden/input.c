/* An object file with debug data for the transcripts: what it does is of no interest. */
static inline int twice(int x)
{
	return x * 2;
}

__attribute__((noinline)) static int work(int x)
{
	return twice(x) + twice(x + 1);
}

int main(int argc, char **argv)
{
	(void)argv;
	return work(argc) == 42;
}

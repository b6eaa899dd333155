/*
 * asan_options.c - linked into every program of tests/run's tree of the address and undefined behavior
 * sanitizers. There undefined behavior ends in a trap, an illegal instruction: it becomes a report like any
 * other finding.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "handle_sigill=1";
}

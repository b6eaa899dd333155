#include "tests/lib/unit.h"

int unit_argc;
char **unit_argv;

int main(int argc, char **argv)
{
	unit_argc = argc;
	unit_argv = argv;
	return unit_run();
}

// The public header is C++ as well, without a warning.
#include <gsym/gsym.h>

int main()
{
	struct gsym_reader *reader = nullptr;
	struct gsym_answer answer = {};
	gsym_answer_deinit(&answer);
	return gsym_reader_open_memory("", 0, &reader, nullptr) ? 0 : 1;
}

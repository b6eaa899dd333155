/* Paths as text. */
#include "gsym/base/path.h"

#include "tests/lib/unit.h"

TEST(within)
{
	static const struct {
		const char *path, *dir;
		bool is;
	} table[] = {
		{"/usr/lib", "/usr", true}, {"/usr", "/usr", true},
		{"/usr/", "/usr", true},    {"/usr", "/usr/", false},
		{"/usrlib", "/usr", false}, {"/usr/lib", "/usr/", true},
		{"/usr", "/", true},        {"/", "/", true},
		{"/usr", "", true},         {"", "", true},
		{"usr", "", true},          {"", "/", false},
		{"/us", "/usr", false},     {"/var/usr", "/usr", false},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (path_is_within(table[i].path, table[i].dir) != table[i].is)
			fail_msg("'%s' in '%s'", table[i].path, table[i].dir);
}

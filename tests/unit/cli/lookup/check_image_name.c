/* Which files are called like a module of a log, and which names a module's file may have. */

#include "cli/lookup/image_name.h"

#include <string.h>

#include "tests/lib/unit.h"

enum { KERNEL = 1, WINDOWS = 2, WORD = 4, ONLY = 8 };

static struct filter_module module_of(const char *name, const char *release, unsigned flags)
{
	struct filter_module m = {
		.is_kernel = flags & KERNEL, .is_windows = flags & WINDOWS, .is_word = flags & WORD};
	strcpy(m.name, name);
	strcpy(m.release, release);
	return m;
}

/* 3: the whole name, 2: its beginning, 1: any kernel; 8 more: of that release, 16: its path's end, 32: its
 * path; -1: of another release. */
static const struct {
	const char *path, *name, *release;
	unsigned flags;
	int fit;
} fits[] = {
	{"app", "app", "", 0, 3},
	{"/x/app.gsym", "/usr/bin/app", "", 0, 3},
	{"app.debug.gsym", "app", "", 0, 2},
	{"app.gsymx", "app", "", 0, 2},
	{"app-1", "app", "", 0, 0},
	{"apps", "app", "", 0, 0},
	{"ap", "app", "", 0, 0},
	{"app/x", "app", "", 0, 0},
	{"app", "/usr/", "", 0, 0},
	{"app", "", "", 0, 0},
	{"/x/lib.so", "/a/base.apk!lib.so", "", 0, 3},
	{"base.apk!lib.so", "lib.so", "", 0, 3},
	{"app.ko.gsym", "app", "", 0, 2},
	/* Modules of the kernel. */
	{"my_mod.ko.gsym", "my-mod", "", KERNEL, 3},
	{"my-mod.ko.gsym", "my_mod", "", KERNEL, 3},
	{"my_mod.gsym", "my-mod", "", 0, 0},
	{"my_mod.ko.debug", "my-mod", "", KERNEL, 2},
	{"my_mod.kos", "my-mod", "", KERNEL, 2},
	{"other.gsym", "my-mod", "", KERNEL | ONLY, 0},
	{"my-mod-1.ko", "my-mod", "", KERNEL, 0},
	/* The kernel itself. */
	{"vmlinux", "vmlinux", "", KERNEL, 3},
	{"vmlinux-6.1.gsym", "vmlinux", "", KERNEL, 2},
	{"vmlinux-6.1.gsym", "vmlinux", "", 0, 0},
	{"kernel.gsym", "vmlinux", "", KERNEL | ONLY, 1},
	{"kernel.gsym", "vmlinux", "", KERNEL, 0},
	{"kernel.gsym", "vmlinux", "", ONLY, 0},
	{"ext4.ko.gsym", "vmlinux", "", KERNEL | ONLY, 0},
	{"ext4.ko", "vmlinux", "", KERNEL | ONLY, 1},
	/* Its release. */
	{"vmlinux-6.1", "vmlinux", "6.1", KERNEL, 10},
	{"vmlinux-6.1.gsym", "vmlinux", "6.1", KERNEL, 10},
	{"vmlinux-6.1.", "vmlinux", "6.1", KERNEL, 10},
	{"vmlinux-6.1./", "vmlinux", "6.1", KERNEL | ONLY, 1},
	{"vmlinux-6.1.:", "vmlinux", "6.1", KERNEL, 10},
	{"vmlinux-6.1.0", "vmlinux", "6.1", KERNEL, -1},
	{"vmlinux-6.1.9", "vmlinux", "6.1", KERNEL, -1},
	{"vmlinux-6.10", "vmlinux", "6.1", KERNEL, -1},
	{"vmlinux-6.1-rc1", "vmlinux", "6.1", KERNEL, -1},
	{"vmlinux-6", "vmlinux", "6.1", KERNEL, -1},
	{"/lib/6.1/vmlinux", "vmlinux", "6.1", KERNEL, 11},
	{"6.1/vmlinux", "vmlinux", "6.1", KERNEL, 11},
	{"/lib/x6.1/vmlinux", "vmlinux", "6.1", KERNEL, 3},
	{"/lib/6.1x/vmlinux", "vmlinux", "6.1", KERNEL, 3},
	{"/lib/6.1x/6.1/vmlinux", "vmlinux", "6.1", KERNEL, 11},
	{"/lib/6.1/vmlinux-6.2", "vmlinux", "6.1", KERNEL, -1},
	{"/lib/6.1/x", "vmlinux", "6.1", KERNEL, 0},
	{"/lib/6.1/ext4.ko", "ext4", "6.1", KERNEL, 10},
	{"/lib/6.1/app", "app", "6.1", 0, 3},
	{"vmlinux-debug", "vmlinux", "6.1", KERNEL, 2},
	{"/lib/modules/6.1/vmlinux", "vmlinux", "6.1", KERNEL, 11},
	{"/lib/modules/6.2/vmlinux", "vmlinux", "6.1", KERNEL, -1},
	{"modules/6.2/kernel/ext4.ko", "ext4", "6.1", KERNEL, -1},
	{"/lib/modules/6.2/kernel/ext4.ko", "ext3", "6.1", KERNEL, 0},
	{"/lib/modules/6.2/kernel/ext4.ko", "ext4", "", KERNEL, 2},
	{"/lib/modules/6.2", "6.2", "6.1", KERNEL, 3},
	{"/my-modules/6.2/ext4.ko", "ext4", "6.1", KERNEL, 2},
	{"/modules/x/ext4.ko", "ext4", "6.1", KERNEL, 2},
	/* The module was there. */
	{"/usr/bin/app", "/usr/bin/app", "", 0, 35},
	{"/root/usr/bin/app", "/usr/bin/app", "", 0, 19},
	{"/root/xusr/bin/app", "/usr/bin/app", "", 0, 3},
	{"/usr/bin/app", "usr/bin/app", "", 0, 3},
	{"/bin/app", "/usr/bin/app", "", 0, 3},
	/* Windows: any case, an ending on either side. */
	{"app.exe.gsym", "APP", "", 0, 2},
	{"app.exe", "APP", "", 0, 2},
	{"app.exe", "APP", "", WORD, 0},
	{"app.exe", "APP", "", KERNEL, 0},
	{"app.EXE", "App.exe", "", 0, 2},
	{"app.dll", "App.exe", "", 0, 0},
	{"app", "App.exe", "", 0, 2},
	{"app.gsym", "App.exe", "", 0, 2},
	{"apps", "App.exe", "", 0, 0},
	{"ap", "App.exe", "", 0, 0},
	{"apps.exe", "App", "", 0, 0},
	{"ap.exe", "App", "", 0, 0},
	{"app.exex", "APP", "", 0, 0},
	{"app", "APP", "", 0, 0},
	{"my-app+1.dll", "MY_APP_1", "", 0, 2},
	{"1app.dll", "_APP", "", 0, 0},
	{"a.b.ocx", "A.B", "", 0, 2},
	{"a[b.sys", "A_B", "", 0, 2},
	{"a@b.efi", "A_B", "", 0, 2},
	{"Az.drv", "aZ", "", 0, 2},
};

TEST(fit)
{
	for (size_t i = 0; i < sizeof(fits) / sizeof(fits[0]); i++) {
		const struct filter_module m = module_of(fits[i].name, fits[i].release, fits[i].flags);
		int got = image_fit(fits[i].path, "", &m, fits[i].flags & ONLY);
		if (got != fits[i].fit)
			print_error("%s of %s\n", fits[i].path, fits[i].name);
		assert_int_equal(got, fits[i].fit);
	}
}

/* A file has several paths: the best counts. */
TEST(places)
{
	static const struct {
		const char *first, *second;
		int fit;
	} places[] = {
		{"/x/a", "/x/b", 0},
		{"/x/a", "/lib/modules/6.2/a", -1},
		{"/lib/modules/6.2/a", "/x/a", -1},
		{"/lib/modules/6.2/a", "/lib/modules/6.1/a", 8},
		{"/lib/modules/6.1/a", "/lib/modules/6.2/a", 8},
		{"/x/usr/a", "/usr/a", 32},
		{"/usr/a", "/x/usr/a", 32},
	};
	const struct filter_module m = module_of("/usr/a", "6.1", KERNEL);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		assert_int_equal(
			image_place_fit(image_place_fit(0, places[i].first, &m), places[i].second, &m),
			places[i].fit);
	assert_int_equal(image_fit("vmlinux", "/lib/modules/6.2/vmlinux", &m, false), 0);
	const struct filter_module kernel = module_of("vmlinux", "6.1", KERNEL);
	assert_int_equal(image_fit("vmlinux", "/lib/modules/6.2/vmlinux", &kernel, false), -1);
}

/* All names in their order, separated by blanks. */
static const struct {
	const char *name, *release;
	unsigned flags;
	const char *names;
} names[] = {
	{"/usr/bin/app", "", 0, "app"},
	{"app.so", "6.1", 0, "app.so"},
	{"", "", 0, ""},
	{"/", "", 0, ""},
	{".", "", 0, ""},
	{"/x/..", "", 0, ""},
	{"...", "", 0, "..."},
	{"vmlinux", "", KERNEL, "vmlinux"},
	{"vmlinux", "6.1", KERNEL, "vmlinux-6.1 vmlinux"},
	{"my_mod", "6.1", KERNEL, "my_mod.ko my-mod.ko my_mod.ko.debug my-mod.ko.debug"},
	{"app", "", WINDOWS, "app app.exe app.dll app.sys app.efi app.drv app.ocx"},
	{"app.DLL", "", WINDOWS, "app.DLL"},
	{"app.dll.x", "", WINDOWS, "app.dll.x"},
	{"app.dllx", "", WINDOWS,
	 "app.dllx app.dllx.exe app.dllx.dll app.dllx.sys app.dllx.efi app.dllx.drv app.dllx.ocx"},
};

TEST(of_modules)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct filter_module m = module_of(names[i].name, names[i].release, names[i].flags);
		char all[200] = "", name[FILTER_NAME_SIZE];
		for (unsigned k = 0; image_name_of(&m, k, name); k++) {
			strcat(all, k ? " " : "");
			strcat(all, name);
		}
		assert_string_equal(all, names[i].names);
	}
}

/* A name with its ending, or release, may be too long. */
TEST(long_names)
{
	char text[FILTER_NAME_SIZE], name[FILTER_NAME_SIZE];
	static const struct {
		const char *release;
		unsigned flags, i;
		size_t longest;
	} longest[] = {
		{"", 0, 0, FILTER_NAME_SIZE - 1},
		{"", KERNEL, 0, FILTER_NAME_SIZE - 1 - 3},
		{"", KERNEL, 2, FILTER_NAME_SIZE - 1 - 9},
		{"", WINDOWS, 1, FILTER_NAME_SIZE - 1 - 4},
	};
	for (size_t i = 0; i < sizeof(longest) / sizeof(longest[0]); i++) {
		for (size_t size = longest[i].longest;
		     size <= longest[i].longest + 1 && size < FILTER_NAME_SIZE; size++) {
			memset(text, 'a', size);
			text[size] = 0;
			const struct filter_module m = module_of(text, longest[i].release, longest[i].flags);
			assert_int_equal(image_name_of(&m, longest[i].i, name), size == longest[i].longest);
		}
	}
}

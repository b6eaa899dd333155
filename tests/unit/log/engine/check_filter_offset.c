/* Modules by name with an offset, as many programs write them, through the filter. */
#include "tests/unit/log/engine/filter_sample.h"

#include <string.h>

#include "tests/lib/unit.h"

#define ALPHA5  " alpha at /src/a.c:5"
#define ALPHA6  " alpha at /src/a.c:6"
#define TWIN_IS " twin at /src/a.c:20"
#define BOTH_IS " both at /src/a.c:51"
#define EACH    "void g::each<std::vector<int, std::allocator<int>>>(int, char const*) at /src/a.c:92"
#define BETA    " beta at /src/b.h:7 (inlined by) alpha at /src/a.c:5"

TEST(glibc)
{
	/* Offsets count from link-time address 0. All are return addresses. */
	check_log("./app(+0x1010)[0x5581f7f2a010]\n./app(alpha+0x10) "
		  "[0x5581f7f2a010]\n/lib/libother.so(+0x10)[0x1]\n",
		  "./app(+0x1010)[0x5581f7f2a010]" BETA "\n./app(alpha+0x10) [0x5581f7f2a010]" BETA
		  "\n/lib/libother.so(+0x10)[0x1]\n");
	check_log("/opt/app() [0x1010]\n/opt/app[0x1004]\n",
		  "/opt/app() [0x1010]" BETA "\n/opt/app[0x1004]" ALPHA5 "\n");
	/* The C library prints no version of a symbol. */
	check_log("/opt/app(versioned+0x4) [0x10dc]\n",
		  "/opt/app(versioned+0x4) [0x10dc] versioned@@V_2 at /src/a.c:95\n");
	/* A name with another file, outside the function, of several functions, without a line. */
	check_unchanged("./app(alpha+0x41)[0x1]\n./app(twin+0x4)[0x1]\n./app(none+0x4)[0x1]\n"
			"./app(_ZN1f3oneEv+0x4)[0x1]\n");
	check_unchanged("./app(alpha+0x4)\n./app(+0x1004 "
			")[0x1]\n./app(+0x1004)[0x1\n./app(+1004)[0x1]\n(+0x1004)[0x1]\n"
			"app[0x1004]\nx[0x1004]\n");
	check_log("INFO main.cc:12] ./app(+0x1004)[0x1]\n",
		  "INFO main.cc:12] ./app(+0x1004)[0x1]" ALPHA5 "\n");
	/* Titles that servers give themselves, and lines that look like them. */
	check_log("app: user db [local] SELECT(+0x1010) [0x1]\n\tapp: checkpointer (+0x1010) [0x1]\n"
		  "./app *:6379(+0x1010)[0x1]\napp 127.0.0.1:6379 [cluster](+0x1010)[0x1]\n"
		  "x: app(+0x1010)[0x1]\nERROR: x in app(+0x1010)[0x1]\n12:00: x in app(+0x1010)[0x1]\n",
		  "app: user db [local] SELECT(+0x1010) [0x1]" BETA
		  "\n\tapp: checkpointer (+0x1010) [0x1]" BETA "\n./app *:6379(+0x1010)[0x1]" BETA
		  "\napp 127.0.0.1:6379 [cluster](+0x1010)[0x1]" BETA "\nx: app(+0x1010)[0x1]" BETA
		  "\nERROR: x in app(+0x1010)[0x1]" BETA "\n12:00: x in app(+0x1010)[0x1]" BETA "\n");
	check_unchanged("x *:a(+0x1010)[0x1]\nx y(+0x1010)[0x1]\nx :1(+0x1010)[0x1]\n");
}

TEST(strace)
{
	/* What has no symbol is an offset in the file. */
	check_log(" > /opt/app(alpha+0x10) [0x1010]\n > /opt/app(alpha+0x10) [0x1010]\n",
		  " > /opt/app(alpha+0x10) [0x1010]" BETA "\n > /opt/app(alpha+0x10) [0x1010]" BETA "\n");
	check_log(" > /opt/app(g::twice(int)+0x4) [0x1224]\n > /opt/app(void g::each<std::vector<int, "
		  "std::allocator<int> > >(int, char const*)+0x2) [0x1252]\n",
		  " > /opt/app(g::twice(int)+0x4) [0x1224] g::twice(int) at /src/a.c:90\n > /opt/app(void "
		  "g::each<std::vector<int, std::allocator<int> > >(int, char const*)+0x2) [0x1252] " EACH
		  "\n");
	check_unchanged("/opt/app g::twice(int)+0x4) [0x1]\n) /opt/app((int)+0x4) [0x1]\n");
	check_log(" > /opt/app() [0x10]\n > /opt/app() [0x10]\n",
		  " > /opt/app() [0x10]" BETA "\n > /opt/app() [0x10]" BETA "\n");
}

TEST(brackets)
{
	check_log("# C  [app+0x10]\n# C  [app+0x10]  alpha+0x10\n",
		  "# C  [app+0x10]" ALPHA6 "\n# C  [app+0x10]" BETA "  alpha+0x10\n");
	check_log("in (/opt/app+0x4), (/opt/app + 0x10).\n",
		  "in (/opt/app+0x4)" ALPHA5 ", (/opt/app + 0x10)" ALPHA6 ".\n");
	check_log("=>0 0x7bc00010 in app (+0x10) (0x0032fe28)\n  1 0x7bc00010 in app (+0x10) (0x0032fe28)\n",
		  "=>0 0x7bc00010 in app (+0x10)" ALPHA6 " (0x0032fe28)\n  1 0x7bc00010 in app (+0x10)" BETA
		  " (0x0032fe28)\n");
	check_log("    [" ID "]@0x5581f7f29000+0xf\n", "    [" ID "]@0x5581f7f29000+0xf" BETA "\n");
	check_log("/opt/app+0x4: runtime error\n", "/opt/app+0x4" ALPHA5 ": runtime error\n");
	check_log("app+0x4 app!alpha+0x4\n", "app+0x4 app!alpha+0x4" ALPHA5 "\n");
	check_log("    app+0x4\n ", "    app+0x4\n ");
	check_log("at app+0x4", "at app+0x4" ALPHA5);
	check_unchanged("[app +0x10]\n[+0x10]\n[app+0xz]\n[app+10]\n[app+0x10a0000000000000000]\n"
			"app+0x4/0x5\napp+0x4.5\napp + 0x4\napp+4\n0x10+0x4\nother.so+0x4\nxapp+0x4\n");
}

TEST(offsets_in_files)
{
	check_log("app[1]: segfault at 0 ip 00007f51c0000010 sp 0 error 4 in app[10,7f51c0000000+1000] on "
		  "CPU 0\n",
		  "app[1]: segfault at 0 ip 00007f51c0000010 sp 0 error 4 in app[10,7f51c0000000+1000]" ALPHA6
		  " on CPU 0\n");
	/* Older kernels tell the mapping of the code only, whose size has to be that of the segment. */
	check_log(
		"app[1]: segfault at 0 ip 00007f51c0000010 sp 0 error 4 in app[7f51c0000000+1000]\n"
		"traps: app[1] trap int3 ip:7f51c0000004 sp:0 error:0 in app[7f51c0000000+1000]\n",
		"app[1]: segfault at 0 ip 00007f51c0000010 sp 0 error 4 in app[7f51c0000000+1000]" ALPHA6 "\n"
		"traps: app[1] trap int3 ip:7f51c0000004 sp:0 error:0 in app[7f51c0000000+1000]" ALPHA5 "\n");
	check_unchanged("at 0 ip 00007f51c0000010 sp 0 error 4 in app[7f51c0000000+2000]\n"
			"at 0 ip 00007f51c0001010 sp 0 error 4 in app[7f51c0000000+1000]\n"
			"at 0 ip 00007f51bfffffff sp 0 error 4 in app[7f51c0000000+1000]\n"
			"at 0 ip 00007f51c0000010 sp 0 error 4 in other[7f51c0000000+1000]\n"
			"at 0 ip 00007f51c0000010 sp 0 error 4 in app[7f51c0000000x+1000]\n");
	check_unchanged(
		"error 4 in app[7f51c0000000+1000]\nerror 4 in app[fffffff,7f51c0000000+1000]\n"
		"app[10,7f51c0000000+1000]\nin app[10,7f51c0000000+1000\nin app[x,7f51c0000000+1000]\n");
}

TEST(apple_tools)
{
	check_log("  12 ??? (app + 16) [0x104a7bf50]\n    13 ??? (<" ID "> + 16) [0x104a7bf50]\n",
		  "  12 ??? (app + 16) [0x104a7bf50]" ALPHA6 "\n    13 ??? (<" ID "> + 16) [0x104a7bf50]" BETA
		  "\n");
	check_log("+ 2 ??? (in app)  load address 0x104a78000 + 0x10  [0x104a78010]\n",
		  "+ 2 ??? (in app)  load address 0x104a78000 + 0x10  [0x104a78010]" ALPHA6 "\n");
	check_log("    frame #1: 0x0000000100000f20 app`alpha + 16\n",
		  "    frame #1: 0x0000000100000f20 app`alpha + 16" BETA "\n");
	check_unchanged(
		"    frame #1: 0x0000000100000f20 app`alpha + 16 at a.c:6:3\n(app + 16)\n(app + 16) [0x\n");
}

/* Demangled names of functions: whole, as debuggers write them, or without parameters. */
TEST(demangled)
{
	check_log("frame #1: 0x1 app`g::twice(int) + 4\n\napp!g::twice(char)+0x4 tail\n",
		  "frame #1: 0x1 app`g::twice(int) + 4 g::twice(int) at /src/a.c:90\n\n"
		  "app!g::twice(char)+0x4 g::twice(char) at /src/a.c:91 tail\n");
	check_log("app`void g::each<std::vector<int, std::allocator<int> > >(int, char const*) + 2\n"
		  "app!g::each<std::vector<int,std::allocator<int> > >+0x2 \n",
		  "app`void g::each<std::vector<int, std::allocator<int> > >(int, char const*) + 2 " EACH "\n"
		  "app!g::each<std::vector<int,std::allocator<int> > >+0x2 " EACH " \n");
	/* Two functions are called so, and the offset is inside both, or one. */
	check_unchanged("app!g::twice+0x2\napp`g::twice(long) + 2\napp`f::one() + 400\napp`f::two() + 2\n"
			"app` f::one() + 4\napp`f::one () + 4 at a.c:3\napp`f + one + 4\n"
			"app!alpha+0x4 [d:\\src\\a.cpp @ 12]\n");
	check_log(" 1  app!g::twice(int) + 0x12\n",
		  " 1  app!g::twice(int) + 0x12 g::twice(int) at /src/a.c:90\n");
	check_unchanged("x 1 app!g::twice(int) + 0x12\n 1 app!g::twice(int) [a.c : 3 + 0x12]\n");
	check_log("app!g::twice+0x12\n", "app!g::twice+0x12 g::twice(int) at /src/a.c:90\n");
}

/* The event log, Wine and WinDbg. */
TEST(windows)
{
	check_log("Faulting module name: app, version: 1\r\nFault offset: 0x0010\r\n\r\n"
		  "Faulting module name: other.dll\nFault offset: 0x10\nFaulting module name: , version: 1\n"
		  "a, Faulting module name: app, version: 1, Fault offset: 0xf, x\n",
		  "Faulting module name: app, version: 1\r\nFault offset: 0x0010" ALPHA6 "\r\n\r\n"
		  "Faulting module name: other.dll\nFault offset: 0x10\nFaulting module name: , version: 1\n"
		  "a, Faulting module name: app, version: 1, Fault offset: 0xf" BETA ", x\n");
	check_unchanged(
		"Fault offset: 0x10\nFaulting module name: app\nFault offset: 10\nFault offset: 0x\n");
	check_log(
		"=>0 0x00007f01 alpha+0x10(a=1, b=in) in app (0x0032fe98)\n"
		"  1 0x00007f02 alpha+0x10() in app (0x0032fe98)\n\n0x00007f01 app+0x10: movl\t%edx,(%rcx)\n",
		"=>0 0x00007f01 alpha+0x10(a=1, b=in) in app" ALPHA6 " (0x0032fe98)\n"
		"  1 0x00007f02 alpha+0x10() in app" BETA " (0x0032fe98)\n\n"
		"0x00007f01 app+0x10" ALPHA6 ": movl\t%edx,(%rcx)\n");
	check_unchanged("  5 0x00007f01 alpha+0x10(a=1) [Z:\\src\\a.c:6] in app (0x0032fe98)\n"
			"  5 0x00007f01 alpha+0x10(a=1) in app\nalpha+0x10() in app (0x0032fe98)\n"
			"app!alpha+0x10 [c:\\src\\a.cpp @ 12 + 0x3]\n");
	/* Where it stopped is no call, whatever is before it. */
	check_log("  1 0x7f01 in app (+0x10)\napp+0x10: mov\n",
		  "  1 0x7f01 in app (+0x10)" ALPHA6 "\napp+0x10" ALPHA6 ": mov\n");
}

TEST(minidumps)
{
	check_log(" 0  app + 0x10\n    rip = 0x1\n 1  app + 0xf \n",
		  " 0  app + 0x10" ALPHA6 "\n    rip = 0x1\n 1  app + 0xf" BETA " \n");
	/* The call site of caller() is right after its address, which is in the call already. */
	check_log(" 0  app + 0x144\n 1  app + 0x18f\n",
		  " 0  app + 0x144 two at /src/a.c:61\n 1  app + 0x18f caller at /src/a.c:70\n");
	check_log("Module|app|1|app|000000000000000000000000000000000|0x1000|0x1fff|0\n0|0|app||||0x10\n",
		  "Module|app|1|app|000000000000000000000000000000000|0x1000|0x1fff|0\n0|0|app|alpha|/src/"
		  "a.c|6|0x10\n");
	check_log("Module|libx.so|1|libx.so|" ID "|0x1000|0x1fff|0\n0|0|libx.so||||0x10\n0|1|libx.so||||0xf\n"
		  "0|2|libx.so||||0x44\n",
		  "Module|libx.so|1|libx.so|" ID "|0x1000|0x1fff|0\n0|0|libx.so|alpha|/src/a.c|6|0x10\n"
		  "0|1|libx.so|beta|/src/b.h|7|0xf\n0|1|libx.so|alpha|/src/"
		  "a.c|5|0xf\n0|2|libx.so|f::one()|||0x44\n");
	/* Which of two functions at an address is meant, its caller tells, but not the next thread. */
	check_log("0|0|app||||0x10\n0|1|app||||0x144\n0|2|app||||0x18f\n",
		  "0|0|app|alpha|/src/a.c|6|0x10\n0|1|app|two|/src/a.c|61|0x144\n"
		  "0|2|app|caller|/src/a.c|70|0x18f\n");
	check_log("0|0|app||||0x10\n0|1|app||||0x144\n1|0|app||||0x18f\n",
		  "0|0|app|alpha|/src/a.c|6|0x10\n0|1|app|one|/src/a.c|60|0x144\n"
		  "1|0|app|caller|/src/a.c|70|0x18f\n");
	check_unchanged(
		"0|0|app|f|a.c|1|0x10\n0|0|app||||10\n0|x|app||||0x10\n0|0|||||0x10\n0|0|app||||0x10|\n");
	check_log("Module libx.so with build-id " ID "\nin [libx.so+0x4]\n",
		  "Module libx.so with build-id " ID "\nin [libx.so+0x4]" ALPHA5 "\n");
}

#define STACKWALK_MODULES                                                                    \
	"\"modules\":[{\"code_id\":\"1\",\"debug_id\":\"0102030405060708090A0B0C0D0E0F10\"," \
	"\"filename\":\"libx.so\"},{\"debug_id\":\"00\",\"filename\":\"app\"}]"
#define STACKWALK_NULLS "\"function\":null,\"function_offset\":null,\"inlines\":null,\"line\":null,"
#define STACKWALK_BETA                                                                                   \
	"\"function\":\"alpha\",\"function_offset\":\"0x0000000f\",\"inlines\":[{\"file\":\"/src/b.h\"," \
	"\"function\":\"beta\",\"line\":7}],\"line\":5,"

/* minidump_stackwalk in JSON: it stays JSON. */
TEST(stackwalk)
{
	check_log("{\"crash_info\":{},\"threads\":[{\"frames\":[{\"file\":null,\"frame\":0," STACKWALK_NULLS
		  "\"module\":\"libx.so\",\"module_offset\":\"0x00000010\"},{\"file\":null," STACKWALK_NULLS
		  "\"module\":\"app\",\"module_offset\":\"0x0000000f\"},{\"module\":null},{\"file\":null,"
		  "\"function\":\"f\",\"module\":\"app\",\"module_offset\":\"0x0000000f\"}]}]"
		  "," STACKWALK_MODULES "}\n[app+0x4]\n",
		  "{\"crash_info\":{},\"threads\":[{\"frames\":[{\"file\":\"/src/"
		  "a.c\",\"frame\":0,\"function\":"
		  "\"alpha\",\"function_offset\":\"0x00000010\",\"inlines\":null,\"line\":6,"
		  "\"module\":\"libx.so\",\"module_offset\":\"0x00000010\"},{\"file\":\"/src/"
		  "a.c\"," STACKWALK_BETA
		  "\"module\":\"app\",\"module_offset\":\"0x0000000f\"},{\"module\":null},{\"file\":null,"
		  "\"function\":\"f\",\"module\":\"app\",\"module_offset\":\"0x0000000f\"}]}]"
		  "," STACKWALK_MODULES "}\n[app+0x4]" ALPHA5 "\n");
	/* In many lines, and what was left out is added. */
	check_log("{\n  \"crash_info\": {},\n  \"threads\": [{\"frames\": [\n    {\n      \"module\": "
		  "\"app\",\n"
		  "      \"module_offset\": \"0x0000000000000044\"\n    }\n  ]}],\n" STACKWALK_MODULES "}\n",
		  "{\n  \"crash_info\": {},\n  \"threads\": [{\"frames\": [\n    {\n      \"module\": "
		  "\"app\",\n"
		  "      \"module_offset\": \"0x0000000000000044\",\"file\":null,\"function\":\"f::one()\","
		  "\"function_offset\":\"0x0000000000000004\",\"inlines\":null,\"line\":null\n    }\n  ]}],"
		  "\n" STACKWALK_MODULES "}\n");
	/* Other JSON, what is cut off, and what is none. */
	check_log("{\"crash_info\": \"[app+0x4]\"}\n{\n\"crash_info\": [\n[app+0x4]\n",
		  "{\"crash_info\": \"[app+0x4]" ALPHA5 "\"}\n{\n\"crash_info\": [\n[app+0x4]" ALPHA5 "\n");
	check_unchanged("{\"crash_info\":{},\"frames\":[{\"module\":\"app\",\"module_offset\":\"0x4\"\n");
	check_unchanged(
		"{\"frames\":[{\"module\":\"app\",\"module_offset\":\"0x4\"}]}\n{\n\n\"crash_info\":1}\n");
}

/* What has a file and line already gets no other. */
TEST(known_positions)
{
	check_unchanged("f /a.c:3 (app+0x4)\n[app+0x4] at a.rs:3\n./app(+0x1004)[0x1] x (main.cpp:3)\n" ID
			"+0x4 f at /x.go:9\n/opt/app[0x1004] a.cc:1\n");
	check_log("[app+0x4] to 10.0.0.1:80\n", "[app+0x4]" ALPHA5 " to 10.0.0.1:80\n");
}

/* A name that several functions have; the other causes are in check_pending_stack.c. */
TEST(several_functions)
{
	const struct filter_unexplained *list;
	struct running r;
	running_begin(&r);
	assert_int_equal(running_feed(&r, "app!g::twice+0x2\napp!twin+0x2\n", FILTER_END), 0);
	assert_int_equal(filter_unexplained(r.filter, &list), 1);
	assert_int_equal(list[0].cause, FILTER_SEVERAL);
	assert_int_equal(list[0].n_frames, 2);
	running_end(&r);
}

/* What a line says of the function besides the offset in a module without an id. */
TEST(named_functions)
{
	const struct filter_unexplained *list;
	struct running r;
	/* The function starts there, whatever it is called, or about there, and is called so. */
	check_log("# C  [app+0x10]  other+0x10\n", "# C  [app+0x10]" ALPHA6 "  other+0x10\n");
	check_log("# C  [app+0x10]  alpha+0x8\n", "# C  [app+0x10]" ALPHA6 "  alpha+0x8\n");
	check_unchanged("# C  [app+0x10]  alpha+0x7\n");
	check_unchanged("# C  [app+0x10]  alpha+0x19\n");
	check_log("# C  [app+0x10]  alpha.cold.3+0x2\n", "# C  [app+0x10]" ALPHA6 "  alpha.cold.3+0x2\n");
	check_log("# C  [app+0x10]  alpha@@V_1.2+4\n", "# C  [app+0x10]" ALPHA6 "  alpha@@V_1.2+4\n");
	check_log("# C  [app+0x10]  x::alpha(int (*)(char))+0x4\n",
		  "# C  [app+0x10]" ALPHA6 "  x::alpha(int (*)(char))+0x4\n");
	/* No function of the image, which may be any word. */
	check_log("# C  [app+0x10]  other+0x4\n", "# C  [app+0x10]" ALPHA6 "  other+0x4\n");
	/* With an id nothing else counts. */
	check_log("(" ID "+0x10)  twin+0x4\n", "(" ID "+0x10" ALPHA6 ")  twin+0x4\n");
	check_unchanged("# C  [app+0x10]  twin+0x4\n"
			"# C  [app+0x10]  g::twice(int)+0x4\n"
			"      #00 pc 00001010  /opt/app (twin+4)\n"
			"    #0 0x7f51c0000010 in twin+0x4 (/opt/app+0x10)\n");
	running_begin(&r);
	assert_int_equal(running_feed(&r, "# C  [app+0x10]  twin+0x4\n", FILTER_END), 0);
	assert_int_equal(filter_count(r.filter).met, 1);
	assert_int_equal(filter_count(r.filter).found, 0);
	assert_int_equal(filter_unexplained(r.filter, &list), 1);
	assert_int_equal(list[0].cause, FILTER_OTHER_FUNCTION);
	running_end(&r);
}

/*
 * Two functions that start elsewhere reject a module, also for what precedes them in their stack and names no
 * function; one does not, however often.
 */
TEST(rejected)
{
	const struct filter_unexplained *list;
	struct running r;
#define TWIN  "twin+0x4 (app+0x10)\n"
#define BOTH  "both+0x4 (app+0x10)\n"
#define ALONE "(app+0x4)\n"
#define KNOWN "(app+0x4)" ALPHA5 "\n"
#define NAMED "alpha+0x4 (app+0x4)\n"
	check_log(ALONE TWIN "\n" TWIN "\n" ALONE, KNOWN TWIN "\n" TWIN "\n" KNOWN);
	check_unchanged(ALONE TWIN BOTH NAMED "\n" NAMED "\n" ALONE);
	check_log(TWIN BOTH "\n(" ID "+0x4)\n\n(x/app+0x4)\n",
		  TWIN BOTH "\n(" ID "+0x4" ALPHA5 ")\n\n(x/app+0x4)" ALPHA5 "\n");
	running_begin(&r);
	assert_int_equal(running_feed(&r, ALONE TWIN BOTH ALONE, FILTER_END), 0);
	assert_int_equal(filter_unexplained(r.filter, &list), 2);
	assert_int_equal(list[0].cause, FILTER_REJECTED);
	assert_string_equal(list[0].symbol, "both");
	assert_int_equal(list[0].logged_size, 0);
	assert_int_equal(list[0].n_frames, 3);
	assert_int_equal(list[1].cause, FILTER_OTHER_FUNCTION);
	assert_int_equal(list[1].n_frames, 1);
	running_end(&r);
}

/* Two that started elsewhere and do not any more accept it again, if none does between. */
TEST(replaced)
{
#define TWIN_FITS "twin+0x4 (app+0x84)"
#define BOTH_FITS "both+0x4 (app+0x104)"
	check_unchanged(TWIN BOTH "\n" NAMED "\n" TWIN_FITS "\n\n" TWIN_FITS "\n" NAMED "\n" BOTH
				  "\n" BOTH_FITS "\n");
	check_log(TWIN BOTH "\n" TWIN_FITS "\n" BOTH_FITS "\n\n" TWIN "\n" ALONE,
		  TWIN BOTH "\n" TWIN_FITS TWIN_IS "\n" BOTH_FITS BOTH_IS "\n\n" TWIN "\n" KNOWN);
}

/* The address in memory besides a name is whole pages away from the function, or the name is another's. */
TEST(places)
{
#define AT(name, address) "app(" name ") [" address "]"
	check_log(AT("alpha+0x10", "0x7f51c0003010") "\n" AT("alpha+0x10", "0x7f51c000300f") "\n",
		  AT("alpha+0x10", "0x7f51c0003010") BETA "\n" AT("alpha+0x10", "0x7f51c000300f") BETA "\n");
	check_log(AT("alpha+0x10", "0x7f51c0003018") "\n" AT("alpha+0x10", "0x7f51c0003010") "\n",
		  AT("alpha+0x10", "0x7f51c0003018") "\n" AT("alpha+0x10", "0x7f51c0003010") BETA "\n");
	check_unchanged(AT("alpha+0x10", "0x7f51c0003018") "\n" AT("both+0x4", "0x7f51c0000108") "\n" AT(
		"alpha+0x10", "0x7f51c0003010") "\n");
	/* Of a symbol there may be several versions: no other build. */
	check_log(AT("versioned+0x4", "0x7f51c00000e4") "\n" AT("both+0x4", "0x7f51c0000108") "\n" AT(
			  "alpha+0x10", "0x7f51c0003010") "\n",
		  AT("versioned+0x4", "0x7f51c00000e4") "\n" AT("both+0x4", "0x7f51c0000108") "\n" AT(
			  "alpha+0x10", "0x7f51c0003010") BETA "\n");
}

/* Part of a function, or a copy of it: no module. */
TEST(parts)
{
	check_log("# C  [app+0x10]  alpha.constprop.0+0x2\n",
		  "# C  [app+0x10]" ALPHA6 "  alpha.constprop.0+0x2\n");
	check_unchanged("# C  [app+0x10]  twin.cold+0x2\n");
}

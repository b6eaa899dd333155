/* Demangling: the languages, llvm's spelling, and names that must not cost a daemon its thread. */
#include <pthread.h>
#include <stdio.h>

#include "gsym/render/demangle/demangle_cache.h"
#include "gsym/render/demangle/demangle_llvm.h"
#include "gsym/render/demangle/demangle_parts.h"
#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

enum { SEARCHED = 11 }; /* doublings of a pattern that are too many */

/* What @name reads as; valid until the next call. */
static const char *demangled(const char *name, enum demangle_mode mode)
{
	static char text[DEMANGLE_OUTPUT_MAX + 1];
	struct text_buf out = {0};
	demangle_append(&out, name, mode);
	assert_false(out.failed);
	assert_true(out.n < sizeof(text));
	if (out.n)
		memcpy(text, out.v, out.n);
	text[out.n] = '\0';
	text_deinit(&out);
	return text;
}

static void expect(const char *name, const char *want)
{
	assert_string_equal(demangled(name, DEMANGLE_AUTO), want);
}

TEST(languages)
{
	expect("_ZN2ns1S1mEi", "ns::S::m(int)");
	expect("_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example");
	expect("_RNvCs15kBYyAo9fc_7mycrate7example.0.llvm.12", "mycrate::example (.0.llvm.12)");
	expect("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	expect("_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE",
	       "core::ptr::drop_in_place<alloc::string::String>");
	expect("_D3std5stdio7writelnFAyaZv", "std.stdio.writeln(immutable(char)[])");
	expect("._ZN1a1bEv", ".a::b()");
	expect("_ZN2ns1S1mEi@plt", "ns::S::m(int)@plt");
	expect("_RNvCs15kBYyAo9fc_7mycrate7example@plt", "mycrate::example@plt");
	expect("_Z@plt", "_Z@plt");
	expect("_@plt", "_@plt");
	assert_string_equal(demangled("pack__inner__proc", DEMANGLE_ADA), "pack.inner.proc");
	assert_string_equal(demangled("_ada_hello", DEMANGLE_ADA), "hello");
	assert_string_equal(demangled("pack__Oadd__2", DEMANGLE_ADA), "pack.\"+\"");
	assert_string_equal(demangled("pack__recordSO__2", DEMANGLE_ADA), "pack.record'Output");
	assert_string_equal(demangled("_ZN2ns1S1mEi", DEMANGLE_ADA), "ns::S::m(int)");
	assert_string_equal(demangled("_ZN1a1bEv", DEMANGLE_OFF), "_ZN1a1bEv");
}

/* The name alone, or "" where there is none. */
TEST(bare_names)
{
	static const char *const names[][2] = {
		{"_ZN2ns1S1mEi", "ns::S::m"},
		{"_ZNK2ns1S1mEi", "ns::S::m"},
		{"_ZN2ns1SC2EOS0_", "ns::S::S"},
		{"_Z1fIiET_S0_", "f<int>"},
		{"_ZN1aIN1bIN1cIiEEEEE1fEv", "a<b<c<int>>>::f"},
		{"_ZlsIiE1SS0_T_", "operator<<<int>"},
		{"_ZN1SclEi", "S::operator()"},
		{"_ZN1ScvPFivEEv", "S::operator int (*)()"},
		{"_ZZ1fvENKUlvE_clEv", "f()::'lambda'()::operator()"},
		{"_ZN1aB5cxx11Ev", "a[abi:cxx11]"},
		{"._ZN1a1bEv", ".a::b"},
		{"_Z1fPFvvE", "f"},
		{"_ZN2ns1S1mEi@plt", "ns::S::m@plt"},
		{"_Z1fv.cold", ""},
		{"_Z1fv.isra.0", ""},
		{"_RNvCs15kBYyAo9fc_7mycrate7example", ""},
		{"_ZN4core3fmt5write17h0123456789abcdefE", ""},
		{"_Z17hello_and_goodbyev", "hello_and_goodbye"},
		{"_D3std5stdio7writelnFAyaZv", "std.stdio.writeln"},
		{"_D8demangle4testMxFaZv", "demangle.test"},
		{"_D8demangle4testi", ""},
		{"main", ""},
		{"_Zfoo", ""},
		{"_Z@plt", ""},
		{"ns::f(int) const", "ns::f"},
		{"(anonymous namespace)::f(int (*)(int))", "(anonymous namespace)::f"},
		{"S::operator()(int)", "S::operator()"},
		{"S::operator()", ""},
		{"f() (.cold)", ""},
		{"f(int)::g", ""},
		{"(anonymous)", ""},
		{"()", ""},
		{"f)", ""},
		{"-[NSString(More) size]", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct text_buf out = {0};
		text_lit(&out, "<");
		assert_int_equal(demangle_append_bare(&out, names[i][0], 1000), *names[i][1] != 0);
		text_lit(&out, ">");
		text_char(&out, 0);
		char want[100];
		snprintf(want, sizeof(want), "<%s>", names[i][1]);
		assert_string_equal(out.v, want);
		text_deinit(&out);
	}
}

TEST(not_mangled)
{
	static const char *const names[] = {"main",
					    "",
					    "_",
					    "_Z",
					    "_Zfoo",
					    "_D",
					    "_Dmainframe",
					    "_R",
					    "_RC0",
					    "__Z",
					    ".",
					    "_ZN1aE$",
					    "load_module.cold",
					    "pack__inner__proc"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		expect(names[i], names[i]);
}

/* Names of other languages, and some that libiberty would write past the end of its memory. */
TEST(not_ada)
{
	static const char *const names[] = {
		"",           "_",        "__gnat_malloc",         "GetProcAddress",
		"<main>",     "f.part.0", "aSO__aSO__aSO__aSO__a", "aSO__bDF",
		"aSO___elabb"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_string_equal(demangled(names[i], DEMANGLE_ADA), names[i]);
}

TEST(llvm_spelling)
{
	expect("_ZN1aIN1bIN1cIiEEEEE1fEv", "a<b<c<int>>>::f()");
	expect("_ZlsIiE1SS0_T_", "S operator<<<int>(S, int)");
	expect("_ZZ1fvENKUlvE_clEv", "f()::'lambda'()::operator()() const");
	expect("_ZZ1fvENKUliE0_clEi", "f()::'lambda0'(int)::operator()(int) const");
	expect("_ZZ1fvENKUliE12_clEi", "f()::'lambda12'(int)::operator()(int) const");
	expect("_ZN1aUt_1fEv", "a::'unnamed'::f()");
	expect("_Z1fDn", "f(std::nullptr_t)");
	expect("_Z1fv.cold", "f() (.cold)");
	expect("_Z1fv.part.0.cold.123", "f() (.part.0.cold.123)");
}

static void skip_without_llvm(void)
{
	if (!strstr(demangle_libraries(), "LLVM")) {
		print_message("SKIP: built without LLVM's demangler\n");
		skip();
	}
}

/* What libiberty of 2022 does not know, and what it spells otherwise. */
TEST(names_of_llvm)
{
	static const char *const names[][2] = {
		{"_Z1hDF16_", "h(_Float16)"},
		{"_Z2biDB37_", "bi(_BitInt(37))"},
		{"_Z2ntIXtl1PLi2ELi3EEEEii", "int nt<P{2, 3}>(int)"},
		{"_Z2nxPDoFiiE", "nx(int (*)(int) noexcept)"},
		{"_Z2pkIJiiiEEiDpT_", "int pk<int, int, int>(int, int, int)"},
		{"_Z3pk2IJiiiEQgtsZT_Li1EEiDpT_", "int pk2<int, int, int>(int, int, int)"},
		{"_ZN1QIiE1mITk3BigiEEiT_", "int Q<int>::m<int>(int)"},
		{"_ZNH1S3barERKS_i", "S::bar(this S const&, int)"},
		{"_ZNH1S3fooIRS_EEiOT_i", "int S::foo<S&>(this S&, int)"},
		{"_ZNK3$_0clIiEEDaT_", "auto $_0::operator()<int>(int) const"},
		{"_ZW3foo1fv", "f@foo()"},
		{"___Z1fv_block_invoke_2", "invocation function for block in f()"},
		{"_ZZ1fvE1x_3", "f()::x"},
		{"_ZZ1fvE1x__12_", "f()::x"},
		{"_ZZ1fvEs_0", "f()::string literal"},
	};
	skip_without_llvm();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		expect(names[i][0], names[i][1]);
	struct text_buf out = {0};
	assert_true(demangle_append_bare(&out, "_ZNH1S3fooIRS_EEiOT_i", 100));
	assert_int_equal(out.n, strlen("S::foo<S&>"));
	assert_memory_equal(out.v, "S::foo<S&>", out.n);
	text_deinit(&out);
}

static void expect_bare(const char *name, const char *want)
{
	struct text_buf out = {0};
	assert_int_equal(demangle_append_bare(&out, name, 1000), *want != '\0');
	text_char(&out, 0);
	assert_string_equal(out.v, want);
	text_deinit(&out);
}

TEST(names_of_microsoft)
{
	static const struct {
		const char *name, *whole, *symbolizer, *bare;
	} names[] = {
		{"?foo@@YAHH@Z", "int __cdecl foo(int)", "foo(int)", "foo"},
		{"??0S@ns@@QEAA@XZ", "public: __cdecl ns::S::S(void)", "ns::S::S(void)", "ns::S::S"},
		{"?f@S@@QEBAXP6AHH@Z@Z", "public: void __cdecl S::f(int (__cdecl *)(int)) const",
		 "S::f(int (__cdecl *)(int)) const", "S::f"},
		{"??$f@US@@PEAVC@@W4E@@@subclass@@YAXTU@@@Z",
		 "void __cdecl subclass::f<struct S, class C *, enum E>(union U)",
		 "subclass::f<struct S, class C *, enum E>(union U)", "subclass::f<S, C *, E>"},
		{"?x@@3HA", "int x", "int x", ""},
		{"?bad", "?bad", "?bad", ""},
		{"??", "??", "??", ""},
	};
	assert_string_equal(demangled("?foo@@YAHH@Z", DEMANGLE_OFF), "?foo@@YAHH@Z");
	skip_without_llvm();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		expect(names[i].name, names[i].whole);
		assert_string_equal(demangled(names[i].name, DEMANGLE_SYMBOLIZER), names[i].symbolizer);
		assert_string_equal(demangled(names[i].name, DEMANGLE_GNU), names[i].symbolizer);
		expect_bare(names[i].name, names[i].bare);
	}
}

#ifndef HAVE_LLVM_DEMANGLE

TEST(names_of_microsoft_alone)
{
	static const char *const names[][2] = {
		{"?foo@@YAHH@Z", "foo"},
		{"?f@S@ns@@QEBAXP6AHH@Z@Z", "ns::S::f"},
		{"??0S@ns@@QEAA@XZ", "ns::S::S"},
		{"??1S@@UEAA@XZ", "S::~S"},
		{"??8S@@QEBA_NAEBU0@@Z", "S::operator=="},
		{"??_GS@@UEAAPEAXI@Z", "S::`scalar deleting dtor'"},
		{"?f@S@1@QEAAXXZ", "S::S::f"},
		{"?f@S@2@QEAAXXZ", NULL},
		{"?f@?A0x1234@ns@1@YAXXZ", "`anonymous namespace'::ns::`anonymous namespace'::f"},
		{"??$f@H@ns@@YAXH@Z", "f<...>"},
		{"?f@?$A@H@ns@@QEAAXXZ", "A<...>::f"},
		{"??1?$A@H@ns@@QEAA@XZ", "A<...>::~A"},
		{"??R<lambda_1>@?1??f@@YAXXZ@QEBA@XZ", "<lambda_1>::operator()"},
		{"??_C@_03KBKNGEFF@abc@", NULL},
		{"??$?HH@ns@@YAHH@Z", "operator+<...>"},
		{"??$?0H@S@@QEAA@H@Z", NULL},
		{"?@@YAXXZ", NULL},
		{"?f@", NULL},
		{"?f@S", NULL},
		{"?bad", NULL},
		{"??", NULL},
		{"??0", NULL},
		{"??0@", NULL},
	};
	static char deep[2 * 40 + sizeof("?f@@YAXXZ")] = "?f@";
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *want = names[i][1] ? names[i][1] : names[i][0];
		expect(names[i][0], want);
		assert_string_equal(demangled(names[i][0], DEMANGLE_GNU), want);
		expect_bare(names[i][0], names[i][1] ? names[i][1] : "");
	}
	for (size_t i = 0; i < 40; i++)
		memcpy(deep + 3 + 2 * i, "a@", 2);
	memcpy(deep + 3 + 80, "@YAXXZ", sizeof("@YAXXZ"));
	expect(deep, deep);
}

#endif

TEST(gnu_spelling)
{
	assert_string_equal(demangled("_ZN1aIN1bIN1cIiEEEEE1fEv", DEMANGLE_GNU), "a<b<c<int> > >::f()");
	assert_string_equal(demangled("_Z1fv.cold", DEMANGLE_GNU), "f() [clone .cold]");
	assert_string_equal(demangled("_Z1fv@plt", DEMANGLE_GNU), "f()@plt");
	assert_string_equal(demangled("_D3foo3barFZv", DEMANGLE_GNU),
			    demangled("_D3foo3barFZv", DEMANGLE_AUTO));
	assert_string_equal(demangled("main", DEMANGLE_GNU), "main");
}

/* Text that no demangler writes must not upset the rewriting. */
TEST(odd_text)
{
	static const char *const texts[] = {"{lambda(",
					    "{lambda()",
					    "{lambda()}",
					    "{lambda()#}",
					    "{lambda()#1",
					    "}",
					    "{",
					    "}}}{{{",
					    " [clone ",
					    " [clone .a",
					    " [clone .a] [clone ",
					    "> >",
					    "< <",
					    " ",
					    "{unnamed type",
					    "{unnamed type#999999999999}",
					    "{lambda({lambda()#2})#3}"};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char *text = strdup(texts[i]);
		assert_true(demangle_restyle(text, strlen(text)) <= strlen(texts[i]));
		free(text);
	}
	char nested[] = "{lambda({lambda()#2})#3}";
	size_t size = demangle_restyle(nested, strlen(nested));
	assert_int_equal(size, strlen("'lambda1'('lambda0'())"));
	assert_memory_equal(nested, "'lambda1'('lambda0'())", size);
}

/* Appends the reference to substitution @index: S_, S0_, ... */
static void add_reference(struct text_buf *name, unsigned index)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	text_char(name, 'S');
	if (index > 36)
		text_char(name, digits[(index - 1) / 36]);
	if (index > 0)
		text_char(name, digits[(index - 1) % 36]);
	text_char(name, '_');
}

/* @head, then @n function types each of which takes two of the one before, then @tail. */
static void expect_refused(const char *head, unsigned first, unsigned n, const char *tail)
{
	struct text_buf name = {0}, out = {0};
	text_str(&name, head);
	for (unsigned i = 0; i < n; i++) {
		text_lit(&name, "PFv");
		add_reference(&name, first + 2 * i);
		add_reference(&name, first + 2 * i);
		text_lit(&name, "E");
	}
	text_str(&name, tail);
	text_char(&name, '\0');
	/* Expanding it would not end in any time. */
	assert_false(demangle_append(&out, name.v, DEMANGLE_AUTO));
	assert_int_equal(out.n, name.n - 1);
	text_deinit(&out);
	text_deinit(&name);
}

TEST(hostile_names_are_cheap)
{
	expect_refused("_Z1fP1A", 1, 40, "");
	expect_refused("_Z1fIJEEvDpFvP1A", 2, 40, "T_E");
	char name[2 * DEMANGLE_INPUT_MAX + 8] = "_Z1fI1AEvDTcldtfp_1gdtfp_mmsZ";
	size_t at = strlen(name);
	memset(name + at, 'm', 138); /* each decrement has its operand twice */
	strcpy(name + at + 138, "1gEE");
	expect(name, name);
	at = (size_t)sprintf(name, "_ZcvT_");
	for (int i = 0; i < 60; i++)
		at += (size_t)sprintf(name + at, "IT_");
	at += (size_t)sprintf(name + at, "IiE");
	for (int i = 0; i < 60; i++)
		at += (size_t)sprintf(name + at, "E");
	sprintf(name + at, "v");
	expect(name, name);
}

#ifdef HAVE_LLVM_DEMANGLE

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
enum { STACK = 4096 * 1024 };
#else
enum { STACK = 512 * 1024 };
#endif

static void put_nothing(const char *text, size_t size, void *user)
{
	(void)text, (void)size, (void)user;
}

static void *run_llvm(void *user)
{
	const struct text_buf *name = user;
	enum demangle_llvm_scheme scheme = name->v[0] == '?' ? DEMANGLE_MICROSOFT : DEMANGLE_ITANIUM;
	return (void *)(intptr_t)demangle_llvm(name->v, name->n, scheme, DEMANGLE_OUTPUT_MAX, put_nothing,
					       NULL);
}

/* @head, @open and @close @n times around @middle, and @tail, on a small stack. */
static enum demangle_llvm_result nest(const char *const parts[5], size_t n)
{
	struct text_buf name = {0};
	pthread_attr_t attr;
	pthread_t thread;
	void *result;
	text_str(&name, parts[0]);
	for (size_t i = 0; i < n; i++)
		text_str(&name, parts[1]);
	text_str(&name, parts[2]);
	for (size_t i = 0; i < n; i++)
		text_str(&name, parts[3]);
	text_str(&name, parts[4]);
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, STACK), 0);
	assert_int_equal(pthread_create(&thread, &attr, run_llvm, &name), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	pthread_attr_destroy(&attr);
	text_deinit(&name);
	return (enum demangle_llvm_result)(intptr_t)result;
}

/* Every way in which names nest: many levels end at a limit, not at the end of the stack. */
TEST(nested_names)
{
	static const char *const kinds[][5] = {
		{"_Z1f", "P", "i", "", ""},
		{"_Z1f", "PFv", "i", "E", ""},
		{"_Z1f", "1aI", "i", "E", ""},
		{"_Z1f", "N1aI", "i", "EE", ""},
		{"_Z1f", "u1aI", "i", "E", ""},
		{"_Z1f", "U1a", "i", "", ""},
		{"_Z1f", "M1a", "i", "", ""},
		{"_Z1f", "PA1_", "i", "", ""},
		{"_Z1f", "DTcv", "i", "Li1EE", ""},
		{"_Z", "Z", "1fv", "E1a", ""},
		{"_Z", "GTt", "1fv", "", ""},
		{"_Z", "Th0_", "1fv", "", ""},
		{"_Z", "GR", "1f_", "_", ""},
		{"_Z1fI", "J", "i", "E", "Evv"},
		{"_Z1fI", "TtTy", "E", "E", "Evv"},
		{"_Z1fI", "Tp", "Ty", "", "Evv"},
		{"_Z1fIX", "ng", "Li1E", "", "EEvv"},
		{"_Z1fIX", "pl", "Li1E", "Li1E", "EEvv"},
		{"_Z1fIX", "tl1a", "Li1E", "E", "EEvv"},
		{"_Z1fIXtl1a", "di1a", "Li1E", "", "EEEvv"},
		{"_Z1fIX", "sr1aI", "i", "E1b", "EEvv"},
		{"_Z1fIXL_Z", "1fIXL_Z", "1fvE", "EEvE", "EEvv"},
		{"_Z", "NKUlTt", "Ty", "E", "vE_clEv"},
		{"_Zcv", "1aI", "T_", "E", "IiEv"},
		{"_Z1fIJEEv", "Dp", "T_", "", ""},
		{"_Z1fIJEEv", "PDpFvDp", "T_", "E", ""},
		{"?x@@3", "PA", "H", "", "A"},
		{"?x@@3", "PEAPEB", "H", "", "A"},
		{"?x@@3", "P6AX", "X", "@Z", "A"},
		{"?x@@3P6A", "P6A", "H", "XZ", "XZA"},
		{"?f@@YAXV", "?$a@V", "b@@", "@@", "@Z"},
		{"?x@", "?1??f@", "@@YAXXZ", "@@YAXXZ", "@3HA"},
		{"?f@@YAX", "Y0A@", "H", "", "@Z"},
		{"??$f@", "$1?f@", "@@YAXXZ", "", "@@YAXXZ"},
	};
	size_t refused = 0;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		assert_int_not_equal(nest(kinds[i], 20), DEMANGLE_LLVM_REFUSED);
		(void)nest(kinds[i], 500);
		for (size_t n = 100; n < 100000; n *= 10)
			refused += nest(kinds[i], n) == DEMANGLE_LLVM_REFUSED;
	}
	assert_true(refused > 2 * ARRAY_SIZE(kinds));
}

#endif

TEST(long_names)
{
	static char name[2 * DEMANGLE_INPUT_MAX];
	static const char *const heads[] = {"_Z1f", "_D1f", "_RNv"};
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		memset(name, 'P', sizeof(name) - 1);
		memcpy(name, heads[i], strlen(heads[i]));
		struct text_buf out = {0};
		assert_false(demangle_append(&out, name, DEMANGLE_AUTO));
		assert_int_equal(out.n, sizeof(name) - 1);
		text_deinit(&out);
		name[DEMANGLE_INPUT_MAX / 2] = '\0';
		expect(name, name);
		name[DEMANGLE_INPUT_MAX / 2] = 'P';
	}
}

/* Results of just the longest size, and of one byte more. */
TEST(short_names)
{
	static const struct {
		const char *name, *text;
		enum demangle_mode mode;
	} names[] = {
		{"_Z1fv", "f()", DEMANGLE_AUTO},
		{"_Z1fv@plt", "f()@plt", DEMANGLE_AUTO},
		{"_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example", DEMANGLE_AUTO},
		{"_D8demangle4testFaZv", "demangle.test(char)", DEMANGLE_AUTO},
		{"pack__inner__proc", "pack.inner.proc", DEMANGLE_ADA},
	};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct text_buf out = {0};
		bool too_long = true;
		size_t size = strlen(names[i].text), max = size - (i == 1 ? strlen("@plt") : 0);
		text_lit(&out, "<");
		assert_true(demangle_append_short(&out, names[i].name, names[i].mode, max, &too_long));
		assert_false(too_long);
		assert_int_equal(out.n, 1 + size);
		assert_memory_equal(out.v + 1, names[i].text, size);
		assert_false(demangle_append_short(&out, names[i].name, names[i].mode, max - 1, &too_long));
		assert_true(too_long);
		assert_int_equal(out.n, 1 + size);
		text_deinit(&out);
	}
	static const char *const none[] = {"main", "_Zfoo", "_D", "_R"};
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		struct text_buf out = {0};
		bool too_long = true;
		assert_false(demangle_append_short(&out, none[i], DEMANGLE_AUTO, 100, &too_long));
		assert_false(too_long);
		assert_int_equal(out.n, 0);
		text_deinit(&out);
	}
}

/* Bare names of just the longest size, and of one byte more. */
TEST(short_bare_names)
{
	static const char *const names[][2] = {{"_ZN2ns1fEi", "ns::f"},
					       {"_D8demangle4testFaZv", "demangle.test(char)"},
					       {"ns::f(int)", "ns::f(int)"}};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct text_buf out = {0};
		size_t max = strlen(names[i][1]);
		assert_true(demangle_append_bare(&out, names[i][0], max));
		text_reset(&out);
		assert_false(demangle_append_bare(&out, names[i][0], max - 1));
		assert_int_equal(out.n, 0);
		text_deinit(&out);
	}
}

/* @head, then @n times @piece. */
static bool affords(bool (*affordable)(const char *name), const char *head, const char *piece, unsigned n)
{
	struct text_buf name = {0};
	text_str(&name, head);
	for (unsigned i = 0; i < n; i++)
		text_str(&name, piece);
	text_char(&name, '\0');
	bool ok = affordable(name.v);
	text_deinit(&name);
	return ok;
}

/* What a name may have of that whose cost grows. */
TEST(costs)
{
	static const char *const retried[] = {"T_I", "T0_I", "T9_I", "TA_I", "TS_I", "T10_I"};
	for (size_t i = 0; i < ARRAY_SIZE(retried); i++) {
		assert_true(affords(demangle_affordable, "_Z1fcv", retried[i], 10));
		assert_false(affords(demangle_affordable, "_Z1fcv", retried[i], 11));
		assert_true(affords(demangle_affordable, "_Z1fc", retried[i], 11));
	}
	static const char *const others[] = {"_I", "A_I", "TU_I", "T:_I", "T@_I", "T/_I", "T_J"};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_true(affords(demangle_affordable, "cv", others[i], 11));
	assert_true(affords(demangle_affordable_d, "_D", "Q", 24));
	assert_false(affords(demangle_affordable_d, "_D", "Q", 25));
	assert_true(affords(demangle_affordable_d, "_D", "q", 2046));
	assert_false(affords(demangle_affordable_d, "_D", "q", 2047));
	assert_true(affords(demangle_affordable_ada, "a", "b", 100));
	static const char *const grown[] = {"aS", "aD", "b___"};
	for (size_t i = 0; i < ARRAY_SIZE(grown); i++) {
		assert_true(affords(demangle_affordable_ada, "a", grown[i], 1));
		assert_false(affords(demangle_affordable_ada, "a", grown[i], 2));
	}
	assert_false(demangle_affordable_ada("a____b"));
}

/* Whether a pack expansion of a type with 2^n and more parts is. */
static bool affords_search(unsigned n)
{
	struct text_buf name = {0};
	text_lit(&name, "_Z1fIJEEvDpFvP1A");
	for (unsigned i = 0; i < n; i++) {
		text_lit(&name, "PFv");
		add_reference(&name, 2 + 2 * i);
		add_reference(&name, 2 + 2 * i);
		text_lit(&name, "E");
	}
	text_str(&name, "T_E");
	text_char(&name, '\0');
	bool ok = demangle_affordable(name.v);
	text_deinit(&name);
	return ok;
}

TEST(searches)
{
	unsigned n = 0;
	while (n < 40 && affords_search(n))
		n++;
	assert_int_equal(n, SEARCHED);
}

/* More names than there are slots, each asked for twice in a row and once more later. */
TEST(cached_names)
{
	enum { NAMES = 20000, SIZE = 16 };
	struct demangle_cache *cache = demangle_cache_new();
	struct text_buf out = {0};
	char *names = calloc(NAMES, SIZE), want[SIZE];
	assert_non_null(names);
	for (int i = 0; i < NAMES; i++)
		snprintf(names + i * SIZE, SIZE, i % 2 ? "_Z6f%05dv" : "g%05d", i);
	for (int round = 0; round < 4 * NAMES; round++) {
		int i = round / 2 % NAMES;
		text_reset(&out);
		demangle_cached(round % 3 ? cache : NULL, &out, names + i * SIZE, DEMANGLE_AUTO);
		snprintf(want, sizeof(want), i % 2 ? "f%05d()" : "g%05d", i);
		assert_int_equal(out.n, strlen(want));
		assert_memory_equal(out.v, want, out.n);
	}
	text_deinit(&out);
	demangle_cache_free(cache);
	demangle_cache_free(NULL);
	free(names);
}

/* Of LeakSanitizer, where it is linked. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/*
 * libiberty's allocating demanglers end the process without memory; here the text has failed. What they had
 * allocated by then is lost.
 */
TEST(without_memory)
{
	static const struct {
		const char *name;
		enum demangle_mode mode;
		long rounds; /* at least */
	} cases[] = {
		{"_D3std5stdio7writelnFAyaZv", DEMANGLE_AUTO, 4},
		{"_D3std5stdio7writelnFAyaZv@plt", DEMANGLE_AUTO, 5},
		{"pack__inner__proc", DEMANGLE_ADA, 2},
		{"_Z4worki", DEMANGLE_AUTO, 1},
	};
	if (__lsan_disable)
		__lsan_disable();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool failed = true;
		long rounds = 0;
		for (; failed; rounds++) {
			struct text_buf out = {0};
			allowed = rounds;
			demangle_append(&out, cases[i].name, cases[i].mode);
			failed = end_allocations();
			assert_int_equal(out.failed, failed);
			text_deinit(&out);
		}
		assert_true(rounds > cases[i].rounds);
	}
	if (__lsan_enable)
		__lsan_enable();
	expect("_D3std5stdio7writelnFAyaZv", "std.stdio.writeln(immutable(char)[])");
}

/* Names of OCaml: three separators, escapes, and names of C that look alike. */
#include "gsym/render/demangle/demangle.h"
#include "tests/lib/unit.h"

static void expect(const char *name, enum demangle_mode mode, const char *want)
{
	struct text_buf out = {0};
	bool mangled = demangle_append(&out, name, mode);
	text_char(&out, '\0');
	assert_false(out.failed);
	assert_string_equal(out.v, want);
	assert_int_equal(mangled, strcmp(name, want) != 0);
	text_deinit(&out);
}

TEST(spellings)
{
	static const char *const names[][2] = {
		{"camlStdlib__List__map_123", "Stdlib.List.map"},
		{"camlStdlib__List.map_123", "Stdlib.List.map"},
		{"camlStdlib__List$map_123", "Stdlib.List.map"},
		{"camlList__map_123@plt", "List.map@plt"},
		{"camlDune__exe__Main__run_all_12", "Dune.exe.Main.run_all"},
		{"camlDune__exe.run__all_12", "Dune.exe.run__all"},
		{"camlA__b__c_12", "A.b__c"},
		{"camlA___c_12", "A._c"},
		{"camlPack.Sub.f_1_12", "Pack.Sub.f_1"},
		{"camlPack$Sub$f_12", "Pack.Sub.f"},
		{"camlStdlib__Map__Make_1234", "Stdlib.Map.Make"},
		{"camlStdlib__List__fun_99", "Stdlib.List.fun_99"},
		{"camlStdlib__List.fun_99", "Stdlib.List.fun_99"},
		{"camlA__entry", "A.entry"},
		{"camlDune__exe__entry", "Dune.exe.entry"},
		{"camlA.code_begin", "A.code_begin"},
		{"camlA$code_end", "A.code_end"},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		expect(names[i][0], DEMANGLE_AUTO, names[i][1]);
}

TEST(escapes)
{
	static const char *const names[][2] = {
		{"camlCtype__instance_poly$27_2148", "Ctype.instance_poly'"},
		{"camlFlambda_middle_end__$2b$2d$2b_1569", "Flambda_middle_end.+-+"},
		{"camlStdlib.$5e$5e_453", "Stdlib.^^"},
		{"camlStdlib$$$5e$$5e_453", "Stdlib.^^"},
		{"camlStdlib..$28$29_1", "Stdlib..()"},
		{"camlA__let$2a$21_104", "A.let*!"},
		{"camlA.anon_fn$5ba.ml$3a1$2c2$5d_7", "A.anon_fn[a.ml:1,2]"},
		{"camlA$fast_12", "A.fast"},
		{"camlA$b_12", "A.b"},
		{"camlA.$c3$a9t$c3$a9_12", "A.\xc3\xa9t\xc3\xa9"},
		{"camlA$$$c3$$a9t_12", "A.\xc3\xa9t"},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		expect(names[i][0], DEMANGLE_AUTO, names[i][1]);
}

TEST(others_are_left)
{
	static const char *const names[] = {
		"caml",          "camlA",         "camlA_12",         "camlA__b",
		"caml_alloc_12", "camlA__",       "camlA___12",       "camlA.b",
		"camlA b__c_12", "camlA__b-c_12", "camlA$00_12",      "camlA__$0a_12",
		"camelA__b_12",  "camlA._12",     "camlA__b_12.cold", "camlA__b_12(int)"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		expect(names[i], DEMANGLE_AUTO, names[i]);
	expect("camlA__b_12", DEMANGLE_GNU, "camlA__b_12");
	expect("camlA__b_12", DEMANGLE_OFF, "camlA__b_12");
}

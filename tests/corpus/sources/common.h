/* Shared by the corpus sources, which use no library header, so that every target can build them. */
#ifndef COMMON_H
#define COMMON_H

#define NOINLINE __attribute__((noinline))
#define ALWAYS __attribute__((always_inline)) inline
#define COLD __attribute__((cold))
#define USED __attribute__((used))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#ifdef __cplusplus
extern "C" {
#endif

extern volatile int sink;

int run_inlines(int n);
int run_split(int n);
int run_switches(int n);
int run_aliases(int n);
int run_statics_a(int n);
int run_statics_b(int n);
int run_sections(int n);
int run_lines(int n);
int run_unity(int n);
int run_shapes(int n);
int run_templates(int n);
int run_odr_a(int n);
int run_odr_b(int n);
int asm_plain(int n);

#ifdef __cplusplus
}
#endif

#endif

/*
 * Symbols as people write them in assembly: functions, sized and unsized labels without a type, a label
 * inside a function, a function nested in another, names that share a start, size 0 before a gap and last.
 */
#if defined(__s390x__)
#define NOP nopr %r7
#define RET br %r14
#elif defined(__powerpc__)
#define NOP nop
#define RET blr
#elif defined(__mips__)
#define NOP nop
#define RET jr $31
#elif defined(__arm__)
#define NOP nop
#define RET bx lr
#elif defined(__sparc__)
#define NOP nop
#define RET retl
#else
#define NOP nop
#define RET ret
#endif

#ifdef _WIN32 /* COFF: symbols have no size */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define SYMBOL(name) JOIN(__USER_LABEL_PREFIX__, name)
#define FUNC(name) .globl SYMBOL(name); .def SYMBOL(name); .scl 2; .type 32; .endef; SYMBOL(name):
#define LABEL(name) .globl SYMBOL(name); SYMBOL(name):
#define SIZED(name)
#define OWN_SECTION .section .text.asm_split, "x"
#else
#define FUNC(name) .globl name; .type name, %function; name:
#define LABEL(name) .globl name; name:
#define SIZED(name) .size name, . - name
#define OWN_SECTION .section .text.asm_split, "ax", %progbits
#endif

	.text
	.balign 16
FUNC(asm_plain)
	NOP
	RET
	NOP
	SIZED(asm_plain)

	.balign 16
FUNC(asm_outer)
	NOP
	NOP
FUNC(asm_nested)
	NOP
	NOP
	SIZED(asm_nested)
LABEL(asm_label_inside)
	NOP
	RET
	NOP
	SIZED(asm_outer)

	.balign 16
LABEL(asm_untyped_sized)
	NOP
	NOP
	RET
	NOP
	SIZED(asm_untyped_sized)

	.balign 16
LABEL(asm_untyped_unsized)
	NOP
	NOP
	RET
	NOP

	.balign 16
FUNC(asm_first_name)
FUNC(asm_second_name)
	NOP
	RET
	NOP
	SIZED(asm_first_name)
	SIZED(asm_second_name)

	.balign 16
FUNC(asm_short_of_two)
FUNC(asm_long_of_two)
	NOP
	SIZED(asm_short_of_two)
	NOP
	RET
	NOP
	SIZED(asm_long_of_two)

	.balign 16
FUNC(asm_function_size_zero)
	NOP
	RET
	NOP
	.balign 64

	OWN_SECTION
	.balign 8
FUNC(asm_in_own_section)
	NOP
	RET
	NOP
	SIZED(asm_in_own_section)
LABEL(asm_last_unsized)
	NOP
	RET
	NOP

#if defined(__linux__) || defined(__ELF__)
	.section .note.GNU-stack, "", %progbits
#endif

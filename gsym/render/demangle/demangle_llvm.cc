/*
 * demangle_llvm.cc - names of C++ by LLVM's demanglers.
 *
 * That of the Itanium ABI: its parser and its nodes are templates in headers of LLVM; its own functions around them trust names: they recurse as
 * deep as a name nests, expand what refers back to itself without a limit, and end the process without memory. So they are
 * instantiated here over an allocator, a parser and an output of ours, and each way to grow passes one of them:
 *
 *   recursion of the parser    each circle of its functions has one that Parser counts, but for two that are counted in
 *                              the name before
 *   recursion of the printer   every node is printed through Output
 *   recursion that asks nodes  ("is it an array?") goes at most as deep as the tree, which the allocator measures
 *   memory                     one arena with a limit, for nodes, vectors and text
 *   time                       what is parsed and what is printed are steps of one budget: a pack expansion that prints
 *                              nothing is counted as well
 *
 * A name beyond a limit is left by longjmp(): all objects on the way lie in the arena or own nothing but its memory.
 * Microsoft's names are not made by templates, so its functions are linked from LLVM's archive (microsoft.sh); they call
 * the same arena. Their recursion is bounded by the size of a name, of which Microsoft's compiler has a limit, and each of
 * their nodes prints something, so that the limit of the text ends what expands.
 * Limits are counts, not times, so that a name gives the same text everywhere. Nothing of the C++ library is linked.
 */
#include "gsym/render/demangle/demangle_llvm.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace llvm::itanium_demangle
{
struct ForwardTemplateReference;
}

namespace
{

/*
 * Of 500,000 names of large programs the deepest parse was 125 calls, the deepest tree 89 nodes, and none took more than
 * 12 steps a byte.
 */
enum : size_t {
	PARSE_DEPTH_MAX = 512,
	PRINT_DEPTH_MAX = 512,
	TREE_DEPTH_MAX = 256,
	FORWARD_MAX = 8, /* parameters before their arguments; each lengthens the longest way */
	UNSEEN_MAX = 64, /* calls of the parser that it does not tell Parser */
	STEPS_MIN = 4096,
	STEPS_PER_BYTE = 32,
	MEMORY_MAX = 16 << 20,
	MICROSOFT_SIZE_MAX = 4096, /* longer ones are hashed by the compiler */
	CHUNK_SIZE = 32 << 10,
	ALIGN = 16,
};

struct chunk {
	chunk *next;
	char pad[ALIGN - sizeof(chunk *)];
};

/* One name. */
struct attempt {
	jmp_buf end;
	demangle_llvm_result why; /* of leaving by end */
	size_t steps;             /* left */
	size_t depth;             /* of what is parsed or printed now */
	size_t max;               /* bytes of text */
	chunk *chunks;
	char *free, *limit; /* of the newest chunk */
	size_t memory;      /* left */
	size_t largest;     /* piece that arena_realloc() may give */
	size_t n_forward;
	const llvm::itanium_demangle::ForwardTemplateReference *forward[FORWARD_MAX];
};

thread_local attempt *now;

[[noreturn]] void leave(demangle_llvm_result why)
{
	now->why = why;
	longjmp(now->end, 1);
}

void count_step(size_t depth_max)
{
	if (now->steps == 0 || now->depth >= depth_max)
		leave(DEMANGLE_LLVM_REFUSED);
	now->steps--;
}

void add_chunk(size_t size)
{
	size = std::max<size_t>(sizeof(chunk) + size, CHUNK_SIZE);
	if (size > now->memory)
		leave(DEMANGLE_LLVM_REFUSED);
	auto *added = static_cast<chunk *>(std::malloc(size));
	if (!added)
		leave(DEMANGLE_LLVM_NO_MEMORY);
	now->memory -= size;
	added->next = now->chunks;
	now->chunks = added;
	now->free = reinterpret_cast<char *>(added + 1);
	now->limit = reinterpret_cast<char *>(added) + size;
}

void *take(size_t size)
{
	if (size > MEMORY_MAX)
		leave(DEMANGLE_LLVM_REFUSED);
	size = (size + ALIGN - 1) & ~(ALIGN - 1);
	if (size > static_cast<size_t>(now->limit - now->free))
		add_chunk(size);
	void *taken = now->free;
	now->free += size;
	return taken;
}

/* ---- In place of the functions of C that the headers call ---- */

void *arena_malloc(size_t size)
{
	char *memory = static_cast<char *>(take(ALIGN + size));
	memcpy(memory, &size, sizeof(size));
	return memory + ALIGN;
}

void *arena_realloc(void *old, size_t size)
{
	if (size > now->largest)
		leave(DEMANGLE_LLVM_TOO_LONG);
	void *grown = arena_malloc(size);
	size_t before;
	if (old) {
		memcpy(&before, static_cast<char *>(old) - ALIGN, sizeof(before));
		memcpy(grown, old, std::min(before, size));
	}
	return grown;
}

void arena_free(void *)
{
}

[[noreturn]] void arena_abort()
{
	leave(DEMANGLE_LLVM_REFUSED);
}

} // namespace

namespace std
{
using ::arena_abort;
using ::arena_free;
using ::arena_malloc;
using ::arena_realloc;
} // namespace std

#define malloc                       arena_malloc
#define realloc                      arena_realloc
#define free                         arena_free
#define abort                        arena_abort
#define DEMANGLE_ASSERT(holds, text) ((holds) ? (void)0 : arena_abort())
#include <llvm/Demangle/ItaniumDemangle.h>
#include <llvm/Demangle/Demangle.h>
#undef malloc
#undef realloc
#undef free
#undef abort

using namespace llvm::itanium_demangle;

/* Of a file of LLVM: steps over "_3" and "__12_", which count local names that are equal. */
const char *llvm::itanium_demangle::parse_discriminator(const char *first, const char *last)
{
	const char *at = first;
	if (at == last)
		return first;
	if (*at != '_') {
		while (at != last && isdigit(static_cast<unsigned char>(*at)))
			at++;
		return at == last ? last : first;
	}
	if (++at == last)
		return first;
	if (isdigit(static_cast<unsigned char>(*at)))
		return at + 1;
	if (*at != '_')
		return first;
	do
		at++;
	while (at != last && isdigit(static_cast<unsigned char>(*at)));
	return at != last && *at == '_' ? at + 1 : first;
}

/*
 * Virtual tables refer to them; nothing here calls them. Weak: a program may have the C++ library's, whose objects then
 * are freed by its own.
 */
__attribute__((weak)) void operator delete(void *memory) noexcept
{
	std::free(memory);
}

extern "C" __attribute__((weak)) void __cxa_pure_virtual()
{
	std::abort();
}

namespace
{

/* What stands in front of each node. */
struct alignas(ALIGN) node_head {
	size_t depth; /* of the tree below it */
};

size_t depth_of(const Node *node)
{
	return node ? (reinterpret_cast<const node_head *>(node) - 1)->depth : 0;
}

size_t depth_of(const NodeArray &nodes)
{
	size_t depth = 0;
	for (const Node *node : nodes)
		depth = std::max(depth, depth_of(node));
	return depth;
}

/* Of an argument of a node's constructor. */
template <class T> size_t depth_below(const T &part)
{
	if constexpr (std::is_same_v<T, NodeArray> || std::is_convertible_v<T, const Node *>)
		return depth_of(part);
	return 0;
}

struct Allocator {
	void reset()
	{
	}

	template <class T, class... Parts> Node *makeNode(Parts &&...parts)
	{
		size_t depth = 0;
		((depth = std::max(depth, depth_below<std::decay_t<Parts>>(parts))), ...);
		if (depth >= TREE_DEPTH_MAX)
			leave(DEMANGLE_LLVM_REFUSED);
		auto *head = new (take(sizeof(node_head) + sizeof(T))) node_head{depth + 1};
		T *node = new (head + 1) T(std::forward<Parts>(parts)...);
		if constexpr (std::is_same_v<T, ForwardTemplateReference>) {
			if (now->n_forward == FORWARD_MAX)
				leave(DEMANGLE_LLVM_REFUSED);
			now->forward[now->n_forward++] = node;
		}
		return node;
	}

	void *allocateNodeArray(size_t n)
	{
		return take(n * sizeof(Node *));
	}
};

/* A call of the parser. */
struct Call {
	Call()
	{
		count_step(PARSE_DEPTH_MAX);
		now->depth++;
	}
	~Call()
	{
		now->depth--;
	}
};

struct Parser : AbstractManglingParser<Parser, Allocator> {
	using Base = AbstractManglingParser<Parser, Allocator>;
	using Base::Base;

	Node *parseEncoding(bool params = true)
	{
		Call call;
		return Base::parseEncoding(params);
	}
	Node *parseName(NameState *state = nullptr)
	{
		Call call;
		return Base::parseName(state);
	}
	Node *parseType()
	{
		Call call;
		return Base::parseType();
	}
	Node *parseQualifiedType()
	{
		Call call;
		return Base::parseQualifiedType();
	}
	Node *parseTemplateArg()
	{
		Call call;
		return Base::parseTemplateArg();
	}
	Node *parseTemplateParamDecl(TemplateParamList *params)
	{
		Call call;
		return Base::parseTemplateParamDecl(params);
	}
	Node *parseExpr()
	{
		Call call;
		return Base::parseExpr();
	}
	Node *parseBracedExpr()
	{
		Call call;
		return Base::parseBracedExpr();
	}
};

struct Output : OutputBuffer {
	void begin()
	{
		count_step(PRINT_DEPTH_MAX);
		if (getCurrentPosition() > now->max)
			leave(DEMANGLE_LLVM_TOO_LONG);
		now->depth++;
	}
	void printLeft(const Node &node) override
	{
		begin();
		OutputBuffer::printLeft(node);
		now->depth--;
	}
	void printRight(const Node &node) override
	{
		begin();
		OutputBuffer::printRight(node);
		now->depth--;
	}
};

/*
 * Bounds the depth of what the parser calls directly: declarations of template parameters in one another (TpTp..., TtTt...),
 * and vendors' types with arguments (u1aIu1aI...).
 */
bool is_shallow(const char *name, size_t size)
{
	size_t unseen = 0;
	for (size_t i = 1; i < size; i++)
		unseen += (name[i - 1] == 'T' && (name[i] == 'p' || name[i] == 't')) ||
			  (name[i - 1] == 'u' && isdigit(static_cast<unsigned char>(name[i])));
	return unseen <= UNSEEN_MAX;
}

/* A conversion operator's parameters that were never found have nothing to print. */
bool is_complete()
{
	for (size_t i = 0; i < now->n_forward; i++)
		if (!now->forward[i]->Ref)
			return false;
	return true;
}

/* ---- What the object file of microsoft.sh calls ---- */

#define REPLACES(name) __asm__("demangle_" #name)

} // namespace

extern "C" {
void *ms_malloc(size_t size) REPLACES(malloc);
void *ms_new(size_t size) REPLACES(_Znwm);
void *ms_new_array(size_t size) REPLACES(_Znam);
void *ms_realloc(void *memory, size_t size) REPLACES(realloc);
void ms_free(void *memory) REPLACES(free);
void ms_delete(void *memory) REPLACES(_ZdlPv);
void ms_delete_sized(void *memory, size_t size) REPLACES(_ZdlPvm);
void ms_delete_array(void *memory) REPLACES(_ZdaPv);
void ms_abort() REPLACES(abort);
void ms_terminate() REPLACES(_ZSt9terminatev);
void ms_out_of_range() REPLACES(_ZSt24__throw_out_of_range_fmtPKcz);
void ms_string() REPLACES(_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm);
void ms_printf() REPLACES(printf);
void ms_putchar() REPLACES(putchar);
/* Tables of the classes of run-time types, which nothing asks for. */
extern const char *const ms_type_info[4] REPLACES(_ZTVN10__cxxabiv117__class_type_infoE);
extern const char *const ms_type_info_of_derived[4] REPLACES(_ZTVN10__cxxabiv120__si_class_type_infoE);

const char *const ms_type_info[4] = {};
const char *const ms_type_info_of_derived[4] = {};

void *ms_malloc(size_t size)
{
	return arena_malloc(size);
}

void *ms_new(size_t size)
{
	return take(size);
}

void *ms_new_array(size_t size)
{
	return take(size);
}

void *ms_realloc(void *memory, size_t size)
{
	return arena_realloc(memory, size);
}

void ms_free(void *)
{
}

void ms_delete(void *)
{
}

void ms_delete_sized(void *, size_t)
{
}

void ms_delete_array(void *)
{
}

void ms_abort()
{
	arena_abort();
}

void ms_terminate()
{
	arena_abort();
}

void ms_out_of_range()
{
	arena_abort();
}

void ms_string()
{
	arena_abort();
}

void ms_printf()
{
	arena_abort();
}

void ms_putchar()
{
	arena_abort();
}
}

namespace
{

/* The text, in the arena. */
std::string_view make_microsoft(const char *name, size_t size, bool is_short)
{
	using namespace llvm;
	auto flags = is_short ? MSDemangleFlags(MSDF_NoAccessSpecifier | MSDF_NoCallingConvention |
						MSDF_NoMemberType | MSDF_NoReturnType)
			      : MSDF_None;
	if (size > MICROSOFT_SIZE_MAX)
		leave(DEMANGLE_LLVM_REFUSED);
	now->largest = 2 * now->max + CHUNK_SIZE;
	const char *text = microsoftDemangle(std::string_view(name, size), nullptr, nullptr, flags);
	return text ? std::string_view(text) : std::string_view();
}

/* The text, in the arena; empty for no name of C++. */
std::string_view make_itanium(const char *name, size_t size, bool bare)
{
	if (!is_shallow(name, size))
		leave(DEMANGLE_LLVM_REFUSED);
	auto *parser = new (take(sizeof(Parser))) Parser(name, name + size);
	const Node *root = parser->parse(!bare);
	if (!root || !is_complete())
		return {};
	auto *text = new (take(sizeof(Output))) Output();
	root->print(*text);
	return *text;
}

} // namespace

demangle_llvm_result demangle_llvm(const char *name, size_t size, demangle_llvm_scheme scheme, size_t max,
				   void (*put)(const char *text, size_t size, void *user), void *user)
{
	attempt made = {};
	made.max = max;
	made.memory = MEMORY_MAX;
	made.steps = STEPS_MIN + STEPS_PER_BYTE * size;
	made.largest = MEMORY_MAX;
	now = &made;
	if (!setjmp(made.end)) {
		bool itanium = scheme == DEMANGLE_ITANIUM || scheme == DEMANGLE_ITANIUM_BARE;
		std::string_view text =
			itanium ? make_itanium(name, size, scheme == DEMANGLE_ITANIUM_BARE)
				: make_microsoft(name, size, scheme == DEMANGLE_MICROSOFT_SHORT);
		made.why = text.empty()        ? DEMANGLE_LLVM_UNKNOWN
			   : text.size() > max ? DEMANGLE_LLVM_TOO_LONG
					       : DEMANGLE_LLVM_OK;
		if (made.why == DEMANGLE_LLVM_OK)
			put(text.data(), text.size(), user);
	}
	for (chunk *next; made.chunks; made.chunks = next) {
		next = made.chunks->next;
		std::free(made.chunks);
	}
	now = nullptr;
	return made.why;
}

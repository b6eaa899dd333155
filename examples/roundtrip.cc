// Writes a function with an inlined call, reads it back and prints what is at one of its addresses.
//
//     c++ roundtrip.cc $(pkg-config --cflags --libs gsym) && ./a.out
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include <gsym/gsym.h>

using reader_ptr = std::unique_ptr<gsym_reader, decltype(&gsym_reader_close)>;
using writer_ptr = std::unique_ptr<gsym_writer, decltype(&gsym_writer_free)>;
using memory_ptr = std::unique_ptr<void, decltype(&std::free)>;

static void check(int err, const gsym_diag &diag)
{
	if (err)
		throw std::runtime_error(diag.text);
}

static uint64_t store(gsym_writer *writer, const std::string &text)
{
	uint64_t strp = 0;
	if (gsym_writer_string(writer, text.data(), text.size(), &strp))
		throw std::bad_alloc();
	return strp;
}

static memory_ptr write(size_t *size)
{
	gsym_diag diag{};
	gsym_writer_options options{};
	options.struct_size = sizeof(options);
	options.version = 2;
	gsym_writer *raw = nullptr;
	check(gsym_writer_new(&options, &raw, &diag), diag);
	writer_ptr writer(raw, gsym_writer_free);

	uint32_t file = 0;
	if (gsym_writer_file(raw, store(raw, "/src"), store(raw, "shape.cc"), &file))
		throw std::bad_alloc();
	const gsym_row rows[] = {{0, file, 10}, {8, file, 3}, {16, file, 12}};
	const gsym_range ranges[] = {{8, 8}};
	gsym_inline call{};
	call.name = store(raw, "square(int)");
	call.call_file = file;
	call.call_line = 11;
	call.depth = 1;
	call.n_ranges = 1;
	gsym_func func{};
	func.start = 0x1000;
	func.size = 32;
	func.name = store(raw, "area(int)");
	func.rows = rows;
	func.n_rows = 3;
	func.inlines = &call;
	func.n_inlines = 1;
	func.ranges = ranges;
	func.n_ranges = 1;
	check(gsym_writer_add(raw, &func, &diag), diag);

	void *data = nullptr;
	check(gsym_writer_finish_memory(raw, &data, size, &diag), diag);
	return memory_ptr(data, std::free);
}

static void print(const gsym_reader *reader, uint64_t address)
{
	gsym_diag diag{};
	gsym_answer answer{};
	int err = gsym_lookup(reader, address, &answer, &diag);
	for (size_t i = 0; !err && i < answer.n_frames; i++) {
		const gsym_frame &f = answer.frames[i];
		std::printf("%s%s at %s/%s:%u\n", i ? " (inlined by) " : "", f.name, f.dir, f.base, f.line);
	}
	gsym_answer_deinit(&answer);
	check(err, diag);
}

int main()
{
	try {
		size_t size = 0;
		gsym_diag diag{};
		gsym_reader *reader = nullptr;
		memory_ptr data = write(&size);
		check(gsym_reader_open_memory(data.get(), size, &reader, &diag), diag);
		print(reader_ptr(reader, gsym_reader_close).get(), 0x100a);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "%s\n", e.what());
		return 1;
	}
	return 0;
}

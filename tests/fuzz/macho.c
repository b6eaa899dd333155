/*
 * A Mach-O file, or one with several images: reading each, their symbols and stubs, the trie of exported
 * symbols, and the whole converter for the first. Checked is what the rest of the converter relies on.
 */
#include "convert/convert.h"
#include "convert/object/identity.h"
#include "convert/object/macho.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool promise)
{
	if (!promise)
		abort();
}

static void check_sections(const struct image *image)
{
	const uint8_t *end = image->map + image->map_size;
	for (size_t i = 0; i < image->sections.n; i++) {
		const struct section *s = &image->sections.v[i];
		expect(s->name != NULL);
		expect(!s->raw.size || (s->raw.data >= image->map && s->raw.data <= end &&
					s->raw.size <= (size_t)(end - s->raw.data)));
	}
	for (size_t i = 1; i < image->text.n; i++)
		expect(image->text.v[i - 1].hi < image->text.v[i].lo);
}

/* Symbols are in code, and their names end. */
static void check_symbols(struct image *image)
{
	struct image *const sources[] = {image};
	if (image_load_symbols(image, sources, 1))
		return;
	for (size_t i = 0; i < image->symbols.n; i++) {
		expect(ranges_find(&image->text, image->symbols.v[i].addr) != NULL);
		expect(strlen(image->symbols.v[i].name) <= image->map_size + sizeof("symbol stub for: "));
	}
}

static int check_image(void *user, struct image *image)
{
	size_t *n = user;
	check_sections(image);
	check_symbols(image);
	image->symbols.n = 0; /* the next slice has others */
	return ++*n < SLICES_MAX ? 0 : 1;
}

static void check_slices(struct span file)
{
	struct macho_slice slices[SLICES_MAX];
	size_t n = macho_slices(file, slices, SLICES_MAX);
	for (size_t i = 0; i < n; i++) {
		expect(slices[i].off <= file.size && slices[i].size <= file.size - slices[i].off &&
		       slices[i].arch[0]);
		struct image *image;
		size_t seen = 0;
		if (image_open_memory(file.data + slices[i].off, slices[i].size, "slice", &image, NULL))
			continue;
		check_image(&seen, image);
		image_close(image);
	}
}

struct names {
	size_t n, bytes;
};

static int count_name(void *user, const char *name, uint64_t addr)
{
	struct names *names = user;
	(void)addr;
	names->n++;
	names->bytes += strlen(name);
	return 0;
}

/* A trie gives no more names than it has bytes, by some factor. */
static void check_trie(struct span trie)
{
	struct names names = {0};
	macho_walk_exports(trie, count_name, &names);
	expect(names.n <= 4 * trie.size + 1);
}

static void check_whole(const uint8_t *data, size_t size)
{
	struct convert_options options = {.threads = 1, .version = 2};
	struct convert_summary summary = {0};
	struct gsym_diag diag = {""};
	void *out;
	size_t out_size;
	if (convert_memory(data, size, "input", &options, &out, &out_size, &summary, &diag)) {
		expect(diag.text[0]);
		return;
	}
	struct gsym_reader *reader;
	expect(!gsym_reader_open_memory(out, out_size, &reader, NULL));
	gsym_reader_close(reader);
	convert_summary_deinit(&summary);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span file = {data, size};
	struct image *image;
	size_t seen = 0;
	check_slices(file);
	check_trie(file);
	if (!image_open_memory(data, size, "input", &image, NULL)) {
		if (image->macho)
			check_image(&seen, image);
		image_close(image);
	}
	check_whole(data, size);
	return 0;
}

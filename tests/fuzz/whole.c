/* See whole.h. */
#include "whole.h"

#include "convert/convert.h"
#include "convert/identity/identity.h"
#include "tests/fuzz/expect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void check_output(const void *data, size_t size)
{
	struct gsym_reader *reader;
	struct gsym_decoder *decoder = gsym_decoder_new();
	struct gsym_func func;
	expect(!gsym_reader_open_memory(data, size, &reader, NULL));
	const struct gsym_info *info = gsym_reader_info(reader);
	for (uint32_t i = 0; decoder && i < info->num_addresses; i++)
		expect(gsym_reader_function(reader, i, decoder, &func, NULL) != -EBADMSG);
	gsym_decoder_free(decoder);
	gsym_reader_close(reader);
}

static int convert_with(const uint8_t *data, size_t size, unsigned threads, uint16_t version, void **ret,
			size_t *n)
{
	struct convert_options options = {.threads = threads, .version = version};
	struct convert_summary summary = {0};
	struct gsym_diag diag = {""};
	int err = convert_memory(data, size, "input", &options, ret, n, &summary, &diag);
	expect(!err || diag.text[0]);
	if (!err)
		convert_summary_deinit(&summary);
	return err;
}

void convert_whole(const uint8_t *data, size_t size)
{
	void *one, *two;
	size_t n_one, n_two;
	if (convert_with(data, size, 1, 2, &one, &n_one))
		return;
	check_output(one, n_one);
	if (convert_with(data, size, 2, 2, &two, &n_two) == 0) {
		expect(n_one == n_two && !memcmp(one, two, n_one));
		free(two);
	}
	free(one);
}

/*
 * Looks addresses up in a GSYM file with libgsym; no mount is needed.
 *
 *     cc -o lookup lookup.c $(pkg-config --cflags --libs gsym) && ./lookup FILE.gsym ADDRESS...
 *
 * Prints the frames of each address, the innermost first. The exit status is 1 if one is in no function.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <gsym/gsym.h>

static void print(uint64_t address, const struct gsym_answer *answer)
{
	char name[1024], path[1024]; /* longer ones are cut */
	for (size_t i = 0; i < answer->n_frames; i++) {
		const struct gsym_frame *f = &answer->frames[i];
		gsym_demangle(f->name, 0, name, sizeof(name));
		gsym_path(f->dir, f->base, path, sizeof(path));
		printf("0x%" PRIx64 "%s %s+0x%" PRIx64, address, i ? " inlined by" : "", name, f->offset);
		printf(" at %s:%" PRIu32 "\n", *path ? path : "??", f->line);
	}
}

int main(int argc, char **argv)
{
	struct gsym_diag diag = {""};
	struct gsym_answer answer = {0}; /* used again, which saves allocations */
	struct gsym_reader *reader;
	int status = 0;
	if (argc < 3) {
		fprintf(stderr, "usage: %s FILE.gsym ADDRESS...\n", argv[0]);
		return 2;
	}
	if (gsym_reader_open(argv[1], &reader, &diag)) {
		fprintf(stderr, "%s: %s\n", argv[0], diag.text);
		return 1;
	}
	for (int i = 2; i < argc; i++) {
		uint64_t address = strtoull(argv[i], NULL, 16);
		int err = gsym_lookup(reader, address, &answer, &diag);
		if (!err)
			print(address, &answer);
		else if (err == -ENOENT)
			printf("0x%" PRIx64 " ??\n", address);
		else
			fprintf(stderr, "%s: %s\n", argv[0], diag.text);
		status |= err != 0;
	}
	gsym_answer_deinit(&answer);
	gsym_reader_close(reader);
	return status;
}

"""Which tests are run for a mutant, and in which order: those first that are cheap and likely to notice.

Unit tests that include the header of the changed file, or name its function, or include another header of its folder come
first, in this order.
Then golden tests of the room, fuzzing and damaged files, and tests of mounts; of golden tests and those of mounts first
whose scripts have the words of the changed line, its function and its file. After some of them the other unit tests.
Last are those of the same wing that nothing connects with the change.
"""
import collections
import fnmatch
import math
import re

UNITS_FIRST = ("log/", "gsym/render/")  # tested as a whole: few tests name a file or a function of them
KINDS = ("unit", "golden", "fuzz", "bad", "system")
EARLY = 6  # tests of mounts that are run before unit tests of other files
FURTHER = 4  # tests of mounts that the room does not name, if it names any

GSYM_TAIL = ("golden", "crafted", "calls", "gsym source", "segments", "bad-answers", "bad-gsym", "mount-lookup")
CONVERT_TAIL = ("short memory", "golden", "crafted", "golden symbols", "calls", "defects", "relocatable", "costly", "no memory",
                "no memory formats", "object lookup", "bad-answers", "bad-elf")
CODEC_UNITS = ("record", "reader", "lookup", "layout", "writer", "copier", "damage", "inline", "callsite", "linetab", "strtab",
               "intervals", "enclosing", "name_index", "memory", "reencode")
FILTER = ("filter*", "log_formats", "map_line", "memory_map", "pattern", "pending_stack", "shown_match", "source_position", "stack_*",
          "symbol_match", "golden", "logs", "log samples", "log table", "stacks", "core files",
          "fuzz-filter", "mount-log")
STORE = ("store_key", "store_object", "store_trust", "lease", "breaker", "store-*", "file_print", "golden store", "store faults",
         "store engines", "store process", "store S3", "fuzz-store_object")
MOUNT = ("mount-lookup", "mount-interface", "mount-read", "mount-daemon", "mount-batch", "mount-access", "mount-source",
         "mount-scan", "mount-cache", "mount-by_path", "mount-odd", "mount-worker")

# Patterns of test names for a room, or for a folder in it: the longest prefix of the path decides.
TESTS = {
    "gsym": GSYM_TAIL,
    "gsym/base": ("cursor", "diag", "sort", "text_set", "section_stream", "strtab", "render", "batch", "sharded_batch",
                  "memory", *GSYM_TAIL, "logs", "golden symbols", "object lookup", "fuzz-gsym_reader"),
    "gsym/codec": (*CODEC_UNITS, "fuzz-gsym_reader", "fuzz-callsites", *GSYM_TAIL),
    "gsym/read": (*CODEC_UNITS, "batch", "render", "shown_names", "fuzz-gsym_reader", *GSYM_TAIL, "stacks"),
    "gsym/write": (*CODEC_UNITS, *GSYM_TAIL),
    "gsym/render": ("render", "batch", "demangle", "shown_names", "batch_real", "golden", "golden symbolizer", "stacks", "calls",
                    "gsym source", "mount-interface", "mount-lookup", "mount-batch", "mount-titles"),
    "log": FILTER,
    "convert": ("finalize", "emit", "stub", "section_stream", "crafted fragments", *CONVERT_TAIL),
    "convert/record": ("finalize", "emit", "text_set", *CONVERT_TAIL),
    "convert/object": ("section_stream", "htlhash", "store_key", "stub", *CONVERT_TAIL, "compressed", "macho objects", "golden macho",
                       "golden pe", "pdb files", "released", "fuzz-elf", "mount-pe"),
    "convert/object/elf": ("stub", "golden symbols", "relocatable", *CONVERT_TAIL, "fuzz-elf"),
    "convert/object/inflate": ("section_stream", "compressed", "compressed files", "fuzz-inflater", *CONVERT_TAIL),
    "convert/object/macho": ("short memory", "golden macho", "macho objects", "fuzz-macho", "mount-macho", "bad-macho", "bad-fat", "bad-containers"),
    "convert/object/pdb": ("short memory", "pdb crafted", "pdb costly", "golden pdb", "pdb files", "fuzz-pdb", "mount-pdb"),
    "convert/object/pe": ("short memory", "golden pe", "golden pdb", "fuzz-pe", "mount-pe"),
    "convert/dwarf": (*CONVERT_TAIL, "compressed", "bad-containers", "crafted fragments", "matrix-quick", "fuzz-dwarf", "languages", "ways"),
    "convert/build": ("symtab", "markers", "finalize", "annotations", *CONVERT_TAIL, "macho objects", "crafted fragments", "fragments", "matrix-quick", "folded", "languages"),
    "convert/golang": ("short memory", "golang", "no memory formats", "fuzz-golang"),
    "convert/codeview": ("short memory", "pdb crafted", "pdb costly", "golden pdb", "fuzz-codeview"),
    "convert/finish": ("finalize", "emit", "annotations", "text_set", *CONVERT_TAIL, "fuzz-callsites", "folded", "matrix-quick"),
    "convert/breakpad": ("short memory", "breakpad", "no memory formats", "fuzz-breakpad", "bad-breakpad", "golden", "mount-breakpad", "breakpad-real"),
    "convert/verify": ("short memory", "golden verify", "golden", "defects", "crafted", "golden symbols", "macho objects", "ways", "languages", "matrix-quick"),
    "work/os": ("acl", "mutex", "mount-access", "mount-led_astray", "mount-source", "mount-neighbours", "mount-cache",
                   "mount-daemon", "mount-by_path"),
    "work/types": ("memory_limit", "fault", "fs-message", "object lookup", "mount-worker", "mount-lookup", "mount-formats"),
    "work/options": ("cli_options", "fs-daemon_options", "symbolizer_options", "completion", "manuals", "help_examples", "golden",
                     "golden symbolizer", "mount-daemon"),
    "work/sandbox": ("fs-sandbox*", "call-filter", "object lookup", "store process", "mount-worker", "mount-led_astray",
                     "mount-debuginfod", "mount-shared_server"),
    "work/worker": ("fs-message", "object lookup", "mount-worker", "mount-lookup", "mount-fragment", "mount-led_astray"),
    "work/swift": ("swift names", "mount-swift"),
    "work/cache": ("cache_*", "fs-name", "handle", "file_state", "share_inputs", "fs-notes", "fs-revision", "object lookup", "mount-cache",
                      "mount-places", "mount-source", "mount-neighbours", "mount-shared"),
    "store/share": ("share_*", "convert_run", *STORE, "mount-shared", "mount-shared_faults"),
    "store/client": (*STORE, "mount-shared", "mount-shared_faults"),
    "work/run": ("neighbour", "inputs", "share_inputs", "fetcher", "fs-revision", "object lookup", "golden store", "mount-neighbours",
                    "mount-led_astray", "mount-worker", "mount-debuginfod", "mount-cache", "mount-fragment", "mount-shared",
                    "mount-shared_faults", "mount-cold", "mount-sources"),
    "cli": ("segment", "golden", "object lookup", "calls", "stacks", "segments", "core files", "golden symbols", "no memory",
                    "golden peer", "progress", "completion", "mount-tools"),
    "store/transfer": STORE,
    "cli/store": ("golden store", *STORE, "mount-store_command", "mount-shared"),
    "cli/symbolizer": ("golden symbolizer", "no memory", "symbolizer clients", "addr2line-real", "symbolizer-real"),
    "cli/worker": ("fs-sandbox", "object lookup", "mount-worker", "mount-debuginfod", "mount-neighbours", "mount-lookup",
                           "mount-fragment", "mount-breakpad", "golden store"),
    "fs": ("mount-daemon", "mount-tools", "completion", "manuals", *MOUNT),
    "fs/sys": ("fs-slots", "mount-daemon", "mount-metrics", "mount-fair", "mount-idle", "mount-access", "mount-watch", *MOUNT),
    "fs/name": ("fs-name", "fs-node", "fuzz-path_name", "mount-names", "mount-by_path", *MOUNT),
    "fs/call": ("fs-call", "mount-cold", "mount-odd", "mount-fair", *MOUNT),
    "fs/images": ("fs-catalogue", "fs-choice", "fs-image_find", "fs-image_release", "fs-revision", "fs-inode_numbers", "fs-caller", "fs-path_tree",
                  "mount-names", "mount-other_ids", "mount-handles", "mount-export", "mount-idle", "mount-fragment", *MOUNT),
    "fs/scan": ("fs-index", "fs-skipped", "fs-titles", "mount-scan", "mount-source", "mount-sources", "mount-watch",
                "mount-titles", "mount-by_path", "mount-truncated", "mount-other_ids", "mount-cold", "mount-shared", *MOUNT),
    "fs/convert": ("mount-cold", "mount-cache", "mount-fair", "mount-worker", "mount-idle", "mount-fragment", "fs-scan_request", *MOUNT),
    "fs/answer": ("fs-fair", "fs-notes", "fs-stream_buf", "mount-tables", "mount-batch", "mount-log", "mount-modules", "mount-titles",
                  "mount-fragment_batch", "mount-handles", "mount-fair", "mount-idle", *MOUNT),
    "fs/tree": ("fs-fixed", "fs-node", "mount-interface", "mount-readonly", "mount-handles", "mount-export", "mount-metrics", "mount-names",
                *MOUNT, "mount-stress"),
}


def all_words(text):
    """The parts of identifiers, too; without the plural, so that "titles" are what "title" is about."""
    return [word.rstrip("s") for word in re.findall(r"[a-z0-9]{3,}", text.lower())]


def words(text):
    return set(all_words(text))


def mentions(sources, name, function):
    """How much the sources of a unit test have to do with a file: 0 is nothing."""
    header = re.sub(r"\.c$", ".h", name)
    text = "".join(sources)
    room = f'#include "{name.rsplit("/", 1)[0]}/'
    return (f'"{header}"' in text) + (room in text) / 2 + 2 * len(re.findall(rf"\b{function}\b", text)) * bool(function)


class Relevance:
    """How much of what a mutant is about stands in the script of a test; rare words weigh more."""

    def __init__(self, tests):
        self.counts = {name: collections.Counter(all_words(test.script + f" {name}" * 5)) for name, test in tests.items() if test.script}
        self.spread = collections.Counter(word for counts in self.counts.values() for word in counts)

    def of(self, mutant, name):
        counts = self.counts.get(name, {})
        place = words(f"{mutant.name.rsplit('/', 1)[1]} {mutant.function}")
        wanted = collections.Counter({word: 2 for word in place}) + collections.Counter(words(mutant.old))
        return sum(weight * math.log(len(self.counts) / self.spread[word]) * (1 + math.log(counts[word]))
                   for word, weight in wanted.items() if word in counts)


def prefixes(name):
    """The keys of TESTS that fit a path."""
    return [p for p in TESTS if name.startswith(p + "/")]


def tests_for(mutant, tests, relevance):
    """Tests of the mapping @tests, by name, in the order in which to run them; a test has .sources (text), .suite and .wing."""
    near = [(mentions(t.sources, mutant.name, mutant.function), n) for n, t in tests.items() if t.suite == "unit"]
    found = [n for score, n in sorted(near, key=lambda pair: -pair[0]) if score]
    path = words(mutant.name)
    for pattern in TESTS[max(prefixes(mutant.name), key=len)]:
        matching = fnmatch.filter(tests, pattern)
        found += [n for n in sorted(matching, key=lambda n: -len(path & words(n))) if n not in found]
    late = [n for n in found if tests[n].suite in ("mount", "compare")]
    if late:
        others = [n for n, t in tests.items() if t.suite == "mount" and n not in late]
        late += sorted(others, key=lambda n: -relevance.of(mutant, n))[:FURTHER]
    late.sort(key=lambda n: -relevance.of(mutant, n))
    # Each program is linked again, and seldom notices what it does not name.
    scores = dict((name, score) for score, name in near)
    last = [n for n in found if tests[n].suite == "unit" and not scores[n] and not mutant.name.startswith(UNITS_FIRST)]
    first = [n for n in found if n not in late and n not in last]
    first.sort(key=lambda n: (KINDS.index(tests[n].suite), -relevance.of(mutant, n) if tests[n].suite == "golden" else 0))
    wing = mutant.name.split("/", 1)[0]
    rest = [n for n, t in tests.items() if t.wing == wing and n not in found]
    return first + late[:EARLY] + last + late[EARLY:] + rest

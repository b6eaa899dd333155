#!/usr/bin/env python3
"""layers.py refuses what it is there to refuse: each defect is planted in a small tree that passes without it."""
import os
import subprocess
import sys
import tempfile

LAYERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "layers.py")
TABLE = """<!-- rooms -->
| `gsym/base` | below | |
| `work/types` | below, too | |
| `fs` | above | `gsym/base` |
<!-- end of rooms -->
"""
TREE = {
    "CONTRIBUTING.md": TABLE,
    "gsym/base/text.h": "struct text {\n};\nint text_add(struct text *text);\n",
    "gsym/base/text.c": '#include "gsym/base/text.h"\nint text_add(struct text *text)\n{\n\treturn !text;\n}\n',
    "work/types/image_kind.h": "#define IMAGE_KINDS(X) \\\n\tX(ELF, elf, 0)\n",
    "work/types/convert_revision.c": "",
    "fs/parts.h": '#include "gsym/base/text.h"\nint scan_start(void);\nint queue_add(void);\nextern int queue_size;\n',
    "fs/scan.c": '#include "fs/parts.h"\nint scan_start(void)\n{\n\treturn queue_add() + text_add(0);\n}\n',
    "fs/queue.c": '#include "fs/parts.h"\nint queue_size = 1;\nint queue_add(void)\n{\n\treturn 0; /* unlike scan_start() */\n}\n',
}
PLANTED = (
    ("an include that points up", {"gsym/base/text.c": '#include "fs/tree.h"\n', "fs/tree.h": ""}, "gsym/base may not include fs"),
    ("an include of a folder's own", {"fs/scan.c": '#include "parts.h"\n'}, "is not written from the root"),
    ("headers that include one another", {"gsym/base/text.h": '#include "gsym/base/list.h"\n',
                                          "gsym/base/list.h": '#include "gsym/base/text.h"\n'}, "include one another in a circle"),
    ("a circle of calls that a shared header hides", {"fs/queue.c": "int queue_fill(void)\n{\n\treturn scan_start();\n}\n"},
     "use one another in a circle: fs/queue fs/scan"),
    ("a circle by an address", {"fs/queue.c": "int (*const queue_hook)(void) = scan_start;\n"}, "use one another in a circle"),
    ("a circle by an object", {"fs/queue.c": "int scan_end(void);\nint queue_end(void)\n{\n\treturn scan_end();\n}\n",
                               "fs/parts.h": "int scan_end(void);\n",
                               "fs/scan.c": "int scan_end(void)\n{\n\treturn queue_size;\n}\n"}, "use one another in a circle"),
    ("a call that points up", {"gsym/base/text.h": "int tree_close(void);\n",
                               "gsym/base/text.c": "int text_end(void)\n{\n\treturn tree_close();\n}\n",
                               "fs/tree.c": '#include "gsym/base/text.h"\nint tree_close(void)\n{\n\treturn 0;\n}\n'},
     "uses tree_close of fs/tree.c"),
    ("a tag used twice", {"fs/scan.c": "struct text {\n};\n"}, "a tag is used once"),
    ("a file name used twice", {"fs/text.h": ""}, "files called text in"),
    ("a folder without a row", {"fs/deep/more.h": ""}, "has no row in the table"),
    ("code that asks for a kind", {"fs/scan.c": "int scan_kind = IMAGE_ELF;\n"}, "names a kind of object file"),
    ("a room that is too large", {f"fs/more_{i}.h": "" for i in range(40)}, "above 40 a room is two"),
)


def complaints(root, planted):
    for path in TREE.keys() | planted.keys():
        os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as f:
            f.write(TREE.get(path, "") + planted.get(path, ""))
    run = subprocess.run([sys.executable, LAYERS, root], capture_output=True, text=True)
    return run.returncode, run.stderr


def main():
    failed = 0
    for name, planted, expected in (("nothing", {}, None), *PLANTED):
        with tempfile.TemporaryDirectory() as root:
            status, said = complaints(root, planted)
        good = status == 1 and expected in said and said.count("\n") == 1 if expected else status == 0 and not said
        if not good:
            print(f"{name} planted: exit status {status}, and said\n{said}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())

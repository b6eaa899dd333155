#!/usr/bin/env python3
"""Markdown and man pages have one sentence a line, and what they refer to exists.

    documents.py ROOT

In Markdown: every line of prose is one whole sentence (code, tables and headings are left out), relative links lead to a
file and their anchors to a heading, and file names, structs, enums and functions in backticks are those of the tree.
In man pages: no line holds the end of one sentence and the beginning of another.
"""
import os
import re
import sys

# A name in backticks that begins with one of these is a path from the root.
TOPS = ("gsym/", "log/", "work/", "convert/", "store/", "fs/", "cli/", "tests/", "docs/", "examples/", "system/", "debian/")
FILE_NAME = re.compile(r"[\w.+/-]+\.(?:c|h|cc|py|awk|md|svg|t|map|build)")
C_TOPS = ("gsym/", "log/", "work/", "convert/", "store/", "fs/", "cli/", "tests/")
PLACEHOLDER = re.compile(r"[<>*{}$]|NAME|PROGRAM|FILE\b")
# Names that stand for files of the reader.
NOT_OURS = {"program.c", "file.c", "prog.c", "name.c", "gsym/gsym.h", "linux/skbuff.h"}
ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|resp)|\.\.)\.$", re.I)
SENTENCE_END = re.compile(r"[.!?][)\"'*_”’]*(?=\s)")
LINE_END = re.compile(r"[.!?:][)\"'*_”’]*$")
MARKER = re.compile(r"\s*(?:[*+-]|\d+\.)\s+")
CODE = re.compile(r"(`+)(.+?)\1")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")

complaints = []
counts = dict.fromkeys(("Markdown files", "lines of prose", "links", "file names", "code terms", "man pages", "lines of text"), 0)


def complain(path, number, text):
    complaints.append(f"{path}:{number}: {text}")


def tree(root):
    """All files below the root, without build trees and hidden folders."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f != "__pycache__" and
                            not (folder == root and f.startswith("build")))
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), root)


def has_two_sentences(text):
    return any(not ABBREVIATION.search(text[:end.start() + 1]) for end in SENTENCE_END.finditer(text.rstrip()))


# ---- Markdown ----

def blocks(lines):
    """(number, kind, line) of each line: "text", "item" (the first line of a list item), or "other"."""
    fence, before = None, "blank"
    for number, line in enumerate(lines, 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence or mark:
            kind = "other"
            if mark and (not fence or mark[1].startswith(fence)):
                fence = None if fence else mark[1]
        elif not line.strip():
            kind = "blank"
        elif re.match(r"\s*(\||#|<!--|</?\w+>?$)", line) or (line.startswith("    ") and before in ("blank", "code")):
            kind = "code" if line.startswith("    ") else "other"
        else:
            kind = "item" if MARKER.match(line) else "text"
        before = kind
        yield number, kind if kind in ("text", "item") else "other", line


def check_sentences(path, lines):
    unfinished = None
    for number, kind, line in blocks(lines):
        if unfinished and kind == "text":
            complain(path, unfinished, "the sentence goes on in the next line")
        unfinished = None
        if kind == "other":
            continue
        counts["lines of prose"] += 1
        text = CODE.sub("code", MARKER.sub("", line, count=1) if kind == "item" else line.strip())
        if has_two_sentences(text):
            complain(path, number, "more than one sentence")
        if not LINE_END.search(text):
            unfinished = number


def anchors(lines):
    """What GitHub calls the headings."""
    found = set()
    for number, kind, line in blocks(lines):
        heading = re.match(r"#+\s+(.*)", line) if kind == "other" else None
        if heading:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1].replace("`", "")).strip().lower()
            name = base = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            again = 0
            while name in found:
                again += 1
                name = f"{base}-{again}"
            found.add(name)
    return found


def prose_and_tables(lines):
    fenced = False
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*(```|~~~)", line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def check_links(root, path, lines):
    for number, line in prose_and_tables(lines):
        for target in LINK.findall(CODE.sub("code", line)):
            if re.match(r"[a-z]+:", target):
                continue
            counts["links"] += 1
            name, _, anchor = target.partition("#")
            there = os.path.normpath(os.path.join(root, os.path.dirname(path), name)) if name else os.path.join(root, path)
            if not os.path.exists(there):
                complain(path, number, f"dead link: {target}")
            elif anchor and anchor not in anchors(open(there, encoding="utf-8").read().splitlines()):
                complain(path, number, f"no such heading: {target}")


def check_file_names(root, path, lines, base_names):
    for number, line in prose_and_tables(lines):
        for _, code in CODE.findall(line):
            word = code.split()[0] if code.split() else ""
            if word in NOT_OURS or PLACEHOLDER.search(word) or not (word.startswith(TOPS) or FILE_NAME.fullmatch(word)):
                continue
            counts["file names"] += 1
            places = [os.path.join(root, word), os.path.join(root, os.path.dirname(path), word)]
            if not any(map(os.path.exists, places)) and ("/" in word or word not in base_names):
                complain(path, number, f"no such file: {word}")


def code_terms(root, paths):
    """Structs, enums and functions of the sources: "struct image", "image_open()"."""
    found = set()
    for path in paths:
        if path.startswith(C_TOPS) and path.endswith((".c", ".h", ".py")):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
            found.update(f"{kind} {tag}" for kind, tag in re.findall(r"\b(struct|enum) (?:[A-Z_]+\([^)]*\) )?(\w+) \{", text))
            found.update(name + "()" for name in re.findall(r"\b([A-Za-z_]\w+)\(", text))
    return found


def check_code_terms(path, lines, known):
    for number, line in prose_and_tables(lines):
        for _, code in CODE.findall(line):
            if re.fullmatch(r"(?:struct|enum) \w+|[a-z_]\w*\(\)", code):
                counts["code terms"] += 1
                if code not in known:
                    complain(path, number, f"no such term in the sources: {code}")


# ---- Man pages ----

def check_man_page(path, lines):
    literal = False
    for number, line in enumerate(lines, 1):
        if re.match(r"\.Bd\b.*-(literal|unfilled)|\.Dl\b", line):
            literal = line.startswith(".Bd")
        elif line.startswith(".Ed"):
            literal = False
        elif not literal and not line.startswith((".", "'")):
            counts["lines of text"] += 1
            if has_two_sentences(line):
                complain(path, number, "more than one sentence")


def main():
    root = sys.argv[1]
    paths = list(tree(root))
    base_names = {os.path.basename(path) for path in paths}
    terms = code_terms(root, paths)
    for path in paths:
        is_page = re.fullmatch(r"docs/[\w-]+\.[1-8]", path)
        if not is_page and not path.endswith(".md"):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            lines = file.read().splitlines()
        counts["man pages" if is_page else "Markdown files"] += 1
        if is_page:
            check_man_page(path, lines)
        else:
            check_sentences(path, lines)
            check_links(root, path, lines)
            check_file_names(root, path, lines, base_names)
            check_code_terms(path, lines, terms)
    for complaint in complaints:
        print("documents:", complaint, file=sys.stderr)
    print(", ".join(f"{count} {what}" for what, count in counts.items()) + f"; {len(complaints)} complaints")
    return 1 if complaints or counts["Markdown files"] < 10 or counts["man pages"] < 4 else 0


if __name__ == "__main__":
    sys.exit(main())

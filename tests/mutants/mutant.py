"""One-line mutants of C sources: which there are, which rule made each, and how lists choose among them."""
import fnmatch
import hashlib
import random
import re

SWAPS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&", "+": "-", "-": "+",
         "&": "|", "|": "&", "true": "false", "false": "true"}


def successor(number):
    """The next higher number, octal stays octal, hexadecimal too."""
    if re.fullmatch("0[0-7]+", number):
        return f"0{int(number, 8) + 1:o}"
    return f"{int(number, 16) + 1:#x}" if number.startswith("0x") else str(int(number) + 1)


# Rules: (name, pattern in a line of code, what to put in place of the match).
RULES = [
    ("comparison", r"(?<= )(==|!=|<=|>=|<|>)(?= )", lambda m: SWAPS[m[1]]),
    ("logic", r"(?<= )(&&|\|\|)(?= )", lambda m: SWAPS[m[1]]),
    ("negation", r"(?<=[(&| ])!(?=[\w(])", lambda m: ""),
    ("constant", r"(?<![\w.\"%])(0x[0-9a-f]+|\d+)(?=[;,)\]} ]|$)", lambda m: successor(m[1])),
    ("boolean", r"\b(true|false)\b", lambda m: SWAPS[m[1]]),
    ("arithmetic", r"(?<=[\w)] )([+-])(?= [\w(])", lambda m: SWAPS[m[1]]),
    ("bits", r"(?<=[\w)] )([&|])(?= [~\w(])", lambda m: SWAPS[m[1]]),
    ("guard never", r"^(\t+(?:else )?if \()(.*)(\))$", lambda m: f"{m[1]}0 && ({m[2]}){m[3]}"),
    ("guard always", r"^(\t+(?:else )?if \()(.*)(\))$", lambda m: f"{m[1]}1 || ({m[2]}){m[3]}"),
    ("statement removed", r"^(\t+)(?:[\w>.\[\]-]+ [|&+-]?= .*|[a-z]\w*\(.*\));$", lambda m: f"{m[1]};"),
    ("error to 0", r"\breturn (-E\w+|-errno|err|-err|-1);", lambda m: "return 0;"),
    ("error to 0", r"(\? )(-E\w+|-errno|err)( : 0;)", lambda m: f"{m[1]}0{m[3]}"),
    ("result reversed", r"\breturn ((?!-)(?:[^;?]* (?:==|!=|<|>|<=|>=|&&|\|\|) [^;?]*|![^;?]*));",
     lambda m: f"return !({m[1]});"),
]
# Only where the list of aims asks for it: random choices would be full of them.
TABLE_RULES = [("row removed", r"^\t(SCMP_SYS\(\w+\)),$", lambda m: "\t")]
# No behaviour of the product: assertions, messages, declarations.
LEFT_OUT = re.compile(r'^\s*(//|/?\*|#|invariant|static_assert|_Static_assert|log_|case |default:|struct \w+ \w+;)|"')


class Mutant:
    def __init__(self, name, line, rule, old, new, function=""):
        self.name, self.line, self.rule, self.old, self.new, self.function = name, line, rule, old, new, function

    def key(self, lines):
        """The same after lines were added elsewhere in the file: file, both texts, and which of equal lines it is."""
        nth = sum(line.strip() == self.old.strip() for line in lines[:self.line])
        text = "\0".join((self.name, self.old.strip(), self.new.strip(), str(nth)))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def text(self, lines):
        """The line before, the line, and what becomes of it: for equivalent.txt, whose words stand in it."""
        return f"{lines[self.line - 1].strip()} | {self.old.strip()} -> {self.new.strip()}"


def functions(lines):
    """The function that each line belongs to, "" outside of functions: kernel style, braces in column 0."""
    inside, name = "", ""
    for line in lines:
        head = re.match(r"^[a-z][\w *]*?\b(\w+)\(", line)
        if head and not inside:
            name = head[1]
        if line == "{":
            inside = name
        yield inside
        if line == "}":
            inside = ""


def code_lines(lines):
    """Numbers of lines of code that have whole expressions: parentheses balanced, no comment, no macro."""
    comment = False
    for number, line in enumerate(lines):
        begins = "/*" in line and "*/" not in line
        if not comment and not begins and line.count("(") == line.count(")") and not line.rstrip().endswith("\\"):
            yield number
        comment = (comment or "/*" in line) and "*/" not in line.rsplit("/*", 1)[-1]


def changes(line, rules):
    for rule, pattern, new in rules:
        code = line.split(" /*")[0].rstrip()
        for match in re.finditer(pattern, code):
            changed = code[:match.start()] + new(match) + code[match.end():]
            if changed != code:
                yield rule, changed


def mutants_of(root, name, tables=False):
    """All mutants of a file; with @tables also those of its tables."""
    lines = (root / name).read_text().split("\n")
    owners = list(functions(lines))
    for number in code_lines(lines):
        line, owner = lines[number], owners[number]
        rules = TABLE_RULES if tables else []
        if owner and line.startswith("\t") and not LEFT_OUT.search(line):
            rules = RULES
        for rule, new in changes(line, rules):
            yield Mutant(name, number, rule, line, new, owner)


def by_rule_in_turn(mutants, chance):
    """All in random order, so that each rule is as likely as the other, however often it applies."""
    by_rule = {}
    for mutant in mutants:
        by_rule.setdefault(mutant.rule, []).append(mutant)
    for group in by_rule.values():
        chance.shuffle(group)
    while by_rule:
        rule = chance.choice(sorted(by_rule))
        yield by_rule[rule].pop()
        if not by_rule[rule]:
            del by_rule[rule]


def aimed_mutants(root, names, path, seed):
    """The mutants that the list of aims asks for: rows of a pattern of file names, a count and maybe an expression that
    the line matches."""
    chosen = set()
    for row in path.read_text().splitlines():
        if not row or row.startswith("#"):
            continue
        files, count, pattern = (row.split(None, 2) + [""])[:3]
        found = [m for name in fnmatch.filter(names, files) for m in mutants_of(root, name, tables=bool(pattern))
                 if re.search(pattern, m.old) and (m.name, m.line, m.new) not in chosen]
        if not found:
            raise SystemExit(f"{path}: nothing to change: {row}")
        for _, mutant in zip(range(int(count)), by_rule_in_turn(found, random.Random(f"{seed}:{row}"))):
            chosen.add((mutant.name, mutant.line, mutant.new))
            yield mutant

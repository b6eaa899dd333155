#!/usr/bin/env python3
"""Draws a flame graph: reads folded stacks, lines "outer;...;inner count", and prints an SVG that needs nothing else.

    flamegraph.py [OPTION...] [TITLE] < folded > graph.svg

The width of a frame is its share of all samples; callees stand on their callers. Frames that end with "_[i]" are inlined
calls, "_[k]" is the kernel; names in brackets are unknown, and of a tower of the same one is left. Comments "# event:"
and "# seconds:" before the stacks, as perf-fold.py writes them, are shown; "# chains:" tells whether there are call
chains, without which a profile can hardly be compared with one that has them: then the picture and a message say so.

  --before=FILE     folded stacks of another profile: what has a larger share now is red, what has a smaller one is blue
  --fold-templates  begin with template arguments folded: "f<int>" and "f<char>" are one "f<>"
  --static          a picture for a document: without script
  --min-width=N     leave out frames narrower than N points, of 1200; the default is half a point

In a browser a line tells about the frame below the pointer, a click makes a frame as wide as the picture, where frames
appear that were too narrow before, a field searches for a regular expression and tells the share of what matches, and
template arguments can be folded.
"""
import argparse
import json
import re
import sys
from xml.sax.saxutils import escape

WIDTH, MARGIN, TOP, BOTTOM, ROW, LETTER = 1200, 14, 100, 36, 19, 6.93
KINDS = {"function": (30, 78, 72), "inlined": (150, 40, 70), "kernel": (266, 56, 81), "unknown": (222, 8, 79)}
MARKS = {"_[i]": "inlined", "_[k]": "kernel"}
UNKNOWN = re.compile(r"\[.*\]|\?+|0x[0-9a-f]+")
# What is no bracket of template arguments: operators and arrows.
TOKEN = re.compile(r"operator(?:<=>|<<=?|>>=?|->\*?|[<>]=?)|->|[<>]|(?:(?!operator|->)[^<>])+|.", re.S)

STYLE = """svg { background: #fcfcfa }
text { font: 11.5px "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #17191e }
.bg { fill: #fcfcfa } .head text, .foot { font-family: "DejaVu Sans", "Segoe UI", Helvetica, Arial, sans-serif }
.head .title { font-size: 18px; font-weight: bold } .head .note, .foot { font-size: 12px; fill: #5d626c }
.head .detail { font-size: 13px } .f text { pointer-events: none } .f rect { rx: 2px }
@media (prefers-color-scheme: dark) {
  svg { background: #1a1c21 } .bg { fill: #1a1c21 } text { fill: #eceef2 } .f text { fill: #17191e }
  .head .note, .foot { fill: #a3a9b4 } .f rect { filter: brightness(.93) }
}
"""

STYLE_OF_SCRIPT = """.f { cursor: pointer } .f:hover rect { stroke: #17191e; stroke-width: 1.2 } .above rect { opacity: .5 }
.searched .f:not(.hit) rect { opacity: .4 } .f.hit rect { fill: #ff62ce }
.bar { display: flex; gap: 8px; justify-content: flex-end; align-items: center; height: 32px; box-sizing: border-box;
  padding: 0 3px;
  font: 12px "DejaVu Sans", "Segoe UI", Helvetica, Arial, sans-serif; color: #5d626c }
.bar input, .bar button { font: inherit; height: 26px; box-sizing: border-box; padding: 0 9px; border-radius: 6px;
  border: 1px solid #c3c7cf; background: #fff; color: #17191e }
.bar input { width: 210px; flex-shrink: 1; min-width: 60px }
.bar button { cursor: pointer; white-space: nowrap } .bar button:hover { background: #eef0f4 }
.bar button[aria-pressed=true] { background: #dde6f7; border-color: #7f9fd6 } .bar [hidden] { display: none }
.bar output { white-space: nowrap; overflow: hidden; text-overflow: ellipsis } .bad { color: #c01c28 }
.bar :focus-visible { outline: 2px solid #3b74d8; outline-offset: 1px } .bar input.bad { border-color: #c01c28 }
@media (prefers-color-scheme: dark) {
  .bar { color: #a3a9b4 } .bar input, .bar button { background: #262930; color: #eceef2; border-color: #4a4f5a }
  .bar button:hover { background: #333741 } .bar button[aria-pressed=true] { background: #2d3f63; border-color: #6d90cf }
  .above text, .searched .f:not(.hit) text { fill: #d3d6dc }
  .f:hover rect { stroke: #fff } .bad, .bar input.bad { color: #ff8b8b }
}
"""

SCRIPT = r"""{
const data = DATA, [W, M, TOP, BOTTOM, ROW, NARROW] = SIZES;
const svg = document.documentElement, find = name => svg.querySelector("." + name);
const head = find("head"), cover = head.querySelector(".bg"), detail = find("detail"), legend = find("legend");
const shown = name => name.replace(/_\[[ik]\]$/, "");
const kindOf = name => data.unknown.test(shown(name)) ? "unknown" : {"_[i]": "inlined", "_[k]": "kernel"}[name.slice(-4)]
  ?? "function";
const percent = (part, whole) => (whole ? 100 * part / whole : 0).toFixed(2) + " %";
const count = n => n.toLocaleString("en-US") + (n === 1 ? " sample" : " samples");

function create(tag, parent, attributes = {}, text = "") {
  const element = document.createElementNS(/^(div|input|button|output)$/.test(tag) ? "http://www.w3.org/1999/xhtml"
    : "http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return parent.appendChild(element);
}

function foldTemplates(name) {
  let out = "", depth = 0;
  for (const [part] of name.matchAll(data.token)) {
    if (part === ">" && depth) depth--;
    if (!depth) out += part;
    if (part === "<") depth++;
  }
  return depth ? name : out;
}

/* The frames as a tree; those of one caller that are called the same are one. */
function grow(fold) {
  const path = [];
  for (const [depth, number, now, before] of data.frames) {
    const name = fold ? foldTemplates(data.names[number]) : data.names[number], caller = path[depth - 1];
    let frame = caller?.callees.get(name);
    if (!frame) {
      frame = {name, depth, caller, now: 0, before: 0, callees: new Map()};
      caller?.callees.set(name, frame);
    }
    frame.now += now;
    frame.before += before;
    path[depth] = frame;
  }
  return path[0];
}

function colour(frame, most) {
  if (data.diff) {
    const change = frame.now / root.now - frame.before / (root.before || 1), much = Math.sqrt(Math.abs(change) / most);
    return much < 0.02 ? "hsl(222,10%,88%)" : `hsl(${change > 0 ? 6 : 214},${25 + 60 * much}%,${90 - 26 * much}%)`;
  }
  let hash = 0;
  for (const c of frame.name) hash = (hash * 31 + c.codePointAt()) % 65521;
  const [hue, much, light] = data.kinds[kindOf(frame.name)];
  return `hsl(${hue + hash % 19 - 9},${much + (hash >> 5) % 11 - 5}%,${light + (hash >> 9) % 9 - 4}%)`;
}

let fold = data.fold, root = grow(fold), top = root, pattern = null, height = svg.height.baseVal.value, letter = 6.93;
const drawn = new Map(), graph = find("graph");

function greatestChange() {
  let most = 1e-9;
  const todo = [...root.callees.values()];
  for (let f; (f = todo.pop()); todo.push(...f.callees.values()))
    most = Math.max(most, Math.abs(f.now / root.now - f.before / (root.before || 1)));
  return most;
}

/* What is to be drawn: the way down to the frame that is zoomed to, and all above it that is not too narrow. */
function place(width) {
  const found = [], scale = width / top.now, todo = [[top, 0]];
  for (let f = top.caller; f; f = f.caller) found.push([f, 0, width]);
  for (let next; (next = todo.pop());) {
    let [frame, x] = next;
    found.push([frame, x, frame.now * scale]);
    for (const callee of [...frame.callees.values()].sort((a, b) => a.name < b.name ? -1 : 1)) {
      if (callee.now * scale >= NARROW) todo.push([callee, x]);
      x += callee.now * scale;
    }
  }
  return found;
}

function draw() {
  const wide = Math.max(innerWidth, 600), width = wide - 2 * M, found = place(width), most = greatestChange();
  const old = height;
  height = Math.max(height, TOP + BOTTOM + ROW * (1 + found.reduce((most, [f]) => Math.max(most, f.depth), 0)));
  svg.removeAttribute("viewBox");
  svg.setAttribute("width", wide);
  svg.setAttribute("height", height);
  drawn.clear();
  graph.replaceChildren();
  for (const [frame, x, w] of found) {
    const y = height - BOTTOM - ROW * (frame.depth + 1), name = shown(frame.name), fits = Math.floor((w - 9) / letter);
    const g = create("g", graph, {class: "f", "data-name": frame.name});
    create("rect", g, {x: M + x, y, width: Math.max(w - 0.7, 0.4), height: ROW - 1, fill: colour(frame, most)});
    if (fits > 3)
      create("text", g, {x: M + x + 5, y: y + 13.2}, name.length <= fits ? name : name.slice(0, fits - 1) + "\u2026");
    if (frame.depth < top.depth) g.classList.add("above");
    drawn.set(g, frame);
  }
  if (legend) legend.setAttribute("transform", `translate(${wide - W},0)`);
  cover.setAttribute("width", wide);
  const left = Math.max(Math.min(M + find("title").getComputedTextLength() + 20, wide - 440), 0);
  box.setAttribute("x", left);
  box.setAttribute("width", wide - M - left);
  foot.setAttribute("y", height - 13);
  reset.hidden = top === root;
  if (old !== height) scrollBy(0, height - old);
  mark();
}

/* Whether a frame matches; of those within one another the outermost counts. */
function mark() {
  const is = frame => pattern !== null && pattern.test(shown(frame.name)), todo = [top];
  for (const [g, frame] of drawn) g.classList.toggle("hit", is(frame));
  svg.classList.toggle("searched", pattern !== null);
  if (pattern === null) return;
  let matched = 0;
  for (let f; (f = todo.pop());)
    if (is(f)) matched += f.now;
    else todo.push(...f.callees.values());
  result.textContent = "matched: " + percent(matched, top.now) + (top === root ? "" : " here");
}

function search() {
  pattern = null;
  result.textContent = "";
  let bad = false;
  try {
    if (field.value) pattern = new RegExp(field.value, "i");
  } catch (error) {
    bad = true;
    result.textContent = "not a regular expression";
  }
  for (const element of [field, result]) element.classList.toggle("bad", bad);
  mark();
}

function zoom(frame) {
  top = frame;
  draw();
}

/* The frame that is zoomed to is found again by its name, and those of its callers. */
function foldOrNot() {
  const names = [];
  for (let f = top; f.caller; f = f.caller) names.unshift(f.name);
  fold = !fold;
  root = top = grow(fold);
  for (const name of names) {
    const next = top.callees.get(fold ? foldTemplates(name) : name);
    if (!next) break;
    top = next;
  }
  folding.setAttribute("aria-pressed", fold);
  draw();
}

function describe(frame) {
  if (!frame) return "";
  const self = frame.now - [...frame.callees.values()].reduce((sum, f) => sum + f.now, 0);
  const kind = kindOf(frame.name), was = frame.before / (root.before || 1), is = frame.now / root.now;
  const parts = [percent(frame.now, root.now), count(frame.now), "itself " + percent(self, root.now)];
  if (top !== root && frame.depth >= top.depth) parts.push(percent(frame.now, top.now) + " of what is shown");
  const more = (is < was ? "\u2212" : "+") + (100 * Math.abs(is - was)).toFixed(2);
  if (data.diff) parts.push(`before ${percent(was, 1)} (${more})`);
  return parts.join(", ") + ": " + shown(frame.name) + (kind === "inlined" || kind === "kernel" ? ` (${kind})` : "");
}

const box = create("foreignObject", head, {y: 8, height: 34});
const bar = create("div", box, {class: "bar"});
const result = create("output", bar, {class: "result"});
const reset = create("button", bar, {class: "reset", hidden: ""}, "Reset zoom");
const folding = create("button", bar, {class: "folding", "aria-pressed": fold}, "Fold <\u2026>");
folding.title = "Fold template arguments";
const field = create("input", bar, {type: "search", placeholder: "Search (regular expression)", "aria-label": "Search"});
folding.hidden = !data.names.some(name => foldTemplates(name) !== name);
const foot = create("text", svg, {class: "foot", x: M}, ["Click: zoom", "Esc: back", "/: search",
  ...folding.hidden ? [] : ["t: fold template arguments"]].join(" \u00a0\u00b7\u00a0 "));
const probe = create("g", svg, {class: "f"}), probed = create("text", probe, {}, "M".repeat(100));
letter = probed.getComputedTextLength() / 100 || letter;
probe.remove();

const of = event => drawn.get(event.target.closest?.(".f"));
svg.addEventListener("click", event => of(event) && zoom(of(event)));
svg.addEventListener("pointermove", event => { detail.textContent = describe(of(event)); });
field.addEventListener("input", search);
reset.addEventListener("click", () => zoom(root));
folding.addEventListener("click", foldOrNot);
addEventListener("resize", draw);
addEventListener("scroll", () => head.setAttribute("transform", `translate(0,${scrollY})`));
addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Escape" && (field.value || pattern)) {
    field.value = "";
    search();
  } else if (event.key === "Escape") zoom(root);
  else if (document.activeElement === field) return;
  else if (event.key === "/") field.focus();
  else if (event.key === "t" && !folding.hidden) foldOrNot();
  else return;
  if (event.key === "Escape") field.blur();
  event.preventDefault();
});
draw();
scrollTo(0, svg.getAttribute("height"));
}"""


class Frame:
    """A call: @now and @before count its samples in the two profiles, with those of its callees."""

    def __init__(self, name):
        self.name, self.now, self.before, self.callees = name, 0, 0, {}


def shown(name):
    """The colour says the rest."""
    return name[:-4] if name[-4:] in MARKS else name


def kind_of(name):
    return "unknown" if UNKNOWN.fullmatch(shown(name)) else MARKS.get(name[-4:], "function")


def fold_templates(name):
    out, depth = "", 0
    for part in TOKEN.findall(name):
        depth -= part == ">" and depth > 0
        out += "" if depth else part
        depth += part == "<"
    return name if depth else out


def add_stack(root, names, count, before):
    path = [root]
    for name in names:
        if path[-1].name != name or kind_of(name) != "unknown":
            path.append(path[-1].callees.setdefault(name, Frame(name)))
    for frame in path:
        frame.now += 0 if before else count
        frame.before += count if before else 0


def read(lines, where):
    """(facts, stacks): what comments say, and (names, count) of each line."""
    facts, stacks = {}, []
    for number, line in enumerate(lines, 1):
        fact = re.fullmatch(r"# (\w+): (.*)", line.strip())
        stack, _, count = line.strip().rpartition(" ")
        if fact:
            facts[fact[1]] = fact[2]
        elif stack and re.fullmatch("[0-9]{1,15}", count):  # JavaScript has no more digits
            stacks.append((stack.split(";"), int(count)))
        else:
            sys.exit(f"flamegraph.py: {where}: line {number} is not 'a;b;c COUNT': {line.strip()}")
    if not sum(count for _, count in stacks):
        sys.exit(f"flamegraph.py: {where}: no stacks")
    return facts, stacks


def grow(now, before, name_of):
    root = Frame("all")
    for stacks, is_before in (now, False), (before, True):
        for names, count in stacks:
            add_stack(root, [name_of(name) for name in names], count, is_before)
    return root


def in_order(root):
    """(depth, start, frame) of all frames, callers first, without recursion: stacks can be deep."""
    todo, found = [(0, 0, root)], []
    while todo:
        depth, at, frame = todo.pop()
        found.append((depth, at, frame))
        for name in sorted(frame.callees):
            todo.append((depth + 1, at, frame.callees[name]))
            at += frame.callees[name].now
    return found


def change_of(frame, root):
    return frame.now / root.now - frame.before / max(root.before, 1)


def colour(frame, root, most):
    if most:
        change = change_of(frame, root)
        much = (abs(change) / most) ** 0.5
        if much < 0.02:
            return "hsl(222,10%,88%)"
        return f"hsl({6 if change > 0 else 214},{25 + 60 * much:.0f}%,{90 - 26 * much:.0f}%)"
    code = 0
    for c in frame.name:
        code = (code * 31 + ord(c)) % 65521
    hue, much, light = KINDS[kind_of(frame.name)]
    return f"hsl({hue + code % 19 - 9},{much + (code >> 5) % 11 - 5}%,{light + (code >> 9) % 9 - 4}%)"


def clean(text):
    """Text as XML may have it."""
    return escape("".join(c if c.isprintable() else "?" for c in text), {'"': "&quot;"})


def duration(seconds):
    try:
        seconds = float(seconds)
    except ValueError:
        return seconds
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def unlike(facts, before):
    """Says that one profile has call chains and the other has none; "" if not."""
    if {facts.get("chains"), before.get("chains")} != {"yes", "no"}:
        return ""
    has, lacks = ("now", "before") if facts["chains"] == "yes" else ("before", "now")
    return f"call chains {has}, none {lacks}: callers differ by that alone"


def subtitle(root, facts, diff):
    """Samples, event and duration; of a comparison, those of both profiles and what is in the other one only."""
    words = [f"{root.now:,} samples"]
    words += [facts["event"]] if "event" in facts else []
    words += [duration(facts["seconds"])] if "seconds" in facts else []
    if diff:
        gone = sum(frame.before for _, _, caller in in_order(root) for frame in caller.callees.values()
                   if caller.now and not frame.now)
        words += [f"before {root.before:,} samples", f"{100 * gone / root.before:.1f} % of them in frames that are gone"]
        words += [facts["unlike"]] if facts.get("unlike") else []
    return " \u00b7 ".join(words)


def legend(frames, diff):
    if diff:
        rows = [("less than before", "hsl(214,85%,64%)"), ("the same", "hsl(222,10%,88%)"), ("more", "hsl(6,85%,64%)")]
    else:
        kinds = {kind_of(frame.name) for _, _, frame in frames}
        rows = [(kind, "hsl(%d,%d%%,%d%%)" % hsl) for kind, hsl in KINDS.items() if kind in kinds]
    x = WIDTH - MARGIN
    yield '<g class="legend">'
    for words, fill in reversed(rows):
        x -= 6.6 * len(words) + 30
        yield (f'<rect x="{x:.0f}" y="49" width="12" height="12" rx="2" fill="{fill}"/>'
               f'<text class="note" x="{x + 17:.0f}" y="59.5">{words}</text>')
    yield "</g>"


def picture(x, y, width, frame, root, most, named):
    name = shown(frame.name)
    fits = int((width - 9) / LETTER)
    label = "" if fits < 4 else name if len(name) <= fits else name[:fits - 1] + "\u2026"
    text = f'<text x="{x + 5:.1f}" y="{y + 13.2:.1f}">{clean(label)}</text>' if label else ""
    was = f", before {100 * frame.before / root.before:.2f} %" if most else ""
    data = f' data-name="{clean(frame.name)}"' if named else ""
    return (f'<g class="f"{data}>'
            f'<title>{clean(frame.name)}: {frame.now} samples, {100 * frame.now / root.now:.2f} %{was}</title>'
            f'<rect x="{x:.1f}" y="{y}" width="{max(width - 0.7, 0.4):.1f}" height="{ROW - 1}" '
            f'fill="{colour(frame, root, most)}"/>{text}</g>')


def script(root, options):
    """With the data: no character of it can end the script or the element."""
    numbers, frames = {}, []
    for depth, _, frame in in_order(root):
        frames.append((depth, numbers.setdefault(frame.name, len(numbers)), frame.now, frame.before))
    data = json.dumps({"names": list(numbers), "frames": frames, "kinds": KINDS, "fold": options.fold_templates,
                       "diff": options.before is not None}, separators=(",", ":"))
    for character in "<>&":
        data = data.replace(character, "\\u%04x" % ord(character))
    data = f"{{...{data}, unknown: /^(?:{UNKNOWN.pattern})$/, token: /{TOKEN.pattern}/gs}}"
    sizes = json.dumps((WIDTH, MARGIN, TOP, BOTTOM, ROW, options.min_width))
    return SCRIPT.replace("SIZES", sizes, 1).replace("DATA", data, 1)


def draw(root, data, facts, options):
    """@data: the tree with template arguments, from which the script draws."""
    frames = in_order(root)
    diff, scale = options.before is not None, (WIDTH - 2 * MARGIN) / root.now
    most = max((abs(change_of(frame, root)) for depth, _, frame in frames if depth), default=0) or 1 if diff else 0
    placed = [(depth, at, frame) for depth, at, frame in frames if frame.now * scale >= options.min_width]
    bottom = MARGIN if options.static else BOTTOM  # where the script tells the keys
    height = TOP + bottom + ROW * (1 + max(depth for depth, _, _ in placed))
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
           f"<style>{STYLE}{'' if options.static else STYLE_OF_SCRIPT}</style>"
           f'<rect class="bg" width="100%" height="100%" fill="#fcfcfa"/><g class="graph">')
    for depth, at, frame in placed:
        yield picture(MARGIN + at * scale, height - bottom - ROW * (depth + 1), frame.now * scale, frame, root, most,
                      not options.static)
    yield (f'</g><g class="head"><rect class="bg" width="{WIDTH}" height="{TOP - 6}" fill="#fcfcfa"/>'
           f'<text class="title" x="{MARGIN}" y="31">{clean(options.title)}</text>'
           f'<text class="note" x="{MARGIN}" y="59.5">{clean(subtitle(root, facts, diff))}</text>'
           f'<text class="detail" x="{MARGIN}" y="84"></text>')
    yield from legend(placed, diff)
    yield "</g>"
    if not options.static:
        yield f"<script><![CDATA[{script(data, options)}]]></script>"
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser(usage="flamegraph.py [OPTION...] [TITLE] < folded > graph.svg",
                                     description="Draws folded stacks as a flame graph.")
    parser.add_argument("title", nargs="?", default="Flame graph", metavar="TITLE")
    parser.add_argument("--before", metavar="FILE", help="folded stacks of another profile, to compare with")
    parser.add_argument("--fold-templates", action="store_true", help="begin with template arguments folded")
    parser.add_argument("--static", action="store_true", help="without script")
    parser.add_argument("--min-width", type=float, default=0.5, metavar="N", help="leave out narrower frames")
    options = parser.parse_args()
    if not 0 <= options.min_width <= WIDTH - 2 * MARGIN:  # nor is it "nan"
        parser.error(f"--min-width must be from 0 to {WIDTH - 2 * MARGIN}")
    for stream in sys.stdin, sys.stdout, sys.stderr:  # names may be any bytes
        stream.reconfigure(encoding="utf-8", errors="replace")
    facts, now = read(sys.stdin, "standard input")
    before = []
    if options.before is not None:
        try:
            with open(options.before, encoding="utf-8", errors="replace") as file:
                facts_before, before = read(file, options.before)
            facts["unlike"] = unlike(facts, facts_before)
        except OSError as error:
            sys.exit(f"flamegraph.py: {options.before}: {error.strerror}")
    if facts.get("unlike"):
        print(f"flamegraph.py: {facts['unlike']}; record both with --call-graph, or both without", file=sys.stderr)
    data = grow(now, before, str)
    root = grow(now, before, fold_templates) if options.fold_templates else data
    print("\n".join(draw(root, data, facts, options)))


main()

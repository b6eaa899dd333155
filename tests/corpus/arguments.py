"""Command lines that comparisons with other tools share."""
import argparse


def parser(text, most, what, examples=0):
    """Of a program that @text describes; @most, by default, is how many addresses of @what are asked for."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--gsym", help="the gsym program")
    made.add_argument("--most", type=int, default=most, help=f"addresses of {what}")
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--jobs", type=int, default=2)
    made.add_argument("--examples", type=int, default=examples, metavar="N", help="show N addresses of each class")
    return made

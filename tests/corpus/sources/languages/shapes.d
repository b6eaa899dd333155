// D: templates, classes, nested functions, delegates, operator overloading, a unit test's mixin.
module corpus.shapes;

import core.stdc.stdio : printf;

interface Shape { int area(); }

class Square : Shape
{
    int side;
    this(int side) { this.side = side; }
    override int area() { return side * side; }
    Square opBinary(string op)(Square other) if (op == "+") { return new Square(side + other.side); }
}

struct Pair(T, U)
{
    T first;
    U second;
    auto sum() const { return first + second; }
}

int apply(alias f)(int n)
{
    int total = 0;
    foreach (i; 0 .. n)
        total += f(i);
    return total;
}

int nested(int n)
{
    int calls;
    int inner(int m)
    {
        calls++;
        return m * n;
    }
    auto later = delegate(int m) { return inner(m) + calls; };
    return inner(2) + later(3);
}

extern (C) int plain_name(int n) { return n * 3; }

int main(string[] args)
{
    auto both = new Square(cast(int) args.length) + new Square(2);
    auto pair = Pair!(int, long)(3, 4);
    printf("%d %ld %d %d %d\n", both.area(), pair.sum(), apply!(x => x + 1)(5), nested(7), plain_name(1));
    return 0;
}

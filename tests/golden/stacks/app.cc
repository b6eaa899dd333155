// Functions that identical code folding makes one, and callers that mean one of them.
extern "C" {
int outside(int);               // of the library
int each(int n, int (*f)(int)); // likewise: calls back

#define KEEP __attribute__((noinline, visibility("default")))

KEEP int first(int x)
{
	return outside(x) + 1;
}

KEEP int second(int x)
{
	return outside(x) + 1;
}

KEEP int third(int x)
{
	return outside(x) + 1;
}

// Folded, too, and each calls one of them.
KEEP int calls_first(int x)
{
	return first(x + 2) * 4;
}

KEEP int calls_second(int x)
{
	return second(x + 2) * 4;
}

KEEP int direct(int x)
{
	return second(x) * 3;
}

KEEP int deep(int x)
{
	return calls_second(x) * 6;
}

KEEP int enumerate(int x)
{
	return each(x, third) * 5;
}

// Methods as Objective-C names them.
KEEP int cat_feed(void *self, int x) __asm__("-[Cat feed]");
KEEP int dog_walk(void *self, int x) __asm__("-[Dog walk]");

int cat_feed(void *self, int x)
{
	return outside(x + (self != nullptr)) + 8;
}

int dog_walk(void *self, int x)
{
	return outside(x + (self != nullptr)) + 8;
}

KEEP int send(void *self, int (*implementation)(void *, int))
{
	return implementation(self, 2) * 9;
}
}

struct Shape {
	virtual int area(int x) = 0;
	virtual int border(int x) = 0;
};

struct Circle : Shape {
	KEEP int area(int x) override;
	KEEP int border(int x) override;
};

struct Square : Shape {
	KEEP int area(int x) override;
	KEEP int border(int x) override;
};

int Circle::area(int x)
{
	return outside(x) + 7;
}

int Circle::border(int x)
{
	return outside(x) + 7;
}

int Square::area(int x)
{
	return outside(x) + 7;
}

int Square::border(int x)
{
	return outside(x) + 7;
}

extern "C" KEEP int measure(Shape *shape)
{
	return shape->border(3) * 7;
}

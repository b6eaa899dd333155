// What the app calls, and what calls the app.
extern "C" {
int third(int);

#define KEEP __attribute__((noinline, visibility("default")))

int counter;

KEEP int outside(int x)
{
	return counter += x;
}

KEEP int each(int n, int (*f)(int))
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += f(i);
	return sum;
}

KEEP int across(int x)
{
	return third(x) * 11;
}
}

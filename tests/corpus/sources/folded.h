// Templates whose instances are the same code: containers of pointers, and what is inlined into them.
#ifndef FOLDED_H
#define FOLDED_H
#include "common.h"

template <typename T> struct Node {
	T *value;
	Node *next;
	int weight;
};

template <typename T> ALWAYS int clamp(Node<T> *node, int most)
{
	if (node->weight > most)
		node->weight = most;
	return node->weight;
}

template <typename T> struct List {
	Node<T> *first;
	int length;

	NOINLINE void push(Node<T> *node)
	{
		node->next = first;
		first = node;
		length++;
	}

	NOINLINE T *pop()
	{
		Node<T> *node = first;
		if (!node)
			return nullptr;
		first = node->next;
		length--;
		return node->value;
	}

	NOINLINE int total(int most) const
	{
		int sum = 0;
		for (Node<T> *node = first; node; node = node->next)
			sum += clamp(node, most) + sink;
		return sum;
	}

	NOINLINE Node<T> *find(const T *value) const
	{
		Node<T> *node = first;
		while (node && node->value != value)
			node = node->next;
		return node;
	}
};

template <typename T> NOINLINE int measure(List<T> &list, Node<T> *node)
{
	list.push(node);
	int found = list.find(node->value) ? 1 : 0;
	found += list.total(sink);
	return list.pop() ? found : -found;
}

template <typename T> struct Shape {
	T *owner;
	int width;
	virtual int area(int n) { return width * n + sink; }
	virtual int edge(int n);
};

template <typename T> NOINLINE int Shape<T>::edge(int n)
{
	for (int i = 0; i < n; i++)
		sink += width;
	return sink;
}

#define TYPES(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define DECLARE(n) struct Type##n { int member; };
TYPES(DECLARE)

extern "C" int run_folded_b(int n);
#endif

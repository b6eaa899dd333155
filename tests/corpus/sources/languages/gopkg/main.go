// Go: methods by value and by pointer, closures, generics, embedded and interface methods, a file with an odd name.
package main

import (
	"fmt"
	"os"
	"sort"
)

type Shape interface{ Area() int }

type Square struct{ side int }

type Named struct {
	*Square
	name string
}

//go:noinline
func (s Square) Area() int { return s.side * s.side }

//go:noinline
func (s *Square) Grow(by int) {
	for i := 0; i < by; i++ {
		s.side += i
	}
}

func small(n int) int { return n*3 + 1 }

//go:noinline
func total(shapes []Shape) (sum int) {
	defer func() { sum += small(sum) }()
	for _, shape := range shapes {
		sum += small(shape.Area())
	}
	return
}

//go:noinline
func biggest[T int | string](values ...T) T {
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
	return values[len(values)-1]
}

//go:noinline
func counter() func() int {
	n := 0
	return func() int {
		n++
		return odd(n)
	}
}

func main() {
	square := &Square{len(os.Args)}
	square.Grow(3)
	next := counter()
	next()
	named := Named{square, "n"}
	named.Grow(1)
	fmt.Println(total([]Shape{square, named}), biggest(1, 2, next()), biggest("a", "b"))
}

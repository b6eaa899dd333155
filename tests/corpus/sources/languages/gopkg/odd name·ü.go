package main

//go:noinline
func odd(n int) int {
	if n%2 == 0 {
		return small(n)
	}
	return n
}

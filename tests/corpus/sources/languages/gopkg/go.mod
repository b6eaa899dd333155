module corpus

go 1.18

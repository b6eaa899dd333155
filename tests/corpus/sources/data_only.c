/* A unit without code. */
int some_table[4] = { 1, 2, 3, 4 };

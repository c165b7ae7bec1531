// Command parley is the program; parley/cmd/program holds all of it.
package main

import "parley/cmd/program"

func main() { program.Main() }

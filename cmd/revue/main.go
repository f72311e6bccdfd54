package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), &world{
		args:   os.Args[1:],
		env:    os.Getenv,
		stdin:  os.Stdin,
		stdout: os.Stdout,
		stderr: os.Stderr,
	}))
}

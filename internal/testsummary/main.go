// Command testsummary runs "go test" and ends with what was left out, which go test itself hides for
// packages that pass.
//
//	testsummary [-nocgo PATTERN] [go test flags] [packages]
//
// It prints what "go test" prints without -v, then each skipped test with its reason, a line that counts,
// and a last line that names what was skipped. With -nocgo the packages of that pattern are tested a
// second time with CGO_ENABLED=0. It fails when a test fails, when nothing ran at all and, with
// REVUE_REQUIRE_ALL=1, when something was skipped that the machine lacks, cgo among it.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	"github.com/revuehq/revue/internal/testneed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	nocgo := ""
	if len(args) >= 2 && args[0] == "-nocgo" {
		nocgo, args = args[1], args[2:]
	}
	if len(args) == 0 {
		fmt.Fprintln(stderr, "usage: testsummary [-nocgo PATTERN] [go test flags] [packages]")
		return 2
	}
	s := newSummary(stdout)
	if err := goTest(ctx, s, "", args, nil, stderr); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	if nocgo != "" {
		again := append(flagsOf(args), nocgo)
		if err := goTest(ctx, s, " [CGO_ENABLED=0]", again, []string{"CGO_ENABLED=0"}, stderr); err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
	}
	if cgo, err := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED").Output(); err != nil || strings.TrimSpace(string(cgo)) != "1" {
		s.leftOut("cgo", "a C compiler: there is none, or CGO_ENABLED=0: the pure-Go SQLite driver alone was tested")
	}
	if !s.finish(testneed.RequireAll()) {
		return 1
	}
	return 0
}

// flagsOf returns the arguments that come before the packages.
func flagsOf(args []string) []string {
	var flags []string
	for _, a := range args {
		if strings.HasPrefix(a, ".") || strings.HasPrefix(a, "github.com/") {
			break
		}
		flags = append(flags, a)
	}
	return flags
}

// goTest runs "go test -json" and feeds the summary. That tests failed is not an error here: the summary
// knows it.
func goTest(ctx context.Context, s *summary, label string, args, env []string, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...) //nolint:gosec // the caller's own arguments to go test are the purpose
	cmd.Env = append(os.Environ(), env...)
	var diag bytes.Buffer
	cmd.Stderr = io.MultiWriter(stderr, &diag)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	seen, readErr := s.read(label, out)
	err = cmd.Wait()
	if readErr != nil {
		return readErr
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if seen == 0 {
		return fmt.Errorf("go test %s reported no package: %w", strings.Join(args, " "), errOr(err, diag.String()))
	}
	if err != nil && s.failed() == 0 {
		return fmt.Errorf("go test %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

func errOr(err error, text string) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("no error either %s", text)
}

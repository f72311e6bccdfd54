package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/revuehq/revue/internal/testneed"
)

// event is one line of "go test -json".
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	FailedBuild string
}

type testID struct{ pkg, test string }

// skip is one thing that was left out, and why.
type skip struct{ what, why string }

// needs reports whether it was left out for something that the machine lacks. Other skips are cases that
// don't apply, such as several handles on a store that lives in one process.
func (k skip) needs() bool { return strings.Contains(k.why, testneed.Prefix) }

// summary counts what go test reports and prints what a reader wants of it.
type summary struct {
	w           io.Writer
	passed      int
	failedTests []string
	failedPkgs  []string
	skips       []skip
}

func newSummary(w io.Writer) *summary { return &summary{w: w} }

// failed counts failed tests, and packages that failed without a failed test (a build, a panic).
func (s *summary) failed() int {
	n := len(s.failedTests)
	for _, p := range s.failedPkgs {
		if !slices.ContainsFunc(s.failedTests, func(t string) bool { return strings.HasPrefix(t, p+" ") }) {
			n++
		}
	}
	return n
}

func (s *summary) leftOut(what, why string) {
	s.skips = append(s.skips, skip{what, testneed.Prefix + why})
}

var (
	packageLine = regexp.MustCompile(`^(ok|FAIL|---|\?|panic:)[ \t]`)
	reasonLine  = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)$`)
)

// read takes in one run of go test and returns how many packages reported a result. Label tells runs
// apart.
func (s *summary) read(label string, r io.Reader) (int, error) {
	in := bufio.NewReader(r)
	output := map[testID][]string{}
	skipped := map[testID]bool{}
	packages := 0
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprint(s.w, string(line)) // not an event: what the go command itself says
			} else {
				packages += s.take(label, e, output, skipped)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return packages, err
		}
	}
	return packages, nil
}

func (s *summary) take(label string, e event, output map[testID][]string, skipped map[testID]bool) int {
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.w, e.Output)
	case "output":
		if e.Test != "" {
			output[id] = append(output[id], e.Output)
			return 0
		}
		if packageLine.MatchString(e.Output) && !strings.HasPrefix(e.Output, "---") {
			fmt.Fprint(s.w, strings.TrimRight(e.Output, "\n")+label+"\n")
			return 0
		}
		output[id] = append(output[id], e.Output)
	case "pass":
		if e.Test == "" {
			return 1
		}
		s.passed++
		delete(output, id)
	case "skip":
		if e.Test == "" {
			return 1 // a package without tests
		}
		if why := reason(output[id]); !slices.Contains(s.skips, skip{name(e, label), why}) {
			s.skips = append(s.skips, skip{name(e, label), why})
		}
		skipped[id] = true
		delete(output, id)
	case "fail":
		if e.Test == "" {
			s.failedPkgs = append(s.failedPkgs, e.Package+label)
			s.show(output[id])
			// A test that a panic or a timeout cut off has no result of its own.
			for other, lines := range output {
				if other.pkg == e.Package && other.test != "" {
					s.show(lines)
					delete(output, other)
				}
			}
			return 1
		}
		s.failedTests = append(s.failedTests, e.Package+label+" "+e.Test)
		s.show(output[id])
		delete(output, id)
	}
	return 0
}

func (s *summary) show(lines []string) {
	for _, l := range lines {
		if strings.HasPrefix(l, "=== ") || l == "PASS\n" {
			continue
		}
		fmt.Fprint(s.w, l)
	}
}

func name(e event, label string) string {
	return e.Package[strings.LastIndexByte(e.Package, '/')+1:] + label + " " + e.Test
}

// reason is what a skipped test said, the position in its file left off.
func reason(lines []string) string {
	var said []string
	for _, l := range lines {
		if m := reasonLine.FindStringSubmatch(strings.TrimRight(l, "\n")); m != nil {
			said = append(said, m[1])
		}
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, "; ")
}

// finish prints the closing lines and reports whether all is well.
func (s *summary) finish(requireAll bool) bool {
	ok := s.failed() == 0
	fmt.Fprintln(s.w)
	for _, f := range s.failedTests {
		fmt.Fprintln(s.w, "FAILED ", f)
	}
	for _, p := range s.failedPkgs {
		fmt.Fprintln(s.w, "FAILED  package", p)
	}
	for _, k := range s.skips {
		fmt.Fprintf(s.w, "SKIPPED %s: %s\n", k.what, k.why)
	}
	if requireAll && slices.ContainsFunc(s.skips, skip.needs) {
		fmt.Fprintln(s.w, "FAILED  the machine lacks something, and REVUE_REQUIRE_ALL=1 forbids it")
		ok = false
	}
	if s.passed == 0 {
		fmt.Fprintln(s.w, "FAILED  no test ran")
		ok = false
	}
	fmt.Fprintf(s.w, "%d passed, %d failed, %d skipped\n", s.passed, s.failed(), len(s.skips))
	fmt.Fprintln(s.w, s.closing())
	return ok
}

// closing is the last line: what was skipped and why, each reason once.
func (s *summary) closing() string {
	if len(s.skips) == 0 {
		return "Skipped: nothing."
	}
	var reasons []string
	count := map[string]int{}
	for _, k := range s.skips {
		why := strings.TrimPrefix(k.why, testneed.Prefix)
		if count[why] == 0 {
			reasons = append(reasons, why)
		}
		count[why]++
	}
	for i, why := range reasons {
		if n := count[why]; n > 1 {
			reasons[i] = fmt.Sprintf("%s (%d tests)", why, n)
		}
	}
	return "Skipped: " + strings.Join(reasons, "; ") + "."
}

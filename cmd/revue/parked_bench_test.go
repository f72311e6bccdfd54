package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// parked is the size of the benchmark: so many calls, from so many processes, each with a token of its own.
func parked() (calls, processes int) {
	if testing.Short() {
		return 200, 2
	}
	return 10_000, 10
}

// parkMain is one process of clients: it asks -n questions, each of a thread of its own, parks a call on each, says
// so, and says again when all are answered.
func parkMain() {
	url := flag.String("url", "", "")
	name := flag.String("name", "", "")
	n := flag.Int("n", 0, "")
	flag.Parse()
	if err := park(os.Stdout, *url, os.Getenv("REVUE_API_KEY"), *name, *n); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // the main function of a program of the tests
	}
}

func park(out io.Writer, url, token, name string, n int) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n, MaxConnsPerHost: n}}
	ask := func(i, wait int) (status, answer string, err error) {
		body, err := json.Marshal(map[string]any{
			"question": fmt.Sprintf("Which rack takes the machines of row %d of %s?", i%10, name),
			"options":  []string{"left", "right"}, "waitSeconds": wait,
		})
		if err != nil {
			return "", "", err
		}
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/v1/decisions/request", bytes.NewReader(body))
		if err != nil {
			return "", "", err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Revue-Thread", fmt.Sprintf("thread %d", i))
		res, err := client.Do(req)
		if err != nil {
			return "", "", err
		}
		defer res.Body.Close() //nolint:errcheck // of what was read
		var o struct{ Status, Answer, Detail string }
		if err := json.NewDecoder(res.Body).Decode(&o); err != nil {
			return "", "", err
		}
		if res.StatusCode != http.StatusOK {
			return "", "", fmt.Errorf("%s: %s", res.Status, o.Detail)
		}
		return o.Status, o.Answer, nil
	}
	var placed, done sync.WaitGroup
	errs := make(chan error, n)
	placing := make(chan struct{}, 8)
	for i := range n {
		placed.Add(1)
		done.Go(func() {
			placing <- struct{}{}
			status, _, err := ask(i, 0)
			<-placing
			placed.Done()
			for err == nil && status == "pending" {
				var answer string
				if status, answer, err = ask(i, 55); err == nil && status == "answered" && answer != "left" {
					err = errors.New("another answer than was given: " + answer)
				}
			}
			if err == nil && status != "answered" {
				err = errors.New("the outcome is " + status)
			}
			if err != nil {
				errs <- err
			}
		})
	}
	placed.Wait()
	fmt.Fprintln(out, "asked")
	done.Wait()
	select {
	case err := <-errs:
		return fmt.Errorf("%d of %d failed, one with: %w", len(errs)+1, n, err)
	default:
		fmt.Fprintln(out, "answered")
		return nil
	}
}

// serverGauge reads a metric of the server that has no labels.
func serverGauge(b *testing.B, url, token, name string) float64 {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url+"/metrics", nil)
	require.NoError(b, err)
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	require.NoError(b, err)
	defer res.Body.Close() //nolint:errcheck // of what was read
	sc := bufio.NewScanner(res.Body)
	for sc.Scan() {
		if value, ok := strings.CutPrefix(sc.Text(), name+" "); ok {
			f, err := strconv.ParseFloat(value, 64)
			require.NoError(b, err)
			return f
		}
	}
	require.Fail(b, "no such metric", name)
	return 0
}

// resident is how much memory a process has, in bytes.
func resident(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip("the memory of another process is read from /proc, which is not here")
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(b, m)
	kb, err := strconv.ParseFloat(string(m[1]), 64)
	require.NoError(b, err)
	return kb * 1024
}

// BenchmarkParked parks calls on one plane, all at once and from other processes, and answers them. It reports what a
// parked call costs the server in resident memory and in goroutines, what was asked before it included, how long it
// took from the first answer until the last caller had one, and how many got theirs.
func BenchmarkParked(b *testing.B) {
	calls, processes := parked()
	for b.Loop() {
		benchParked(b, calls, processes)
	}
}

func benchParked(b *testing.B, calls, processes int) {
	b.Helper()
	db := b.TempDir() + "/revue.db"
	ctx := b.Context()
	p, err := openPlane(ctx, db, nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, p.close()) }()
	require.NoError(b, p.ensureWorkspace(ctx, testHuman()))
	tokens := make([]string, processes)
	for i := range tokens {
		tok, err := p.Admin(testHuman()).CreateToken(ctx, revue.NewToken{Kind: revue.TokenAgent, Label: fmt.Sprintf("parked %d", i)})
		require.NoError(b, err)
		tokens[i] = tok.Secret
	}
	home := b.TempDir()
	server := start(b, cleanEnv(home), "serve", "--addr", "127.0.0.1:0", "--db", db, "--rate-limit", "0")
	url := strings.TrimSuffix(regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(server.line(b, "http://127.0.0.1:")), "/")
	goroutines, memory := serverGauge(b, url, tokens[0], "go_goroutines"), resident(b, server.cmd.Process.Pid)

	each := calls / processes
	clients := make([]*process, processes)
	for i := range clients {
		clients[i] = startProgram(b, "park", cleanEnv(home, "REVUE_API_KEY="+tokens[i]),
			"-url", url, "-name", fmt.Sprintf("hall %d", i), "-n", strconv.Itoa(each))
	}
	for _, c := range clients {
		c.line(b, "asked")
	}
	require.Eventually(b, func() bool {
		return serverGauge(b, url, tokens[0], "revue_parked_calls") >= float64(each*processes)
	}, patience, 50*time.Millisecond)
	b.ReportMetric((serverGauge(b, url, tokens[0], "go_goroutines")-goroutines)/float64(each*processes), "goroutines/call")
	b.ReportMetric((resident(b, server.cmd.Process.Pid)-memory)/float64(each*processes), "B-rss/call")

	human := p.Reviewer(testHuman())
	began := time.Now()
	for cursor := ""; ; {
		page, err := human.Lots(ctx, revue.LotFilter{Status: revue.StatusOpen, Cursor: cursor, Limit: 1000})
		require.NoError(b, err)
		for _, lot := range page.Items {
			_, err := human.Answer(ctx, lot.ID, revue.Answer{Value: "left", Seen: lot.Revision})
			require.NoError(b, err)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	for _, c := range clients {
		c.line(b, "answered")
		<-c.done
		require.NoError(b, c.err, c.stderr)
	}
	b.ReportMetric(time.Since(began).Seconds(), "s-to-last-answer")
	b.ReportMetric(float64(each*processes), "answered")
	b.ReportMetric(0, "ns/op") // the whole of it is of no use
	require.NoError(b, server.stop(b, syscall.SIGTERM), server.stderr)
}

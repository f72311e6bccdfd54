package inboxtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// The repositories and agents of a small team.
const (
	repoAPI   = "github.com/acme/api"
	repoWeb   = "github.com/acme/web"
	repoInfra = "github.com/acme/infra"
	repoData  = "github.com/acme/pipelines"

	claude = "Ada (claude-code)"
	cursor = "Bo (cursor)"
	codex  = "Ada (codex, nightly)"
	gemini = "Mei (gemini-cli)"
	ci     = "ci (upgrade bot)"
)

const day = 24 * time.Hour

// choice makes options of "value: what follows" lines; the label is the value with its first letter raised.
func choice(lines ...string) []revue.Option {
	var out []revue.Option
	for _, l := range lines {
		value, consequence, _ := strings.Cut(l, ": ")
		label := strings.ToUpper(value[:1]) + strings.ReplaceAll(value[1:], "_", " ")
		out = append(out, revue.Option{Value: value, Label: label, Consequence: consequence})
	}
	return out
}

// settled is a question of the past: who asked it when, what a human said, and which agents were given the answer since.
type settled struct {
	ago      time.Duration
	agent    string
	repo     string
	ask      revue.Ask
	by       string
	answer   revue.Answer
	took     time.Duration // until it was answered
	joined   []string      // agents that asked the same before it was answered
	reusedBy []string      // agents that asked the same later, a day apart
}

// history is ten weeks of a team's decisions.
func history() []settled {
	return []settled{
		{
			ago: 68 * day, agent: claude, repo: repoAPI, by: "Ada", took: 4 * time.Minute,
			ask: revue.Ask{
				Question: "Which HTTP status should a cancelled invoice return?", Stream: "api",
				Options: choice("410: clients stop asking for it", "404: it cannot be told from one that never was"), Recommendation: "410", Concepts: []string{"invoices", "http"},
			},
			answer: revue.Answer{Value: "410", Note: "Say in the body when it was cancelled."}, joined: []string{cursor}, reusedBy: []string{codex, gemini, cursor},
		},
		{
			ago: 61 * day, agent: cursor, repo: repoWeb, by: "Bo", took: 11 * time.Minute,
			ask: revue.Ask{
				Question: "Should form errors appear beside their fields or in one summary?", Stream: "web",
				Options: choice("beside: nothing to scroll to", "summary: screen readers read it first", "both"), Recommendation: "both", Concepts: []string{"forms", "accessibility"},
			},
			answer: revue.Answer{Value: "both", Remember: revue.RememberRule}, reusedBy: []string{claude, gemini},
		},
		{
			ago: 54 * day, agent: gemini, repo: repoData, by: "Mei", took: 38 * time.Minute,
			ask: revue.Ask{
				Question: "Should monetary amounts in the warehouse be integers in cents or decimals?", Stream: "data",
				Options: choice("cents: exact, and every report divides", "decimals: exact, and slower to sum"), Recommendation: "cents", Concepts: []string{"money", "warehouse"},
			},
			answer: revue.Answer{Value: "cents"}, joined: []string{codex}, reusedBy: []string{claude, codex},
		},
		{
			ago: 47 * day, agent: codex, repo: repoAPI, by: "Ada", took: 2 * time.Minute,
			ask: revue.Ask{
				Question: "Should public identifiers be UUIDs or sequential numbers?", Stream: "api",
				Options: choice("uuid: nobody can count our orders", "sequence: shorter links"), Recommendation: "uuid", Concepts: []string{"identifiers"},
			},
			answer: revue.Answer{Value: "uuid", Note: "Version 7, so that they sort by time."}, reusedBy: []string{cursor, gemini, claude},
		},
		{
			ago: 40 * day, agent: ci, repo: repoInfra, by: "Mei", took: 3 * time.Hour,
			ask: revue.Ask{
				Question: "Which log retention should staging clusters have?", Stream: "infra",
				Options: choice("7_days: 40 GB", "30_days: 170 GB"), Recommendation: "7_days", Concepts: []string{"logs", "staging"},
			},
			answer: revue.Answer{Value: "7_days"}, reusedBy: []string{claude},
		},
		{
			ago: 33 * day, agent: claude, repo: repoAPI, by: "Bo", took: 25 * time.Minute,
			ask: revue.Ask{
				Question: "How should the API name timestamps in JSON?", Stream: "api", Concepts: []string{"json", "naming"},
				Context: "The code base has `createdAt`, `created_at` and `created`.",
			},
			answer: revue.Answer{Text: "camelCase ending in At: createdAt, updatedAt. RFC 3339 in UTC."}, reusedBy: []string{codex, cursor},
		},
		{
			ago: 26 * day, agent: cursor, repo: repoWeb, by: "Ada", took: 7 * time.Minute,
			ask: revue.Ask{
				Question: "Should the web client retry failed reads automatically?", Stream: "web",
				Options: choice("yes: up to three times with back-off", "no: show the error and a button"), Recommendation: "yes", Concepts: []string{"retries", "http"},
			},
			answer: revue.Answer{Value: "yes"}, joined: []string{claude, gemini}, reusedBy: []string{claude},
		},
		{
			ago: 23 * day, agent: codex, repo: repoAPI, by: "Ada", took: 11 * time.Minute,
			ask: revue.Ask{
				Question: "Which pagination should we use for the invoices API?", Stream: "api", Recommendation: "cursor",
				Options: []revue.Option{
					{Value: "cursor", Label: "Cursor", Consequence: "Stable while invoices arrive."},
					{Value: "offset", Label: "Offset and limit", Consequence: "Simple links."},
				},
				Concepts: []string{"invoices", "pagination"},
			},
			answer: revue.Answer{Value: "cursor"}, reusedBy: []string{claude},
		},
		{
			ago: 19 * day, agent: gemini, repo: repoData, by: "Mei", took: 52 * time.Minute,
			ask: revue.Ask{
				Question: "Should the nightly import skip rows that have no customer?", Stream: "data",
				Options: choice("skip: and count them in the report", "fail: somebody looks at it in the morning"), Recommendation: "skip", Concepts: []string{"imports", "customers"},
			},
			answer: revue.Answer{Value: "fail", Note: "Last time it hid a broken join for two weeks."}, reusedBy: []string{codex},
		},
		{
			ago: 12 * day, agent: codex, repo: repoAPI, by: "Ada", took: 90 * time.Second,
			ask: revue.Ask{
				Question: "Should deprecated endpoints send a Sunset header?", Stream: "api",
				Options: choice("yes", "no"), Recommendation: "yes", Concepts: []string{"deprecation", "http"},
			},
			answer: revue.Answer{Value: "yes", Remember: revue.RememberRule}, reusedBy: []string{claude, cursor, gemini},
		},
		{
			ago: 6 * day, agent: claude, repo: repoWeb, by: "Bo", took: 16 * time.Minute,
			ask: revue.Ask{
				Question: "Which library should the web app use for charts?", Stream: "web",
				Options: choice("uplot: 50 KB, few kinds", "echarts: 1 MB, every kind", "svg: our own, by hand"), Recommendation: "uplot", Concepts: []string{"charts", "dependencies"},
			},
			answer: revue.Answer{Value: "svg", Note: "Three plots don't need a library."}, joined: []string{cursor}, reusedBy: []string{gemini},
		},
		{
			ago: 2 * day, agent: gemini, repo: repoInfra, by: "Mei", took: 9 * time.Minute,
			ask: revue.Ask{
				Question: "Which region should the European read replica run in?", Stream: "infra",
				Options: choice("eu_west_1: beside the primary", "eu_central_1: nearer to most customers"), Recommendation: "eu_central_1", Concepts: []string{"database", "regions"},
			},
			answer: revue.Answer{Value: "eu_central_1"}, joined: []string{codex}, reusedBy: []string{claude},
		},
	}
}

const paginationContext = `The orders list grows by about **4,000 rows a day**. Two clients page through all of it every night.

| | cursor | offset |
|---|---|---|
| page 1 | 3 ms | 3 ms |
| page 500 | 4 ms | 610 ms |
| rows skipped or doubled while orders arrive | none | some |
| jump to page *n* | no | yes |

The web table has no "go to page" box. See ` + "`internal/orders/list.go`" + ` and [the ticket](https://tracker.example.com/API-482).`

const retryContext = `Three callers have a loop of their own today. With it in the client they go:

` + "```diff" + `
--- a/client/client.go
+++ b/client/client.go
@@ -41,7 +41,12 @@ func (c *Client) do(req *http.Request) (*http.Response, error) {
-	res, err := c.http.Do(req)
-	if err != nil {
-		return nil, err
-	}
+	for try := 0; ; try++ {
+		res, err := c.http.Do(req)
+		if err != nil || res.StatusCode != http.StatusTooManyRequests || try == 3 {
+			return res, err
+		}
+		wait(req.Context(), res.Header.Get("Retry-After"))
+	}
 	return res, nil
 }
` + "```" + `

1. A caller that has its own limit would wait twice.
2. ` + "`Retry-After`" + ` is honoured in one place only.`

const partitionContext = `Queries of the last month, by how far back they look:

| window | share |
|---|---|
| up to 1 day | 71 % |
| up to 7 days | 22 % |
| more | 7 % |

` + "```sql" + `
CREATE TABLE events (
    at      timestamptz NOT NULL,
    kind    text        NOT NULL,
    payload jsonb       NOT NULL
) PARTITION BY RANGE (at);
` + "```" + `

> The planner opens every partition that the window touches; with days that is 365 a year.`

// demo is a plane with a past, and what waits in it now.
type demo struct {
	*plane

	pagination, bucket, retry, partition, naming, rotate, modal, theme revue.Lot
	lint                                                               []revue.Lot // the same question from several repositories
	dismissed                                                          revue.Lot
}

// newDemo starts a plane where a realistic team is at work.
func newDemo(tb testing.TB) *demo {
	tb.Helper()
	d := &demo{plane: newPlaneAt(tb, 76*day)}
	d.seed()
	return d
}

// seed lives through ten weeks, up to now.
func (d *demo) seed() {
	d.tb.Helper()
	ctx := d.tb.Context()
	d.clock.set(75 * day)
	for _, name := range []string{"Ada", "Bo", "Mei"} {
		_, err := d.admin(name).CreateToken(ctx, revue.NewToken{Kind: revue.TokenHuman, Owner: name, Label: "laptop"})
		require.NoError(d.tb, err)
	}
	for owner, label := range map[string]string{"Ada": "claude-code", "Bo": "cursor", "Mei": "gemini-cli", "ci": "upgrade bot"} {
		_, err := d.admin("Ada").CreateToken(ctx, revue.NewToken{Kind: revue.TokenAgent, Owner: owner, Label: label})
		require.NoError(d.tb, err)
	}
	for _, s := range []revue.StreamSettings{
		{Slug: "infra", Name: "Infrastructure", Position: 1}, {Slug: "api", Name: "API", Position: 2}, {Slug: "web", Name: "Web app", Position: 3}, {Slug: "data", Name: "Data", Position: 4},
	} {
		_, err := d.admin("Ada").SetStream(ctx, s)
		require.NoError(d.tb, err)
	}
	past := history()
	for i, s := range past {
		next := time.Hour
		if i+1 < len(past) {
			next = past[i+1].ago
		}
		d.live(s, next)
	}
	d.now()
}

// live asks, answers and reuses one question of the past, all before the next.
func (d *demo) live(s settled, next time.Duration) {
	d.tb.Helper()
	d.clock.set(s.ago)
	lot := d.ask(s.agent, s.repo, s.ask)
	for _, name := range s.joined {
		require.Equal(d.tb, lot.ID, d.ask(name, s.repo, s.ask).ID)
	}
	d.clock.set(s.ago - s.took)
	s.answer.Seen = d.lot(lot.ID).Revision
	answered, err := d.reviewer(s.by).Answer(d.tb.Context(), lot.ID, s.answer)
	require.NoError(d.tb, err)
	require.NotEmpty(d.tb, answered.DecisionID)
	for _, name := range append([]string{s.agent}, s.joined...) {
		out, err := d.agent(name, s.repo).Request(d.tb.Context(), s.ask)
		require.NoError(d.tb, err)
		require.Equal(d.tb, revue.OutcomeAnswered, out.Status)
	}
	step := (s.ago - next) / time.Duration(len(s.reusedBy)+2)
	for i, name := range s.reusedBy {
		d.clock.set(s.ago - time.Duration(i+1)*step)
		s.ask.Wait = 0
		out, err := d.desk.Decider(revue.Agent{
			Workspace: workspace, Credential: "tok " + name, Name: name, Thread: fmt.Sprintf("%s-%d", threadOf(name), i+2), Repo: s.repo, Via: "mcp http",
		}).Request(d.tb.Context(), s.ask)
		require.NoError(d.tb, err)
		require.Equal(d.tb, revue.OutcomeReused, out.Status, s.ask.Question)
	}
}

// now is what waits this morning.
func (d *demo) now() {
	d.tb.Helper()
	ctx := d.tb.Context()

	d.clock.set(20 * time.Hour)
	d.dismissed = d.ask(ci, repoInfra, revue.Ask{Question: "Should the runner image move to the next Debian before its release?", Stream: "infra", Options: choice("yes", "no"), Recommendation: "no", Concepts: []string{"images"}})
	_, err := d.reviewer("Mei").Dismiss(ctx, d.dismissed.ID, revue.Dismissal{Reason: "Not before it is released."})
	require.NoError(d.tb, err)

	d.clock.set(3 * time.Hour)
	d.theme = d.ask(gemini, repoWeb, revue.Ask{
		Question: "Should the settings page keep the switch for the old theme?", Stream: "web", Recommendation: "remove",
		Options:  choice("keep: 212 people of 40,000 still use the old theme", "remove: 1,900 lines of CSS go"),
		Concepts: []string{"themes", "settings"}, Files: []string{"src/settings/Theme.tsx", "src/styles/classic.css"},
	})
	for _, repo := range []string{repoAPI, repoWeb, repoInfra, repoData} {
		d.lint = append(d.lint, d.ask(ci, repo, revue.Ask{
			Question: "Should unused parameters fail the build?", Options: choice("fail: at once", "warn: for a month, then fail"), Recommendation: "warn",
		}))
	}

	d.clock.set(95 * time.Minute)
	d.partition = d.ask(gemini, repoData, revue.Ask{
		Question: "Should the events table be partitioned by day or by month?", Stream: "data", Context: partitionContext, Recommendation: "month",
		Options:  choice("day: drops of old data are instant, 365 partitions a year", "month: 12 partitions a year, drops are coarser"),
		Concepts: []string{"warehouse", "events"}, Files: []string{"migrations/0042_events.sql"},
	})
	d.share(codex, repoData, revue.ContextItem{Kind: "finding", Body: "The events table is at **310 million rows** and grows by 2.1 million a day; `payload` is two thirds of it.", Concepts: []string{"events", "warehouse"}})
	d.share(claude, repoAPI, revue.ContextItem{Kind: "risk", Body: "The mobile app before 4.2 follows `next` links as they are; it never builds a page number.", Concepts: []string{"orders", "pagination"}})

	d.clock.set(52 * time.Minute)
	pagination := revue.Ask{
		Question: "Which pagination should we use for the orders API?", Stream: "api", Context: paginationContext, Recommendation: "cursor",
		Options: []revue.Option{
			{Value: "cursor", Label: "Cursor", Consequence: "Stable while orders arrive; no jump to a page number."},
			{Value: "offset", Label: "Offset and limit", Consequence: "Simple links; slow and wrong beyond page 200."},
			{Value: "both", Label: "Both, offset deprecated", Consequence: "Nobody breaks; two ways to test for a year."},
		},
		Concepts: []string{"orders", "pagination"}, Files: []string{"internal/orders/list.go", "api/openapi.yaml"},
	}
	d.pagination = d.ask(claude, repoAPI, pagination)
	d.clock.set(44 * time.Minute)
	require.Equal(d.tb, d.pagination.ID, d.ask(cursor, repoAPI, pagination).ID)
	other := pagination
	other.Question = "For the orders API, which pagination should we use?"
	d.clock.set(31 * time.Minute)
	joined := d.ask(gemini, repoAPI, other)
	require.Equal(d.tb, d.pagination.ID, joined.ID)
	require.Equal(d.tb, revue.VerdictLikely, joined.Asks[len(joined.Asks)-1].Verdict)
	d.pagination = joined

	d.clock.set(26 * time.Minute)
	d.retry = d.ask(codex, repoAPI, revue.Ask{
		Question: "Should the web client retry failed writes automatically?", Stream: "api", Context: retryContext, Recommendation: "no",
		Options: choice("yes: up to three times with back-off", "no: show the error and a button"), Concepts: []string{"retries", "http"}, Files: []string{"client/client.go"},
	})

	d.clock.set(14 * time.Minute)
	d.bucket = d.approval(claude, repoInfra, revue.Ask{
		Question: "Delete three storage buckets that nothing has read for a year", Stream: "infra", Expires: 24 * time.Hour,
		Context: "Found by the monthly report. None has a lifecycle rule; the last read was **14 months** ago.\n\n```sh\naws s3 rb s3://acme-old-exports --force\n```",
		Affected: []revue.Affected{
			{Label: "acme-old-exports", Meta: "eu-west-1, 412 GB, 1.9 million objects"},
			{Label: "acme-build-cache-2023", Meta: "eu-west-1, 96 GB"},
			{Label: "acme-tmp-uploads", Meta: "us-east-1, 3 GB"},
		},
	})
	d.clock.set(6 * time.Minute)
	d.rotate = d.approval(ci, repoInfra, revue.Ask{
		Question: "Rotate the password of the staging database", Stream: "infra", Expires: time.Hour,
		Affected: []revue.Affected{{Label: "staging-orders", Meta: "4 services reconnect, about 20 s"}},
	})

	d.clock.set(3 * time.Minute)
	d.naming = d.ask(cursor, repoWeb, revue.Ask{
		Question: "What should a saved search be called in the interface?", Stream: "web", Concepts: []string{"search", "wording"},
		Context: "It is in the menu, the URL and the e-mails. Drafts so far: *view*, *filter*, *watch*.",
	})
	d.clock.set(50 * time.Second)
	d.modal = d.ask(claude, repoWeb, revue.Ask{
		Question: "Should deleting a saved search ask for confirmation or offer undo?", Stream: "web", Recommendation: "undo",
		Options: choice("confirm: one more press each time", "undo: kept for ten seconds, then gone"), Concepts: []string{"search", "forms"},
	})
	d.clock.set(0)
}

// approval parks a call that waits for a human, and returns the card it waits for. The call ends with the test.
func (p *plane) approval(name, repo string, a revue.Ask) revue.Lot {
	p.tb.Helper()
	a.Kind, a.Wait = revue.KindApproval, 0
	return p.ask(name, repo, a)
}

// TestDemo looks at what the pictures are of: a past in which answers were reused, and a present with cards of each kind.
func TestDemo(t *testing.T) {
	d := newDemo(t)
	require.Len(t, d.open(), 12)
	require.Len(t, d.lint, 4)
	ids := map[string]bool{}
	for _, l := range d.lint {
		ids[l.ID] = true
	}
	require.Len(t, ids, 4)
	require.NotEmpty(t, d.retry.Pinned, "a precedent that is alike")
	require.Equal(t, "Which pagination should we use for the invoices API?", d.pagination.Pinned[0].Question)
	page, err := d.reviewer("Ada").Decisions(t.Context(), revue.DecisionFilter{})
	require.NoError(t, err)
	require.Len(t, page.Items, len(history()))
	for _, dec := range page.Items {
		why, err := d.reviewer("Ada").Why(t.Context(), dec.ID)
		require.NoError(t, err)
		require.NotEmpty(t, why.Uses)
	}
}

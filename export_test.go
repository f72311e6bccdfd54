package revue_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/revuetest"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/storage/sqlite"
)

// clocked is a plane in memory whose time a test sets.
type clocked struct {
	*revue.Desk
	store *memstore.Store
	now   time.Time
}

func newClocked() *clocked {
	c := &clocked{now: time.Now().Add(-24 * time.Hour)}
	c.store = memstore.New(&memstore.Options{Now: func() time.Time { return c.now }})
	c.Desk = revue.New(c.store, memory.New(nil), nil)
	return c
}

// history is a plane in which every kind of event has happened.
func history(t require.TestingT) *clocked {
	ctx := context.Background()
	c := newClocked()
	must := func(err error) { require.NoError(t, err) }
	ask := func(name string, ask revue.Ask) revue.Outcome {
		o, err := c.Decider(agent(name)).Request(ctx, ask)
		must(err)
		return o
	}
	human, admin := c.Reviewer(alice), c.Admin(local)
	_, err := admin.CreateWorkspace(ctx, "w")
	must(err)
	tok, err := admin.CreateToken(ctx, revue.NewToken{Kind: revue.TokenHuman, Owner: "Bea <&>", Label: "laptop"})
	must(err)
	_, err = admin.CreateToken(ctx, revue.NewToken{Kind: revue.TokenAgent, Label: "ci", Life: time.Hour})
	must(err)
	_, err = c.Authenticate(ctx, tok.Secret)
	must(err)
	nobody, err := admin.CreateToken(ctx, revue.NewToken{Kind: revue.TokenHuman, Label: "shared"})
	must(err)
	for _, id := range []string{tok.Member, nobody.ID} {
		in, err := c.Admin(revue.Human{Workspace: "w", ID: id, Name: "x", Via: "api"}).SignIn(ctx)
		must(err)
		_, err = c.OpenSession(ctx, in.Code, "Firefox <&>")
		must(err)
	}
	_, err = admin.SetStream(ctx, revue.StreamSettings{Slug: "web-app", Name: "The <web> app", Position: 2, Muted: true})
	must(err)
	_, err = admin.RemoveMember(ctx, tok.Member)
	must(err)

	first := ask("a", databaseAsk(0))
	joined := ask("b", databaseAsk(0))
	likely := databaseAsk(0)
	likely.Question = "Hello, which database should the billing service use?"
	ask("c", likely)
	lot, err := human.Lot(ctx, first.LotID)
	must(err)
	require.Len(t, lot.Asks, 3)
	lot, err = human.Answer(ctx, lot.ID, revue.Answer{Value: "sqlite", Note: "grüße & <b>\n\"\\ufffd\"", Members: []string{first.AskID, joined.AskID}, Seen: lot.Revision})
	must(err)
	require.Equal(t, revue.OutcomeAnswered, ask("a", databaseAsk(0)).Status)
	require.Equal(t, revue.OutcomeReused, ask("d", databaseAsk(0)).Status)

	apart := ask("c", likely)
	_, err = human.Answer(ctx, apart.LotID, revue.Answer{Value: "sqlite", Remember: revue.RememberOnce})
	must(err)

	// Another answer supersedes; one confirms.
	_, err = human.Correct(ctx, revue.Correction{DecisionID: lot.DecisionID, Verb: revue.VerbAskNextTime, Note: "again"})
	must(err)
	again := ask("e", databaseAsk(0))
	second, err := human.Answer(ctx, again.LotID, revue.Answer{Value: "postgres"})
	must(err)
	cor, err := human.Correct(ctx, revue.Correction{DecisionID: second.DecisionID, Verb: revue.VerbOnlyThisRepo})
	must(err)
	_, err = human.Correct(ctx, revue.Correction{DecisionID: second.DecisionID, Undoes: cor.Corrections[0].ID})
	must(err)
	_, err = human.Correct(ctx, revue.Correction{DecisionID: second.DecisionID, Verb: revue.VerbExpiresAfter, After: time.Hour})
	must(err)
	c.now = c.now.Add(2 * time.Hour)
	confirmed := ask("f", databaseAsk(0))
	pinned, err := human.Lot(ctx, confirmed.LotID)
	must(err)
	require.NotEmpty(t, pinned.Pinned)
	_, err = human.Answer(ctx, confirmed.LotID, revue.Answer{Confirms: second.DecisionID})
	must(err)
	// A precedent that nothing stands against is confirmed itself.
	rule := yesNo("Should the export of the ledger keep its header row?")
	made := ask("g", rule)
	_, err = human.Answer(ctx, made.LotID, revue.Answer{Value: "yes"})
	must(err)
	near := yesNo("Hello, should the export of the ledger keep its header row?")
	pins := ask("h", near)
	shown, err := human.Lot(ctx, pins.LotID)
	must(err)
	require.NotEmpty(t, shown.Pinned)
	_, err = human.Answer(ctx, pins.LotID, revue.Answer{Value: "yes", Confirms: shown.Pinned[0].DecisionID, Seen: shown.Revision})
	must(err)

	// Dismissed, reopened, dismissed again.
	no := ask("a", yesNo("Should the crane be painted?"))
	_, err = human.Dismiss(ctx, no.LotID, revue.Dismissal{Reason: "not now"})
	must(err)
	_, err = human.Reopen(ctx, no.LotID)
	must(err)
	no = ask("a", yesNo("Should the barge be sold?"))
	_, err = human.Dismiss(ctx, no.LotID, revue.Dismissal{Reason: "never"})
	must(err)

	for _, title := range []string{"Drop the old table", "Delete the bucket"} {
		o := ask("a", revue.Ask{Kind: revue.KindApproval, Question: title, Affected: []revue.Affected{{Label: "x", Meta: "1 GB"}}, Expires: time.Minute})
		if title == "Drop the old table" {
			_, err = human.Answer(ctx, o.LotID, revue.Answer{Value: revue.Approved})
			must(err)
		}
	}
	c.now = c.now.Add(time.Hour)
	item, err := c.Decider(agent("a")).Share(ctx, revue.ContextItem{Kind: "risk", Body: "The ledger is big: \u202e😀", Concepts: []string{"ledger"}})
	must(err)
	must(human.RemoveContext(ctx, item.ID))
	item, err = c.Decider(agent("a")).Share(ctx, revue.ContextItem{Kind: "note", Body: "A secret pass phrase"})
	must(err)
	must(admin.Purge(ctx, item.ID))
	gone := ask("a", yesNo("Should the pass phrase be rotated?"))
	gonelot, err := human.Answer(ctx, gone.LotID, revue.Answer{Text: "rotate it, it is swordfish"})
	must(err)
	ask("a", yesNo("Should the pass phrase be rotated?"))
	must(admin.Purge(ctx, gonelot.DecisionID))
	must(admin.Purge(ctx, gone.LotID))
	ask("z", yesNo("Is this still open?"))
	return c
}

func export(t require.TestingT, s revue.Store, workspace string, opts *revue.ExportOptions) []byte {
	var buf bytes.Buffer
	_, err := revue.Export(context.Background(), s, workspace, &buf, opts)
	require.NoError(t, err)
	return buf.Bytes()
}

// body is an export without what differs from one time to the next.
func body(b []byte) string {
	lines := strings.SplitAfter(string(b), "\n")
	return strings.Join(lines[1:len(lines)-2], "")
}

func into(t require.TestingT, s revue.Store, workspace string, b []byte, opts *revue.ImportOptions) revue.Imported {
	got, err := revue.Import(context.Background(), s, workspace, bytes.NewReader(b), opts)
	require.NoError(t, err)
	return got
}

func sqliteStore(t testing.TB) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "revue.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// A store that counts what is committed to it.
type counting struct {
	revue.Store
	updates int
	fail    int // the Update of this number fails, and all behind it
}

func (c *counting) Update(ctx context.Context, ws string, fn func(revue.Tx) error) error {
	c.updates++
	if c.fail > 0 && c.updates >= c.fail {
		return errors.New("killed")
	}
	return c.Store.Update(ctx, ws, fn)
}

func TestExportRoundTrip(t *testing.T) {
	c := history(t)
	kinds := map[revue.EventKind]bool{}
	require.NoError(t, c.store.View(t.Context(), "w", func(tx revue.Tx) error {
		events, err := tx.Events(0, 1000)
		for _, e := range events {
			kinds[e.Kind] = true
		}
		return err
	}))
	require.Len(t, kinds, 20, "an event of each kind: %v", kinds)

	opts, take := &revue.ExportOptions{Tokens: true}, &revue.ImportOptions{Tokens: true}
	first := export(t, c.store, "w", opts)
	lite, mem, back := sqliteStore(t), memstore.New(nil), sqliteStore(t)
	got := into(t, lite, "", first, take)
	require.True(t, got.Changed)
	require.Equal(t, "w", got.Workspace)
	into(t, mem, "", export(t, lite, "w", opts), take)
	into(t, back, "other", export(t, mem, "w", opts), take)
	for _, b := range [][]byte{export(t, lite, "w", opts), export(t, mem, "w", opts), export(t, back, "other", opts)} {
		require.Equal(t, body(first), body(b))
	}
	for ws, s := range map[string]revue.Store{"w": lite, "other": back} {
		v, err := revue.VerifyWorkspace(t.Context(), s, ws, nil)
		require.NoError(t, err)
		require.Equal(t, got.Events, v.Events)
		require.Equal(t, got.Lots, v.Lots)
		require.Positive(t, v.Purged)
		all, err := plane(s).Admin(local).Workspaces(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, ws, all[0].Name)
	}

	// It works there as it did here: remembered, signed by the new plane, and no secret came along.
	require.NotContains(t, string(first), "swordfish")
	require.NotContains(t, string(first), `"seed"`)
	desk := plane(lite)
	o := request(t, desk, agent("new"), yesNo("Should the export of the ledger keep its header row?"))
	require.Equal(t, revue.OutcomeReused, o.Status)
	keys, err := desk.Keys(t.Context())
	require.NoError(t, err)
	require.NoError(t, keys.VerifyReceipt(*o.Receipt))
	require.Equal(t, o.LotID, request(t, desk, agent("new"), yesNo("Should the export of the ledger keep its header row?")).LotID)
}

func TestExportIsRead(t *testing.T) {
	c := history(t)
	var total int64
	var buf bytes.Buffer
	sum, err := revue.Export(t.Context(), c.store, "w", &buf, &revue.ExportOptions{Progress: func(done, all int64) {
		require.LessOrEqual(t, done, all)
		total = all
	}})
	require.NoError(t, err)
	require.EqualValues(t, sum.Events, total)
	lines := strings.SplitAfter(buf.String(), "\n")
	require.Empty(t, lines[len(lines)-1])
	counts := map[string]int64{}
	for _, l := range lines[1 : len(lines)-2] {
		var x struct {
			Type  string
			Value struct{ Kind string }
		}
		require.NoError(t, json.Unmarshal([]byte(l), &x))
		if x.Type == "record" {
			counts[x.Value.Kind]++
		}
		counts[x.Type]++
	}
	require.Equal(t, int64(sum.Events), counts["event"])
	require.Equal(t, sum.Lots, counts["lot"])
	require.Equal(t, sum.Asks, counts["ask"])
	require.Equal(t, sum.Decisions, counts["decision"])
	require.Equal(t, sum.Contexts, counts["context"])
	require.Equal(t, sum.Receipts, counts["receipt"])
	require.Equal(t, sum.Tokens, counts["token"])
	require.Contains(t, lines[len(lines)-2], sum.SHA256)
	digest := sha256.Sum256([]byte(strings.Join(lines[:len(lines)-2], "")))
	require.Equal(t, hex.EncodeToString(digest[:]), sum.SHA256)

	_, err = revue.Export(t.Context(), c.store, "", io.Discard, nil)
	require.ErrorIs(t, err, revue.ErrInvalid)
	_, err = revue.Export(t.Context(), c.store, "w", failing{}, nil)
	require.ErrorIs(t, err, io.ErrShortWrite)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = revue.Export(ctx, c.store, "w", io.Discard, nil)
	require.ErrorIs(t, err, context.Canceled)
	empty, err := revue.Export(t.Context(), memstore.New(nil), "new", &buf, nil)
	require.NoError(t, err)
	require.Zero(t, empty.Events)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// Whatever agents and humans did, it comes out as it went in.
func TestExportProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		c := newClocked()
		human, admin := c.Reviewer(alice), c.Admin(local)
		_, err := admin.CreateWorkspace(ctx, "w")
		require.NoError(t, err)
		text := rapid.String()
		pick := func(name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }
		lots := func() []revue.Lot {
			page, err := human.Lots(ctx, revue.LotFilter{})
			require.NoError(t, err)
			return page.Items
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			c.now = c.now.Add(time.Duration(pick("seconds", 5000)) * time.Second)
			all := lots()
			switch op := pick("op", 10); {
			case op < 4 || len(all) == 0:
				ask := yesNo([]string{"Which way?", "Should we ship?", "Hello, should we ship?", text.Draw(t, "question")}[pick("q", 4)])
				ask.Context, ask.Concepts = text.Draw(t, "context"), rapid.SliceOfN(text, 0, 3).Draw(t, "concepts")
				if pick("approval", 4) == 0 {
					ask = revue.Ask{Kind: revue.KindApproval, Question: ask.Question, Expires: time.Minute}
				}
				_, _ = c.Decider(agent(string(rune('a'+pick("agent", 4))))).Request(ctx, ask)
			case op == 4:
				_, _ = human.Answer(ctx, all[pick("lot", len(all))].ID, revue.Answer{Text: text.Draw(t, "answer"), Note: text.Draw(t, "note")})
			case op == 5:
				lot := all[pick("lot", len(all))]
				_, _ = human.Answer(ctx, lot.ID, revue.Answer{Value: []string{"yes", revue.Approved}[pick("value", 2)], Seen: lot.Revision})
			case op == 6:
				_, _ = human.Dismiss(ctx, all[pick("lot", len(all))].ID, revue.Dismissal{Reason: text.Draw(t, "reason")})
			case op == 7:
				_, _ = human.Reopen(ctx, all[pick("lot", len(all))].ID)
			case op == 8:
				page, err := human.Decisions(ctx, revue.DecisionFilter{})
				require.NoError(t, err)
				if n := len(page.Items); n > 0 {
					dec := page.Items[pick("decision", n)].ID
					if pick("purge", 4) == 0 {
						_ = admin.Purge(ctx, dec)
					} else {
						_, _ = human.Correct(ctx, revue.Correction{DecisionID: dec, Verb: revue.Verbs()[pick("verb", 4)], Note: text.Draw(t, "note")})
					}
				}
			default:
				_, _ = c.Decider(agent("a")).Share(ctx, revue.ContextItem{Kind: "note", Body: text.Draw(t, "body")})
				if pick("purge", 3) == 0 {
					_ = admin.Purge(ctx, all[pick("lot", len(all))].ID)
				}
			}
		}
		if _, err := revue.VerifyWorkspace(ctx, c.store, "w", nil); err != nil {
			t.Fatalf("what the desk wrote does not verify: %v", err)
		}
		first := export(t, c.store, "w", nil)
		other := memstore.New(nil)
		into(t, other, "", first, nil)
		require.Equal(t, body(first), body(export(t, other, "w", nil)))
		require.False(t, into(t, other, "", first, nil).Changed)
	})
}

// sealed puts an end behind lines that fits them.
func sealed(lines []string) []byte {
	text := strings.Join(lines, "")
	sum := sha256.Sum256([]byte(text))
	return fmt.Appendf(nil, "%s{\"type\":\"end\",\"count\":%d,\"sha256\":%q}\n", text, len(lines)-1, hex.EncodeToString(sum[:]))
}

// refused requires that an import fails and changes nothing.
func refused(t *testing.T, b []byte, why string) error {
	t.Helper()
	s := memstore.New(nil)
	_, err := revue.Import(t.Context(), s, "w", bytes.NewReader(b), &revue.ImportOptions{Tokens: true})
	require.ErrorIs(t, err, revue.ErrInvalid, why)
	untouched(t, s)
	return err
}

// untouched requires that nothing is in a workspace, or listed.
func untouched(t *testing.T, s revue.Store) {
	t.Helper()
	require.Empty(t, body(export(t, s, "w", nil)))
	for ws, kinds := range map[string][]string{"w": {"import", "receipt"}, "": {"workspace", "token", "token-hash"}} {
		require.NoError(t, s.View(t.Context(), ws, func(tx revue.Tx) error {
			for _, kind := range kinds {
				found, err := tx.ListRecords(kind)
				require.NoError(t, err)
				require.Empty(t, found, kind)
			}
			return nil
		}))
	}
}

func TestImportRefusesWhatIsNotWhole(t *testing.T) {
	c := history(t)
	whole := export(t, c.store, "w", &revue.ExportOptions{Tokens: true})
	for n := range whole {
		if n%97 == 0 || n > len(whole)-100 {
			require.Error(t, refused(t, whole[:n], fmt.Sprint("cut to ", n)))
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test's
	for range 300 {
		b := bytes.Clone(whole)
		at := rnd.IntN(len(b))
		b[at] ^= 1 << rnd.IntN(8)
		refused(t, b, fmt.Sprint("byte ", at))
	}
	refused(t, append(bytes.Clone(whole), "{}\n"...), "more behind the end")
	refused(t, nil, "empty")
	err := refused(t, []byte(`{"format":"revue-export","version":2,"new":1}`+"\n"), "version")
	require.ErrorContains(t, err, "take a newer revue")
	require.ErrorContains(t, refused(t, []byte("{\"a\":1}\n"), "json"), "no export")

	// The same with a digest that fits: what is in the file must fit together.
	lines := strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n")
	lines = lines[:len(lines)-1]
	require.NotEmpty(t, into(t, memstore.New(nil), "", sealed(lines), nil))
	side := func(l string) bool { // what nothing refers to
		return strings.HasPrefix(l, `{"type":"record","value":{"kind":"stream"`) || strings.HasPrefix(l, `{"type":"record","value":{"kind":"noted"`) ||
			strings.HasPrefix(l, `{"type":"record","value":{"kind":"token"`)
	}
	for i, l := range lines[1:] {
		i++
		without := append(append([]string{}, lines[:i]...), lines[i+1:]...)
		twice := append(append(append([]string{}, lines[:i]...), l), lines[i:]...)
		if side(l) || i == len(lines)-1 {
			continue
		}
		refused(t, sealed(without), "without: "+l)
		refused(t, sealed(twice), "twice: "+l)
		if !side(lines[i+1]) && strings.HasPrefix(l, `{"type":"event"`) {
			swapped := append([]string{}, lines...)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			refused(t, sealed(swapped), "swapped: "+l)
		}
	}
	replaced := func(old, with string) []byte {
		out := make([]string, len(lines))
		n := 0
		for i, l := range lines {
			out[i] = strings.Replace(l, old, with, 1)
			if out[i] != l {
				n++
			}
		}
		require.Positive(t, n, old)
		return sealed(out)
	}
	for name, c := range map[string]struct{ old, with, says string }{
		"the wording of an ask":    {`"question":"Should the crane be painted?","options"`, `"question":"Should the crane be scrapped?","options"`, "was changed"},
		"an answer":                {`"answer":{"value":"postgres"`, `"answer":{"value":"sqlite"`, "was changed"},
		"a decision":               {`"answer":"yes","answerLabel"`, `"answer":"no","answerLabel"`, "was changed"},
		"the note of a correction": {`"note":"again"`, `"note":"never"`, "digest is another"},
		"a status":                 {`"status":"dismissed"`, `"status":"open"`, "status"},
		"an unknown member":        {`"status":"open",`, `"status":"open","priority":1,`, "malformed"},
		"an unknown status":        {`"status":"open",`, `"status":"closed",`, "status"},
		"an unknown event":         {`"kind":"ask.joined"`, `"kind":"ask.left"`, "kind"},
		"an event":                 {`"actor":"alice"`, `"actor":"mallory"`, "was changed"},
		"a secret key":             {`"kind":"stream"`, `"kind":"key"`, "kind"},
		"a cursor":                 {`"kind":"stream"`, `"kind":"notifier"`, "kind"},
		"a long question":          {`"question":"Is this still open?"`, `"question":"` + strings.Repeat("x", 3000) + `"`, "limit"},
		"a lot of another type":    {`{"type":"lot","value":{`, `{"type":"lot","value":[{`, "malformed"},
		"a null":                   {`{"type":"lot","value":{"id":"`, `{"type":"lot","value":null,"count":{"id":"`, "malformed"},
		"an unknown type":          {`{"type":"lot"`, `{"type":"slot"`, "type"},
		"a head":                   {`"head":{"seq":`, `"head":{"seq":9`, "another event than the first line says"},
		"bad UTF-8":                {`Is this still open?`, "Is this \xff still open?", "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, refused(t, replaced(c.old, c.with), name), c.says)
		})
	}
}

func TestImportIsIdempotent(t *testing.T) {
	c := history(t)
	first := export(t, c.store, "w", nil)
	s := &counting{Store: memstore.New(nil)}
	require.True(t, into(t, s, "", first, nil).Changed)
	n := s.updates
	again := into(t, s, "", first, nil)
	require.False(t, again.Changed)
	require.False(t, again.Ahead)
	require.Equal(t, n, s.updates, "the same file again wrote something")

	// It has gone on: an answer is not taken back by the file.
	desk := plane(s)
	open := request(t, desk, agent("z"), yesNo("Is this still open?"))
	answer(t, desk, open.LotID, revue.Answer{Value: "yes"})
	before := export(t, s, "w", nil)
	n = s.updates
	ahead := into(t, s, "", first, nil)
	require.True(t, ahead.Ahead)
	require.False(t, ahead.Changed)
	require.Equal(t, n, s.updates)
	require.Equal(t, body(before), body(export(t, s, "w", nil)))

	// It is behind: a later export of the same history is added.
	behind := memstore.New(nil)
	into(t, behind, "", first, nil)
	require.True(t, into(t, behind, "", before, nil).Changed)
	require.Equal(t, body(before), body(export(t, behind, "w", nil)))

	// It has another history: nothing changes.
	other := history(t)
	kept := export(t, other.store, "w", nil)
	counted := &counting{Store: other.store}
	for _, b := range [][]byte{first, before} {
		_, err := revue.Import(t.Context(), counted, "", bytes.NewReader(b), nil)
		require.ErrorIs(t, err, revue.ErrConflict)
	}
	require.Zero(t, counted.updates)
	require.Equal(t, body(kept), body(export(t, other.store, "w", nil)))
	// A fork of the same history is another one.
	request(t, plane(behind), agent("y"), yesNo("Is this on one side?"))
	request(t, desk, agent("y"), yesNo("Is this on the other side?"))
	_, err := revue.Import(t.Context(), behind, "", bytes.NewReader(export(t, s, "w", nil)), nil)
	require.ErrorIs(t, err, revue.ErrConflict)

	// Nothing at all, too.
	empty := export(t, memstore.New(nil), "fresh", nil)
	fresh := memstore.New(nil)
	require.True(t, into(t, fresh, "", empty, nil).Changed)
	require.False(t, into(t, fresh, "", empty, nil).Changed)
	require.Equal(t, revue.OutcomePending, request(t, plane(fresh), revue.Agent{Workspace: "fresh", Credential: "a", Name: "a"}, yesNo("Now?")).Status)
	require.False(t, into(t, fresh, "", empty, nil).Changed)
}

// An import that is killed at any transaction leaves a workspace that nobody acts on, and the same import
// again completes it.
func TestImportKilled(t *testing.T) {
	c := history(t)
	// More than one batch.
	for i := range 300 {
		request(t, c.Desk, agent("many"), yesNo(fmt.Sprintf("Which port should service%d use?", i)))
	}
	file := export(t, c.store, "w", &revue.ExportOptions{Tokens: true})
	all := &counting{Store: memstore.New(nil)}
	into(t, all, "", file, &revue.ImportOptions{Tokens: true})
	require.GreaterOrEqual(t, all.updates, 5)
	for fail := 1; fail <= all.updates; fail++ {
		s := &counting{Store: memstore.New(nil), fail: fail}
		_, err := revue.Import(t.Context(), s, "", bytes.NewReader(file), &revue.ImportOptions{Tokens: true})
		require.ErrorContains(t, err, "killed")
		s.fail = 0
		if fail > 1 {
			desk := plane(s)
			_, err = desk.Decider(agent("x")).Request(t.Context(), yesNo("Who goes there?"))
			require.ErrorIs(t, err, revue.ErrUnavailable)
			_, err = desk.Decider(agent("x")).Lookup(t.Context(), revue.Query{Text: "ledger"})
			require.ErrorIs(t, err, revue.ErrUnavailable)
			_, err = desk.Reviewer(alice).Lots(t.Context(), revue.LotFilter{})
			require.ErrorIs(t, err, revue.ErrUnavailable)
			require.ErrorContains(t, err, "run the same import again")
			_, err = revue.Export(t.Context(), s, "w", io.Discard, nil)
			require.ErrorIs(t, err, revue.ErrUnavailable)

			_, err = revue.Import(t.Context(), s, "", bytes.NewReader(export(t, history(t).store, "w", nil)), nil)
			require.ErrorIs(t, err, revue.ErrConflict)
		}
		require.True(t, into(t, s, "", file, &revue.ImportOptions{Tokens: true}).Changed)
		require.Equal(t, body(file), body(export(t, s, "w", &revue.ExportOptions{Tokens: true})))
		require.Equal(t, revue.OutcomeReused, request(t, plane(s), agent("n"), yesNo("Should the export of the ledger keep its header row?")).Status)
	}
}

// A half imported workspace keeps the work for the others from nothing.
func TestHalfImportedAmongOthers(t *testing.T) {
	file := export(t, history(t).store, "w", nil)
	synctest.Test(t, func(t *testing.T) {
		all := &counting{Store: memstore.New(nil)}
		into(t, all, "", file, nil)
		s := memstore.New(nil)
		_, err := revue.Import(t.Context(), &counting{Store: s, fail: all.updates}, "a", bytes.NewReader(file), nil)
		require.ErrorContains(t, err, "killed")
		told := &revuetest.Recorder{}
		desk := revue.New(s, memory.New(nil), &revue.Options{Notifiers: map[string]revue.Notifier{"n": told}})
		running(t, desk)
		synctest.Wait()
		b := agent("b")
		b.Workspace = "b"
		o, err := desk.Decider(b).Request(t.Context(), revue.Ask{Kind: revue.KindApproval, Question: "Go?", Expires: time.Minute, Wait: time.Hour})
		require.NoError(t, err)
		require.Equal(t, revue.OutcomeExpired, o.Status)
		require.Eventually(t, func() bool { return len(told.Notices()) == 2 }, time.Minute, time.Second)

		// When it is whole, notifiers are told of what waits, and of nothing that is past.
		into(t, s, "a", file, nil)
		require.Eventually(t, func() bool { return len(told.Notices()) > 2 }, 2*time.Minute, time.Second)
		time.Sleep(2 * time.Minute) //nolint:forbidigo // fake time
		open := 0
		for _, n := range told.Notices()[2:] {
			require.Equal(t, revue.NoticeAsked, n.Kind)
			require.Equal(t, revue.StatusOpen, n.Lot.Status)
			open++
		}
		h := alice
		h.Workspace = "a"
		page, err := desk.Reviewer(h).Lots(t.Context(), revue.LotFilter{Status: revue.StatusOpen})
		require.NoError(t, err)
		require.Len(t, page.Items, open)
	})
}

// A workspace that is half imported is said to be so once, however often an import wakes who follows it.
func TestHalfImportedIsSaidOnce(t *testing.T) {
	file := export(t, history(t).store, "w", nil)
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(nil)
		_, err := revue.Import(t.Context(), &counting{Store: s, fail: 3}, "a", bytes.NewReader(file), nil)
		require.ErrorContains(t, err, "killed")
		var log lockedBuffer
		desk := revue.New(s, memory.New(nil), &revue.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		running(t, desk)
		for range 50 {
			synctest.Wait()
			require.NoError(t, s.Update(t.Context(), "a", func(tx revue.Tx) error { return tx.PutRecord("stream", "x", []byte("{}")) }))
		}
		synctest.Wait()
		require.Equal(t, 1, strings.Count(log.String(), "the journal can't be read"), log.String())
	})
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestImportTokens(t *testing.T) {
	c := newClocked()
	admin := c.Admin(local)
	_, err := admin.CreateWorkspace(t.Context(), "w")
	require.NoError(t, err)
	tok, err := admin.CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenHuman, Owner: "Bea"})
	require.NoError(t, err)
	without := export(t, c.store, "w", nil)
	with := export(t, c.store, "w", &revue.ExportOptions{Tokens: true})
	require.NotContains(t, string(without), `"hash":"`+hashOf(tok.Secret))
	require.Contains(t, string(with), hashOf(tok.Secret))
	require.NotContains(t, string(with), tok.Secret)

	for name, f := range map[string]struct {
		file []byte
		opts *revue.ImportOptions
		in   bool
	}{
		"neither":      {without, nil, false},
		"export alone": {with, nil, false},
		"import alone": {without, &revue.ImportOptions{Tokens: true}, false},
		"both":         {with, &revue.ImportOptions{Tokens: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := memstore.New(nil)
			into(t, s, "", f.file, f.opts)
			listed, err := plane(s).Admin(local).Tokens(t.Context())
			require.NoError(t, err)
			require.Len(t, listed, 1)
			require.Equal(t, tok.ID, listed[0].ID)
			_, err = plane(s).Authenticate(t.Context(), tok.Secret)
			if f.in {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, revue.ErrDenied)
				// Asked for later, they are let in.
				into(t, s, "", with, &revue.ImportOptions{Tokens: true})
				_, err = plane(s).Authenticate(t.Context(), tok.Secret)
				require.NoError(t, err)
			}
			// What is revoked stays revoked.
			_, err = plane(s).Admin(local).RevokeToken(t.Context(), tok.ID)
			require.NoError(t, err)
			into(t, s, "", with, &revue.ImportOptions{Tokens: true})
			_, err = plane(s).Authenticate(t.Context(), tok.Secret)
			require.ErrorIs(t, err, revue.ErrDenied)
		})
	}

	// A copy beside the original does not take its tokens.
	got := into(t, c.store, "copy", with, &revue.ImportOptions{Tokens: true})
	require.EqualValues(t, 1, got.TokensLeftOut)
	p, err := c.Authenticate(t.Context(), tok.Secret)
	require.NoError(t, err)
	require.Equal(t, "w", p.Workspace)

	// A token of the file does not take over a secret that is in use.
	forged := strings.ReplaceAll(string(with), tok.ID, "tok_forged")
	lines := strings.SplitAfter(strings.TrimSuffix(forged, "\n"), "\n")
	lines = lines[:len(lines)-1]
	kept := lines[:0]
	for _, l := range lines {
		if strings.Contains(l, `"seq":`) && !strings.HasPrefix(l, `{"format"`) || strings.Contains(l, `"noted"`) || strings.Contains(l, `"kind":"member"`) {
			continue
		}
		if strings.HasPrefix(l, `{"format"`) {
			l = `{"format":"revue-export","version":1,"workspace":"evil","exportedAt":"2026-01-01T00:00:00Z","head":{"seq":0,"hash":""},"tokens":true}` + "\n"
		}
		kept = append(kept, l)
	}
	// Without an event that made it it is refused.
	_, err = revue.Import(t.Context(), c.store, "", bytes.NewReader(sealed(kept)), &revue.ImportOptions{Tokens: true})
	require.ErrorIs(t, err, revue.ErrInvalid)
	require.ErrorContains(t, err, "no event made it")
	p, err = c.Authenticate(t.Context(), tok.Secret)
	require.NoError(t, err)
	require.Equal(t, "w", p.Workspace)

	// A copy verifies beside the original, and goes on to elsewhere; there its tokens open nothing.
	_, err = revue.VerifyWorkspace(t.Context(), c.store, "copy", nil)
	require.NoError(t, err)
	s := memstore.New(nil)
	into(t, s, "", export(t, c.store, "copy", &revue.ExportOptions{Tokens: true}), &revue.ImportOptions{Tokens: true})
	_, err = revue.VerifyWorkspace(t.Context(), s, "copy", nil)
	require.NoError(t, err)
	_, err = plane(s).Authenticate(t.Context(), tok.Secret)
	require.ErrorIs(t, err, revue.ErrDenied)
	into(t, s, "copy", with, &revue.ImportOptions{Tokens: true})
	p, err = plane(s).Authenticate(t.Context(), tok.Secret)
	require.NoError(t, err)
	require.Equal(t, "copy", p.Workspace)
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// A file that changes between the two times it is read leaves a workspace that nobody acts on.
func TestImportOfAFileThatChanges(t *testing.T) {
	c := history(t)
	first := export(t, c.store, "w", nil)
	request(t, c.Desk, agent("q"), yesNo("Is there more?"))
	second := export(t, c.store, "w", nil)
	s := memstore.New(nil)
	_, err := revue.Import(t.Context(), s, "", &turning{files: [][]byte{first, second}}, nil)
	require.ErrorContains(t, err, "changed while it was read")
	_, err = plane(s).Reviewer(alice).Lots(t.Context(), revue.LotFilter{})
	require.ErrorIs(t, err, revue.ErrUnavailable)
	into(t, s, "", second, nil)
	require.Equal(t, body(second), body(export(t, s, "w", nil)))
}

// turning is another file each time it is read.
type turning struct {
	*bytes.Reader
	files [][]byte
}

func (r *turning) Seek(int64, int) (int64, error) {
	r.Reader = bytes.NewReader(r.files[0])
	r.files = r.files[1:]
	return 0, nil
}

func FuzzImport(f *testing.F) {
	c := history(f)
	whole := export(f, c.store, "w", &revue.ExportOptions{Tokens: true})
	f.Add(whole, false)
	lines := strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n")
	f.Add([]byte(strings.Join(lines[:len(lines)-1], "")), true)
	f.Add([]byte(lines[0]), true)
	f.Add([]byte(`{"format":"revue-export","version":1,"workspace":"w","exportedAt":"2026-01-01T00:00:00Z","head":{"seq":0,"hash":""},"tokens":false}`+"\n"), true)
	f.Add([]byte("null\n"), true)
	f.Add([]byte("{\"format\":null}\n"), true)
	f.Fuzz(func(t *testing.T, b []byte, seal bool) {
		if seal {
			b = sealed(strings.SplitAfter(string(b), "\n"))
		}
		s := memstore.New(nil)
		_, err := revue.Import(t.Context(), s, "w", bytes.NewReader(b), &revue.ImportOptions{Tokens: true})
		if err != nil {
			require.Contains(t, []revue.Code{revue.CodeInvalid, revue.CodeConflict}, revue.CodeOf(err), "%v", err)
			untouched(t, s)
			return
		}
		_, err = revue.VerifyWorkspace(t.Context(), s, "w", nil)
		require.NoError(t, err)
	})
}

// BenchmarkExport and BenchmarkImport tell how much memory large workspaces take: an export of 100,000 asks no more than
// one of 10,000, and an import some hundred bytes for each ask.
func BenchmarkExport(b *testing.B) {
	for _, asks := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(asks, " asks"), func(b *testing.B) {
			s := sqliteStore(b)
			fillAsks(b, s, asks)
			peak := watchHeap(b)
			for b.Loop() {
				_, err := revue.Export(b.Context(), s, "w", io.Discard, nil)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(peak())/(1<<20), "peak-MiB")
		})
	}
}

func BenchmarkImport(b *testing.B) {
	for _, asks := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(asks, " asks"), func(b *testing.B) {
			from := sqliteStore(b)
			fillAsks(b, from, asks)
			file, err := os.Create(filepath.Join(b.TempDir(), "w.jsonl")) // on disk: it would hide what the import takes
			require.NoError(b, err)
			defer file.Close()
			_, err = revue.Export(b.Context(), from, "w", file, nil)
			require.NoError(b, err)
			info, err := file.Stat()
			require.NoError(b, err)
			b.SetBytes(info.Size())
			s := sqliteStore(b)
			n := 0
			peak := watchHeap(b)
			for b.Loop() {
				n++
				_, err := revue.Import(b.Context(), s, fmt.Sprint("w", n), file, nil)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(peak())/(1<<20), "peak-MiB")
		})
	}
}

// watchHeap samples how far the heap grows over what it is now.
func watchHeap(b *testing.B) func() uint64 {
	b.Helper()
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	base := m.HeapAlloc
	var peak atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapAlloc-min(base, m.HeapAlloc)))
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-stopped
		return peak.Load()
	}
}

// fillAsks writes a workspace of so many open asks, as a desk would, in large transactions.
func fillAsks(b *testing.B, s revue.Store, asks int) {
	b.Helper()
	c := newClocked()
	ask := yesNo("Which port should the service use?")
	ask.Context = strings.Repeat("It is known to many. ", 20)
	_, err := c.Decider(agent("a")).Request(b.Context(), ask)
	require.NoError(b, err)
	template := export(b, c.store, "w", nil)
	var event revue.Event
	var lot revue.Lot
	var rec revue.AskRecord
	for l := range strings.Lines(string(template)) {
		var x struct {
			Type  string
			Value json.RawMessage
		}
		require.NoError(b, json.Unmarshal([]byte(l), &x))
		switch x.Type {
		case "event":
			require.NoError(b, json.Unmarshal(x.Value, &event))
		case "lot":
			require.NoError(b, json.Unmarshal(x.Value, &lot))
		case "ask":
			require.NoError(b, json.Unmarshal(x.Value, &rec))
		}
	}
	var prev revue.Event
	for i := 0; i < asks; {
		require.NoError(b, s.Update(b.Context(), "w", func(tx revue.Tx) error {
			for range 5000 {
				if i == asks {
					return nil
				}
				i++
				e, l, a := event, lot, rec
				l.ID, a.ID = fmt.Sprint("lot_", i), fmt.Sprint("ask_", i)
				a.LotID = l.ID
				e.Seq, e.Prev, e.Lot, e.Asks = revue.Seq(i), prev.Hash, l.ID, []string{a.ID}
				l.Seq, a.Seq = e.Seq, e.Seq
				e.Hash = e.Sum()
				prev = e
				if err := errors.Join(tx.Append(e), tx.PutLot(l), tx.PutAsk(a)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// Whoever got the outcome of an approval here does not get it again because a later export of the same history, taken
// elsewhere, knows nothing of that.
func TestImportKeepsClaims(t *testing.T) {
	here := memstore.New(nil)
	ask := revue.Ask{Kind: revue.KindApproval, Question: "Drop the table?"}
	o := request(t, plane(here), agent("a"), ask)
	answer(t, plane(here), o.LotID, revue.Answer{Value: revue.Approved})
	elsewhere := memstore.New(nil)
	into(t, elsewhere, "", export(t, here, "w", nil), nil)
	request(t, plane(elsewhere), agent("b"), yesNo("Which of the cranes is painted?"))
	later := export(t, elsewhere, "w", nil)

	a := agent("a")
	a.Call = "one"
	got := request(t, plane(here), a, ask)
	require.Equal(t, revue.Approved, got.Answer)
	require.True(t, into(t, here, "", later, nil).Changed)
	require.Equal(t, got.LotID, request(t, plane(here), a, ask).LotID, "the call that has it")
	a.Call = "two"
	require.NotEqual(t, got.LotID, request(t, plane(here), a, ask).LotID)
	_, err := revue.VerifyWorkspace(t.Context(), here, "w", nil)
	require.NoError(t, err)
}

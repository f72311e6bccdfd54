package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// revueOn runs a command line on a database, in this process.
func revueOn(t *testing.T, db string, args ...string) (code int, out, diag string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	home := t.TempDir()
	code = run(t.Context(), &world{
		args:  args,
		env:   func(key string) string { return map[string]string{"REVUE_DB": db, "HOME": home}[key] },
		stdin: io.NopCloser(strings.NewReader("")), stdout: &stdout, stderr: &stderr,
	})
	return code, stdout.String(), stderr.String()
}

// tamper changes a database behind revue's back.
func tamper(t *testing.T, path string, statements ...string) {
	t.Helper()
	driver := "sqlite"
	if slices.Contains(sql.Drivers(), "sqlite3") {
		driver = "sqlite3"
	}
	db, err := sql.Open(driver, path)
	require.NoError(t, err)
	for _, s := range statements {
		_, err := db.ExecContext(t.Context(), s)
		require.NoError(t, err, s)
	}
	require.NoError(t, db.Close())
}

// TestVerifyJournalFindsTampering changes a database in each way that somebody could, and has it found.
func TestVerifyJournalFindsTampering(t *testing.T) {
	edit := func(table, path, with, where string) string {
		return fmt.Sprintf("UPDATE %s SET body = json_set(body, '$.%s', %s) WHERE %s", table, path, with, where)
	}
	const answered = "json_extract(body, '$.kind') = 'lot.answered'"
	for name, c := range map[string]struct {
		sql  []string
		head bool // found by the head that was noted alone
		says string
	}{
		"nothing":                 {[]string{"UPDATE events SET body = body"}, false, ""},
		"an event changed":        {[]string{edit("events", "actor", "'mallory'", answered)}, false, "was changed"},
		"the time of an event":    {[]string{edit("events", "at", "'2020-01-01T00:00:00Z'", "seq = 2")}, false, "event 2 was changed"},
		"an event removed":        {[]string{"DELETE FROM events WHERE seq = 2"}, false, "event 2 is missing"},
		"the first event removed": {[]string{"DELETE FROM events WHERE seq = 1"}, false, "event 1 is missing"},
		"two events swapped": {[]string{
			"UPDATE events SET seq = seq + 100000 WHERE seq IN (2, 3)",
			"UPDATE events SET seq = CASE seq WHEN 100002 THEN 3 ELSE 2 END WHERE seq > 100000",
		}, false, "does not verify"},
		"two events renumbered": {[]string{
			edit("events", "seq", "3", "seq = 2"), edit("events", "seq", "2", "seq = 3 AND json_extract(body, '$.kind') <> 'x'"),
		}, false, "does not verify"},
		"the end cut off": {[]string{"DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)"}, false, "no event 5 recorded the context"},
		"the end cut off with what it recorded": {[]string{
			"DELETE FROM contexts WHERE seq = (SELECT max(seq) FROM events)", "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)",
		}, true, "its end was cut off"},
		"all of it removed":        {[]string{"DELETE FROM events"}, false, "no event"},
		"an answer changed":        {[]string{edit("lots", "answer.value", "'no'", "1"), edit("lots", "answer.by.name", "'bob'", "1")}, false, "receipt"},
		"who answered":             {[]string{edit("lots", "answer.by.name", "'bob'", "json_extract(body, '$.status') = 'answered'")}, false, "digest is another"},
		"a lot opened again":       {[]string{"UPDATE lots SET body = json_remove(json_set(body, '$.status', 'open'), '$.answer', '$.receiptId', '$.decisionId')"}, false, "digest is another"},
		"a decision changed":       {[]string{edit("decisions", "answer", "'no'", "1")}, false, "digest is another"},
		"a decision removed":       {[]string{"DELETE FROM decisions"}, false, "is not there"},
		"a correction removed":     {[]string{"UPDATE decisions SET body = json_remove(body, '$.corrections')"}, false, "is not there"},
		"a correction changed":     {[]string{edit("decisions", "corrections[0].verb", "'wrong'", "1")}, false, "digest is another"},
		"a question changed":       {[]string{edit("asks", "question", "'Shall we?'", "1")}, false, "was changed"},
		"an ask removed":           {[]string{"DELETE FROM asks"}, false, "has 0 asks, and there were 1"},
		"an ask added":             {[]string{"INSERT INTO asks (ws, seq, id, lot, key, thread, credential, decision, returned, body) SELECT ws, seq, 'ask_x', lot, key, thread, credential, decision, returned, json_set(body, '$.id', 'ask_x') FROM asks"}, false, "has 2 asks, and there were 1"},
		"a lot removed":            {[]string{"DELETE FROM lots"}, false, "is not there"},
		"a note changed":           {[]string{edit("contexts", "body", "'All is well.'", "1")}, false, "was changed"},
		"a note removed":           {[]string{"DELETE FROM contexts"}, false, "is not there"},
		"a receipt changed":        {[]string{"UPDATE records SET value = CAST(json_set(CAST(value AS TEXT), '$.answer', 'no') AS BLOB) WHERE kind = 'receipt'"}, false, "has another answer"},
		"a receipt of another":     {[]string{"UPDATE records SET value = CAST(json_set(CAST(value AS TEXT), '$.journalHash', 'x') AS BLOB) WHERE kind = 'receipt'"}, false, "another hash"},
		"a receipt removed":        {[]string{"DELETE FROM records WHERE kind = 'receipt'"}, false, "is not there"},
		"a decision that was made": {[]string{"INSERT INTO decisions (ws, seq, id, key, body) SELECT ws, seq + 1, 'dec_x', key, json_set(body, '$.id', 'dec_x', '$.seq', seq + 1) FROM decisions"}, false, "dec_x"},
	} {
		t.Run(name, func(t *testing.T) {
			db := tempDB(t)
			p := localPlane(t, db)
			agent := revue.Agent{Workspace: defaultWorkspace, Credential: "a", Name: "a", Via: "library"}
			o, err := p.Decider(agent).Request(t.Context(), revue.Ask{Question: "Ship it?", Options: []revue.Option{{Value: "yes"}, {Value: "no"}}})
			require.NoError(t, err)
			lot, err := p.Reviewer(testHuman()).Answer(t.Context(), o.LotID, revue.Answer{Value: "yes"})
			require.NoError(t, err)
			_, err = p.Reviewer(testHuman()).Correct(t.Context(), revue.Correction{DecisionID: lot.DecisionID, Verb: revue.VerbTooBroad})
			require.NoError(t, err)
			_, err = p.Decider(agent).Share(t.Context(), revue.ContextItem{Kind: "note", Body: "It rains."})
			require.NoError(t, err)
			all := events(t, p)
			head := fmt.Sprintf("%d:%s", len(all), all[len(all)-1].Hash)
			code, out, diag := revueOn(t, db, "verify", "--journal", "--head", head)
			require.Equal(t, exitDone, code, diag)
			require.Contains(t, out, "head "+head)

			tamper(t, db, c.sql...)
			if c.says == "" {
				code, _, diag = revueOn(t, db, "verify", "--journal")
				require.Equal(t, exitDone, code, diag)
				return
			}
			args := []string{"verify", "--journal"}
			if c.head {
				args = append(args, "--head", head)
			}
			code, out, diag = revueOn(t, db, args...)
			require.Equal(t, exitFailed, code, out)
			require.Empty(t, out)
			require.Contains(t, diag, c.says)
			require.Equal(t, 1, strings.Count(diag, "\n"))
		})
	}
}

// TestVerifyNoticesATruncatedJournal compares a receipt with a journal whose end is gone.
func TestVerifyNoticesATruncatedJournal(t *testing.T) {
	db := tempDB(t)
	p := localPlane(t, db)
	agent := revue.Agent{Workspace: defaultWorkspace, Credential: "a", Name: "a", Via: "library"}
	o, err := p.Decider(agent).Request(t.Context(), revue.Ask{Question: "Ship it?"})
	require.NoError(t, err)
	lot, err := p.Reviewer(testHuman()).Answer(t.Context(), o.LotID, revue.Answer{Text: "yes"})
	require.NoError(t, err)
	r, err := p.Reviewer(testHuman()).Receipt(t.Context(), lot.ReceiptID)
	require.NoError(t, err)
	code, _, diag := revueOn(t, db, "verify", r.JWS)
	require.Equal(t, exitDone, code, diag)
	code, _, diag = revueOn(t, db, "verify", "--journal", r.JWS)
	require.Equal(t, exitDone, code, diag)
	tamper(t, db, fmt.Sprintf("DELETE FROM events WHERE seq >= %d", r.Seq), "DELETE FROM decisions", "DELETE FROM records WHERE kind = 'receipt'",
		"UPDATE lots SET body = json_remove(json_set(body, '$.status', 'open'), '$.answer', '$.receiptId', '$.decisionId')",
		"UPDATE asks SET body = json_remove(body, '$.decisionId')")
	code, _, diag = revueOn(t, db, "verify", "--journal")
	require.Equal(t, exitDone, code, "a history that was cut off with all that it left is one: %s", diag)
	code, _, diag = revueOn(t, db, "verify", "--journal", r.JWS)
	require.Equal(t, exitFailed, code)
	require.Contains(t, diag, "cut off")
	code, _, diag = revueOn(t, db, "verify", r.JWS)
	require.Equal(t, exitFailed, code)
	require.Contains(t, diag, "has no event")
}

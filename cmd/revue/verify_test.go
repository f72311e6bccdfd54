package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	record := func(kind, path, with string) string {
		return fmt.Sprintf("UPDATE records SET value = CAST(json_set(CAST(value AS TEXT), '$.%s', %s) AS BLOB) WHERE kind = '%s'", path, with, kind)
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
		"the end cut off": {[]string{"DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)"}, false, "recorded the context"},
		"the end cut off with what it recorded": {[]string{
			"DELETE FROM contexts WHERE seq = (SELECT max(seq) FROM events)", "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)",
		}, true, "its end was cut off"},
		"all of it removed":        {[]string{"DELETE FROM events"}, false, "no event"},
		"an answer changed":        {[]string{edit("lots", "answer.value", "'no'", "1"), edit("lots", "answer.by.name", "'bob'", "1")}, false, "was changed"},
		"who answered":             {[]string{edit("lots", "answer.by.name", "'bob'", "json_extract(body, '$.status') = 'answered'")}, false, "somebody else decided"},
		"a lot opened again":       {[]string{"UPDATE lots SET body = json_remove(json_set(body, '$.status', 'open'), '$.answer', '$.receiptId', '$.decisionId')"}, false, "digest is another"},
		"a decision changed":       {[]string{edit("decisions", "answer", "'no'", "1")}, false, "was changed"},
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
		"who a receipt names":      {[]string{record("receipt", "decidedBy.name", "'bob'")}, false, "somebody else decided"},
		"the time of a receipt":    {[]string{record("receipt", "at", "'2020-01-01T00:00:00Z'")}, false, "another time"},
		"a second receipt":         {[]string{"INSERT INTO records (ws, kind, key, value) SELECT ws, kind, 'rcpt_x', value FROM records WHERE kind = 'receipt'"}, false, "rcpt_x"},
		"the recommendation":       {[]string{edit("lots", "recommendation", "'yes'", "1")}, false, "was changed"},
		"the context":              {[]string{edit("lots", "context", "'It is safe.'", "1")}, false, "shows something else"},
		"the agent":                {[]string{edit("asks", "agent", "'boss'", "1")}, false, "was changed"},
		"the return":               {[]string{edit("asks", "returnedAt", "'2020-01-01T00:00:00Z'", "1")}, false, "returned at another time"},
		"a confirmation":           {[]string{edit("decisions", "confirmedAt", "'2999-01-01T00:00:00Z'", "1")}, false, "another time"},
		"the label of an answer":   {[]string{edit("decisions", "answerLabel", "'No'", "1")}, false, "label"},
		"the kind of a token":      {[]string{record("token", "kind", "'human'")}, false, "was changed"},
		"a token removed":          {[]string{"DELETE FROM records WHERE kind = 'token'"}, false, "is not there"},
		"the name of a member":     {[]string{record("member", "name", "'Eve'")}, false, "digest is another"},
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
			for _, kind := range []revue.TokenKind{revue.TokenAgent, revue.TokenHuman} {
				_, err = p.Admin(testHuman()).CreateToken(t.Context(), revue.NewToken{Kind: kind, Owner: "Bea"})
				require.NoError(t, err)
			}
			_, err = p.Decider(agent).Share(t.Context(), revue.ContextItem{Kind: "note", Body: "It snows."})
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

// outcomeOf is an outcome as the API gives it, and the file with the keys of its plane.
func outcomeOf(t *testing.T, db string) (text, keys string, receipt revue.Receipt) {
	t.Helper()
	p := localPlane(t, db)
	agent := revue.Agent{Workspace: defaultWorkspace, Credential: "a", Name: "a", Via: "library"}
	ask := revue.Ask{Question: "Ship it?", Options: []revue.Option{{Value: "yes"}, {Value: "no"}}}
	o, err := p.Decider(agent).Request(t.Context(), ask)
	require.NoError(t, err)
	_, err = p.Reviewer(testHuman()).Answer(t.Context(), o.LotID, revue.Answer{Value: "yes"})
	require.NoError(t, err)
	o, err = p.Decider(agent).Request(t.Context(), ask)
	require.NoError(t, err)
	b, err := json.Marshal(o)
	require.NoError(t, err)
	set, err := p.Keys(t.Context())
	require.NoError(t, err)
	k, err := json.Marshal(set)
	require.NoError(t, err)
	keys = filepath.Join(t.TempDir(), "keys.json")
	require.NoError(t, os.WriteFile(keys, k, 0o600))
	return string(b), keys, *o.Receipt
}

// TestVerifyOutcome changes what is around a receipt: a script reads it there.
func TestVerifyOutcome(t *testing.T) {
	text, keys, r := outcomeOf(t, tempDB(t))
	quoted := func(name, value string) string { return fmt.Sprintf("%q:%q", name, value) }
	swap := func(old, with string) string {
		out := strings.Replace(text, old, with, 1)
		require.NotEqual(t, text, out, old)
		return out
	}
	for name, c := range map[string]struct{ text, says string }{
		"as it is":              {text, ""},
		"with a new line":       {text + "\n", ""},
		"with the answer twice": {swap("{", `{"answer":"no",`), "twice"},
		"another case":          {swap("{", `{"Answer":"no",`), "Answer"},
		"another case alone":    {swap(quoted("answer", "yes"), quoted("ANSWER", "yes")), "ANSWER"},
		"a long s":              {swap(quoted("status", "answered"), quoted("\u017ftatus", "answered")), "status"},
		"another answer":        {swap(quoted("answer", "yes"), quoted("answer", "no")), "its answer"},
		"no answer":             {swap(quoted("answer", "yes")+",", ""), "its answer"},
		"a null":                {swap(quoted("answer", "yes"), `"answer":null`), "its answer"},
		"a list":                {swap(quoted("answer", "yes"), `"answer":["yes"]`), "its answer"},
		"another status":        {swap(quoted("status", "answered"), quoted("status", "reused")), "its status"},
		"another lot":           {swap(quoted("lotId", r.Lot), quoted("lotId", "lot_x")), "its lotId"},
		"another decision":      {swap(quoted("decisionId", r.Decision), quoted("decisionId", "dec_x")), "its decisionId"},
		"another human":         {swap(quoted("name", r.DecidedBy.Name), quoted("name", "Eve")), "its decidedBy"},
		"nobody":                {swap(`"decidedBy":{`, `"decidedBy":{"x":{},"x":[],`), "twice"},
		"two receipts":          {swap("{", `{"receipt":{},`), "twice"},
		"in the receipt":        {swap(`"receipt":{`, `"receipt":{"Answer":"no",`), "Answer"},
		"deep inside":           {swap(`"correction":{`, `"correction":{"a":[{"b":1,"B":2}],`), "twice"},
		"two values":            {text + "{}", "more behind"},
		"cut":                   {text[:len(text)-1], "no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "outcome.json")
			require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
			code, out, diag := revueOn(t, "", "verify", file, "--keys", keys)
			if c.says == "" {
				require.Equal(t, exitDone, code, diag)
				return
			}
			require.Equal(t, exitFailed, code, out)
			require.Empty(t, out)
			require.Contains(t, diag, c.says)
		})
	}
}

// TestVerifyReceiptOfAnEditedStore compares a receipt with what the database says by now.
func TestVerifyReceiptOfAnEditedStore(t *testing.T) {
	for _, change := range []string{"", "'$.answer', 'no'", "'$.decidedBy.name', 'Eve'", "'$.at', '2020-01-01T00:00:00Z'"} {
		db := tempDB(t)
		_, _, r := outcomeOf(t, db)
		if change != "" {
			tamper(t, db, "UPDATE records SET value = CAST(json_set(CAST(value AS TEXT), "+change+") AS BLOB) WHERE kind = 'receipt'")
		}
		for _, args := range [][]string{{"verify", r.JWS, "--db", db}, {"verify", "--journal", r.JWS}} {
			code, _, diag := revueOn(t, db, args...)
			require.Equal(t, change == "", code == exitDone, "%s: %s", change, diag)
		}
	}
}

// TestVerifyNowhere tells a workspace that is not there from one that verifies.
func TestVerifyNowhere(t *testing.T) {
	db := tempDB(t)
	localPlane(t, db)
	for _, args := range [][]string{{"verify", "--journal"}, {"verify", "--journal", "--workspace", "none"}, {"verify", "--journal", "--json", "--workspace", "none"}} {
		code, out, diag := revueOn(t, db, args...)
		require.Equal(t, exitNotFound, code, diag)
		require.Empty(t, out)
	}
}

// TestHeads gives the heads that commands write to the one that takes them.
func TestHeads(t *testing.T) {
	db := tempDB(t)
	outcomeOf(t, db)
	file := filepath.Join(t.TempDir(), "w.jsonl")
	heads := map[string]string{}
	for name, args := range map[string][]string{
		"export": {"export", file, "--json"}, "verify": {"verify", "--journal", "--json"},
	} {
		code, out, diag := revueOn(t, db, args...)
		require.Equal(t, exitDone, code, diag)
		var got struct {
			Head string `json:"head"`
		}
		require.NoError(t, json.Unmarshal([]byte(out), &got))
		heads[name] = got.Head
	}
	code, out, diag := revueOn(t, tempDB(t), "import", file, "--json")
	require.Equal(t, exitDone, code, diag)
	var got struct {
		Head string `json:"head"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	heads["import"] = got.Head
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var first struct {
		Head json.RawMessage `json:"head"`
	}
	require.NoError(t, json.NewDecoder(bytes.NewReader(b)).Decode(&first))
	heads["first line"] = string(first.Head)
	for name, head := range heads {
		code, _, diag := revueOn(t, db, "verify", "--journal", "--head", head)
		require.Equal(t, exitDone, code, "%s: %s", name, diag)
		code, _, _ = revueOn(t, db, "verify", "--journal", "--head", strings.Replace(head, "1", "2", 1))
		require.NotEqual(t, exitDone, code)
	}
	for _, bad := range []string{"{}", "{", "7", `{"seq":1,"hash":"x"}`, "1:x"} {
		code, _, _ := revueOn(t, db, "verify", "--journal", "--head", bad)
		require.Equal(t, exitMisused, code, bad)
	}
}

// TestImportOfABadFile leaves no database behind, and no folder.
func TestImportOfABadFile(t *testing.T) {
	from := tempDB(t)
	outcomeOf(t, from)
	good := filepath.Join(t.TempDir(), "w.jsonl")
	code, _, diag := revueOn(t, from, "export", good)
	require.Equal(t, exitDone, code, diag)
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	require.NoError(t, os.WriteFile(bad, []byte("{}\n"), 0o600))
	db := filepath.Join(t.TempDir(), "new", "revue.db")
	for _, args := range [][]string{{"import", bad}, {"import", good, "--workspace", "a b"}, {"import", good, "--workspace", "../x"}} {
		code, _, diag := revueOn(t, db, args...)
		require.NotEqual(t, exitDone, code, diag)
		require.NoDirExists(t, filepath.Dir(db))
	}
	code, _, diag = revueOn(t, db, "import", good)
	require.Equal(t, exitDone, code, diag)
	code, _, diag = revueOn(t, db, "verify", "--journal")
	require.Equal(t, exitDone, code, diag)
}

package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	for _, tc := range []struct{ name, lines, want string }{
		{
			"two answers for three tasks", "sqlite\nRevue\n", `Which database does the orders service use?
  postgres: PostgreSQL (another server to run)
  sqlite: SQLite (one machine)
builder: answered: sqlite
What is the product called in the manual?
writer: answered: Revue
tester: reused: sqlite
`,
		},
		{
			"a blank and a wrong answer change nothing", "\nmysql\npostgres\nRevue\n", `Which database does the orders service use?
  postgres: PostgreSQL (another server to run)
  sqlite: SQLite (one machine)
builder: answered: postgres
What is the product called in the manual?
writer: answered: Revue
tester: reused: postgres
`,
		},
		{
			"nobody answers", "", `Which database does the orders service use?
  postgres: PostgreSQL (another server to run)
  sqlite: SQLite (one machine)
builder: dismissed: going on with "sqlite"
What is the product called in the manual?
writer: dismissed: going on with ""
which db does the orders service use
  postgres: PostgreSQL (another server to run)
  sqlite: SQLite (one machine)
tester: dismissed: going on with ""
`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				require.NoError(t, run(t.Context(), strings.NewReader(tc.lines), &out))
				require.Equal(t, tc.want, out.String())
			})
		})
	}
}

package memory_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
)

// differCrucially compares two wordings both ways.
func differCrucially(t *testing.T, m *memory.Memory, a, b string) bool {
	t.Helper()
	x, y := revue.Question{Text: a}, revue.Question{Text: b}
	c := m.Same(x, y)
	require.Equal(t, c.Crucial, m.Same(y, x).Crucial, "not symmetric: %q %q", a, b)
	return c.Crucial
}

// All that may differ without being crucial, and that is all.
func TestNotCrucial(t *testing.T) {
	m := memory.New(nil)
	for _, c := range [][2]string{
		// courtesies
		{"Should errors be retried on the client?", "Hello, should errors be retried on the client?"},
		{"Should we store dates in UTC?", "Hi, do we store dates in UTC, thanks?"},
		// do we, should we
		{"Should we support IE11 in the admin UI?", "Do we support IE11 in the admin UI?"},
		{"Which database should we use for billing?", "Which database do we use for billing?"},
		{"Where should we store the signing keys?", "Where do we store the signing keys?"},
		{"How long should we keep raw events in the warehouse?", "How long do we keep raw events in the warehouse?"},
		// the passive
		{"Should SQL keywords be written in upper case?", "Should we write SQL keywords in upper case?"},
		{"Should constants be named in SCREAMING_SNAKE_CASE?", "Do we name constants in SCREAMING_SNAKE_CASE?"},
		{"Should the webhook secret be rotated every 30 days?", "Do we rotate the webhook secret every 30 days?"},
		{"Should logs be shipped to Loki or to CloudWatch?", "Do we ship logs to Loki or to CloudWatch?"},
		{"Should invoices be copied to orders?", "Should we copy invoices to orders?"},
		{"Should welcome emails be sent synchronously?", "Should we send welcome emails synchronously?"},
		{"Which database should be used for billing?", "Which database should we use for billing?"},
		{"Which invoices should be archived after 30 days?", "Which invoices should we archive after 30 days?"},
		{"Which region should the EU backups be stored in?", "Which region do we store the EU backups in?"},
		{"Should amounts be treated as strings?", "Do we treat amounts as strings?"},
		{"Should customer accounts be merged?", "Should we merge customer accounts?"},
		{"Should all requests be logged?", "Do we log all requests?"},
		{"Should UserService be renamed to AccountService?", "Should we rename UserService to AccountService?"},
		// a preposition again
		{"Should dates be stored in UTC or local time?", "Do we store dates in UTC or in local time?"},
		{"Should we send logs to Loki or to Elastic?", "Should we send logs to Loki or Elastic?"},
	} {
		require.False(t, differCrucially(t, m, c[0], c[1]), "%q %q", c[0], c[1])
	}
}

// Whatever else differs may be another decision, of each kind that once was taken for form.
func TestCrucialKinds(t *testing.T) {
	m := memory.New(nil)
	for kind, pairs := range map[string][][2]string{
		"who does it to whom": {
			{"Should admins approve suppliers?", "Should admins be approved by suppliers?"},
			{"Should billing trust search?", "Should billing be trusted by search?"},
			{"Should the gateway call the ledger?", "Does the ledger call the gateway?"},
			{"Should search index billing?", "Is search indexed by billing?"},
			{"Should the cache invalidate the index?", "Should the index be used to invalidate the cache?"},
			{"Should admins approve suppliers?", "Should suppliers approve admins?"},
		},
		"what goes where": {
			{"Should invoices be copied to orders?", "Do we copy orders to invoices?"},
			{"Should dev be merged to main?", "Should we merge main to dev?"},
			{"Should dev be merged into main?", "Do we merge main into dev?"},
			{"Should we move users to teams?", "Should teams be moved to users?"},
			{"Should data be copied from the old cluster to the new cluster?", "Do we copy data from the new cluster to the old cluster?"},
			{"Should UserService be renamed to AccountService?", "Do we rename AccountService to UserService?"},
		},
		"synonyms that are none": {
			{"Should tokens be valid after 30 days?", "Should tokens expire after 30 days?"},
			{"Should sessions live for 30 days?", "Should sessions expire for 30 days?"},
			{"Should we show prices to guests?", "Should we see prices to guests?"},
			{"Should we release billing on Mondays?", "Should we ship billing on Mondays?"},
			{"Should we block a release on failing tests?", "Should we stop a release on failing tests?"},
			{"Should we read the limits at start?", "Should we load the limits at start?"},
			{"Should we use another queue for billing?", "Should we use a different queue for billing?"},
		},
		"what a negation is about": {
			{"Should we delete logs that were never read?", "Should logs that were read never be deleted?"},
			{"Should we not log requests that failed?", "Should we log requests that have not failed?"},
			{"Should we notify users without a plan about billing?", "Should users be notified about billing without a plan?"},
			{"Should tokens not be kept?", "Should we keep tokens?"},
		},
		"numbers of other things": {
			{"Should 3 workers retry 5 payments?", "Should 3 payments be retried by 5 workers?"},
			{"Should 3 workers retry 5 payments?", "Should 5 workers retry 3 payments?"},
			{"Should we keep 2 backups for 7 days?", "Should we keep 7 backups for 2 days?"},
			{"Should we keep two copies in three regions?", "Do we keep three copies in two regions?"},
		},
		"whose": {
			{"Should customers see sellers' prices?", "Should sellers see customers' prices?"},
			{"Should we log the user's manager?", "Should we log the manager's user?"},
			{"Should admins read a team's audit log?", "Should a team read admins' audit log?"},
			{"Should we delete owners of projects?", "Should we delete projects of owners?"},
		},
		"what depends on what": {
			{"Should checkout wait when payments is slow?", "Should payments wait when checkout is slow?"},
			{"Should checkout be blocked if payments fail?", "Should payments be blocked if checkout fails?"},
			{"If billing fails, should we stop search?", "If search fails, should we stop billing?"},
			{"Should deploys wait while migrations run?", "Should migrations wait while deploys run?"},
		},
		"which ones": {
			{"Should we delete users that own projects?", "Should projects that users own be deleted?"},
			{"Should we notify users in the EU?", "Should users be notified in the EU?"},
			{"Should we delete users with logs?", "Should users be deleted with logs?"},
			{"Should we delete orders before 2020?", "Should orders be deleted before 2020?"},
			{"Should users with logs be deleted?", "Should users be deleted with logs?"},
		},
		"content left out": {
			{"Should we delete open invoices?", "Should invoices be deleted?"},
			{"Should we delete user data?", "Should we delete data?"},
			{"Should we keep large files in Git?", "Should we keep files in Git?"},
			{"Should we log long requests?", "Should we log large requests?"},
			{"Should we open connections to Acme?", "Should we accept connections to Acme?"},
			{"Should we store customer files?", "Should customer be stored?"},
			{"Should the write path be logged?", "Should the path be logged?"},
			{"Should we host the billing database in Frankfurt?", "Should we host billing in Frankfurt?"},
		},
		"what only is about": {
			{"Should reports be exported only by admins?", "Should admins only export reports?"},
			{"Should we only export reports?", "Should only reports be exported?"},
			{"Should we export reports only?", "Should we only export reports?"},
			{"Should we just hide old invoices?", "Should just old invoices be hidden?"},
		},
		"how it is meant": {
			{"Was billing deployed to EU customers?", "Should billing be deployed to EU customers?"},
			{"Is the contract with Acme signed?", "Should the contract with Acme be signed?"},
			{"Does CI pass on the main branch?", "Should CI pass on the main branch?"},
			{"Are invoices stored in Frankfurt?", "Should invoices be stored in Frankfurt?"},
			{"Do we have a backup of orders?", "Should we have a backup of orders?"},
			{"Do we need a soft delete for records?", "Should we need a soft delete for records?"},
			{"When do we deploy billing?", "When should we deploy billing?"},
			{"Why do we encrypt backups?", "Why should we encrypt backups?"},
			{"Must we encrypt backups?", "Should we encrypt backups?"},
			{"Can we encrypt backups?", "Should we encrypt backups?"},
			{"Did we encrypt backups?", "Do we encrypt backups?"},
			{"Do we already encrypt backups?", "Should we already encrypt backups?"},
		},
		"how many": {
			{"Should we delete the replica of orders?", "Should we delete replicas of orders?"},
			{"Should we delete a replica of orders?", "Should we delete the replica of orders?"},
			{"Should we delete the 3 replicas of orders?", "Should 3 replicas of orders be deleted?"},
			{"Do we log every request?", "Should requests be logged?"},
		},
		"lists": {
			{"Should we delete invoices and archive orders?", "Should invoices and archive orders be deleted?"},
			{"Should we merge or rebase branches?", "Should we rebase or merge branches?"},
			{"Should we use tabs or spaces?", "Should we use tabs and spaces?"},
			{"Should we store events in old files or in tables of Acme?", "Should we store events in old files or tables of Acme?"},
		},
		"one thing changed and put in another form": {
			{"Should errors be retried on the client?", "Does the client retry on errors?"},
			{"Should errors be retried on the client?", "Does the client never retry on errors?"},
			{"Should errors be retried on the client?", "Does the server retry on errors?"},
			{"Should errors be retried on the client?", "Does the client retry on errors in staging?"},
			{"Should errors be retried on the client?", "When does the client retry on errors?"},
			{"Should errors be retried 5 times on the client?", "Does the client retry 50 times on errors?"},
			{"Should sessions be kept for 30 days?", "Do we keep sessions for 30 hours?"},
			{"Should all requests be logged?", "Do we log some requests?"},
			{"Should we read config.yaml for the limits?", "Are limits read from config.json?"},
			{"Should invoices be stored in Kafka?", "Do we store invoices in RabbitMQ?"},
			{"Should invoices be sent before the payment?", "Do we send invoices after the payment?"},
			{"Should invoices be sent before the payment?", "Do we send invoices before the refund?"},
			{"How much disk may a preview environment use?", "How much disk must a preview environment use?"},
			{"Should a user be an owner of invoices?", "Should the user be an owner of invoices?"},
			{"Should exports be CSV or Parquet by default?", "What is the default format of exports, CSV or Parquet?"},
			{"Should invoices be public?", "Do we bake bread on Sundays?"},
		},
		"names and values": {
			{"Should the field be color?", "Should the field be colour?"},
			{"Should we store `dates` in UTC?", "Should dates be stored in UTC?"},
			{"Should we use Go for billing?", "Should we use go for billing?"},
			{"Should we move to Node 20?", "Do we move to Node 22?"},
		},
	} {
		for _, c := range pairs {
			require.True(t, differCrucially(t, m, c[0], c[1]), "%s: %q %q: %+v", kind, c[0], c[1], m.Same(revue.Question{Text: c[0]}, revue.Question{Text: c[1]}))
		}
	}
}

// Two things that change parts are two decisions, whatever is done, and however it is said.
func TestSwappedPartsAreCrucial(t *testing.T) {
	m := memory.New(nil)
	nouns := []string{"admins", "suppliers", "billing", "search", "the gateway", "Kafka", "user teams", "orders"}
	verbs := [][2]string{
		{"approve", "approved"},
		{"invite", "invited"},
		{"block", "blocked"},
		{"replace", "replaced"},
		{"notify", "notified"},
		{"call", "called"},
		{"use", "used"},
		{"log", "logged"},
		{"copy", "copied"},
		{"move", "moved"},
		{"merge", "merged"},
		{"send", "sent"},
		{"map", "mapped"},
		{"deploy", "deployed"},
		{"store", "stored"},
		{"export", "exported"},
		{"name", "named"},
	}
	// Each says something of A and B in that order of parts.
	forms := [][]string{
		{"Should A VERB B?", "Does A VERB B?", "Should B be DONE by A?", "Is B DONE by A?", "Are B DONE by A in the EU?", "Should A VERB B in the EU?", "Should B be DONE by A in the EU?"},
		{"Should we VERB A to B?", "Do we VERB A to B?", "Should A be DONE to B?", "Is A DONE to B?", "Should A be DONE into B?", "Do we VERB A into B?", "Which team should VERB A to B?"},
		{"Should we VERB A from B?", "Should A be DONE from B?", "Do we VERB A from B?"},
		{"Should we VERB A in B?", "Should A be DONE in B?", "Do we VERB A in B?", "Should we VERB A for B?", "Should A be DONE for B?", "Should A be DONE as B?", "Do we VERB A as B?"},
		{"Should A be DONE if B fails?", "Should we VERB A if B fails?", "Should we VERB A when B is down?", "If B fails, should we VERB A?"},
		{"Should we VERB A of B?", "Should A of B be DONE?", "Should we VERB A that own B?", "Should A that own B be DONE?"},
		{"Should A and not B be DONE?", "Should we VERB A and not B?", "Should A be DONE instead of B?", "Should we VERB A with B?", "Should A be DONE with B?", "Should A be DONE before B?"},
	}
	tried, alike := 0, 0
	for i, a := range nouns {
		for j, b := range nouns {
			if i == j {
				continue
			}
			for v, verb := range verbs {
				if v%8 != (3*i+j)%8 {
					continue // an eighth of them will do
				}
				said := func(form, a, b string) string {
					return strings.NewReplacer("A", a, "B", b, "VERB", verb[0], "DONE", verb[1]).Replace(form)
				}
				for _, group := range forms {
					for _, x := range group {
						for _, y := range group {
							p, q := said(x, a, b), said(y, b, a)
							tried++
							if m.Same(revue.Question{Text: p}, revue.Question{Text: q}).Verdict != revue.VerdictNone {
								alike++
							}
							require.True(t, differCrucially(t, m, p, q), "%q %q", p, q)
						}
					}
				}
			}
		}
	}
	t.Logf("%d pairs with two things swapped, %d of them alike, all crucial", tried, alike)
	require.Greater(t, alike, tried/2)
}

// A word more, or another one, is crucial in each form that may be said in another way.
func TestWordsAreCrucial(t *testing.T) {
	m := memory.New(nil)
	for _, c := range [][2]string{
		{"Should we encrypt customer backups in Frankfurt?", "Do we encrypt customer backups in Frankfurt?"},
		{"Should we store session dates in UTC?", "Should session dates be stored in UTC?"},
		{"Which customer database should we use for billing?", "Which customer database should be used for billing?"},
		{"How long should we keep raw events in warehouses?", "How long do we keep raw events in warehouses?"},
	} {
		require.False(t, differCrucially(t, m, c[0], c[1]), "%q %q", c[0], c[1])
		words := strings.Fields(strings.TrimSuffix(c[1], "?"))
		for i := range words {
			less := strings.Join(append(append([]string{}, words[:i]...), words[i+1:]...), " ") + "?"
			require.True(t, differCrucially(t, m, c[0], less), "%q %q", c[0], less)
			for _, w := range []string{"open", "service", "use", "file", "frequently", "large", "not", "other", "user", "all", "5"} {
				more := strings.Join(append(append(append([]string{}, words[:i]...), w), words[i:]...), " ") + "?"
				require.True(t, differCrucially(t, m, c[0], more), "%q %q", c[0], more)
				other := strings.Join(append(append(append([]string{}, words[:i]...), w), words[i+1:]...), " ") + "?"
				require.True(t, differCrucially(t, m, c[0], other), "%q %q", c[0], other)
			}
		}
	}
}

package memory_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
)

// again asks a question that was decided, and returns the match.
func again(t *testing.T, decided, asked string, remember revue.Remember) revue.Match {
	t.Helper()
	s := newSource()
	s.make(revue.Decision{Question: decided, Answer: "yes", AnswerLabel: "yes", Options: options("yes", "no"), Remember: remember})
	r := recall(t, memory.New(nil), s, revue.Query{Text: asked, Request: true, Options: options("yes", "no"), Key: "zz"})
	return first(r)
}

// pointing has wordings by the dress in which a word that points at something comes. None is reused, not even as a rule.
var pointing = map[string][]string{
	"capitals": {
		"Should we deploy billing TOMORROW?", "Should we deploy billing TONIGHT?", "Should we deploy billing on FRIDAY?", "Should we ship billing on MONDAY?",
		"Should we pay the PENDING invoices from Acme?", "Should the TICKET be closed by billing?", "Should the USER be erased from billing?",
		"Should the PULL REQUEST be merged into billing?",
		"Should we ship search THIS WEEK?", "Should the LATEST backup be kept in EU?", "Should billing use the CURRENT schema?", "Should the Incident be shown on the portal?",
	},
	"quotes": {
		"Should the `new dashboard` go live in EU?", `Should the "new dashboard" replace the reports page?`, "Should we run 'the latest migration' on the orders database?",
		"Should the \"current\" database of billing be dropped?", "Should the \"current database\" of billing be dropped?", "Should `this` be deployed to billing?",
		"Should `this build` be deployed to billing?", `Question from ops: "Should we deploy this build to production now?"`,
		"Should the 'old dashboard' be shown to admins?", "Should users see `our draft` in search?", "Should billing link \"the ticket\" in invoices?", "Should “today” be the start of exports?",
	},
	"joined": {
		"Should we restart the billing database now—before traffic peaks?", "Should we restart the billing database today-before traffic peaks?",
		"Should the brand-new tables be indexed by billing?", "Should the most-recent backups be kept in EU?", "Should the just-merged migration be reverted in billing?",
		"Should we ship billing Friday/Saturday?", "Should the newly created tables be indexed by billing?",
		"Should invoices ship tomorrow—before the audit?", "Should search use the newly-added index?", "Should we notify admins today/tomorrow?", "Should exports start now…or after the audit?",
	},
	"genitives and plurals": {
		"Should we include billing in Friday's deploy?", "Should we ship billing in tonight's release?", "Should the incident's postmortem be public?",
		"Should the PR's branch be merged into billing?", "Should the commit's author be paged by billing?", "Should the tickets' owners be paged by billing?",
		"Should we page the team about the outages?", "Should the user's data be erased from billing?",
		"Should tomorrow's export have invoices?", "Should the hotfix's author write docs?", "Should the PRs' titles be shown in search?", "Should the incidents be listed on the portal?",
		"Should the customer’s invoices be hidden?",
	},
	"time": {
		"Should we run the billing migration overnight?", "Should we migrate the database over the weekend?", "Should we restart the billing database in 5 minutes?",
		"Should we reboot the database server in an hour?", "Should we deploy billing at the moment?", "Should we deploy billing at present?",
		"Should we cut billing over on the 15th?", "Should we deploy billing on Fri?", "Should we freeze billing by EOM?", "Should we run the billing backfill at 3pm?",
		"Should billing be frozen over Christmas?", "Should we raise the billing rate limit further?", "Should we raise the billing rate limit by another 10%?",
		"Should we add one more replica to orders?", "Should we add an additional replica to orders?", "Should we run the billing backfill momentarily?",
		"Should we deploy billing tmrw?", "Should we drop Node 18 support by the end of March?", "Should we raise the limit again for Acme?",
		"Should exports be paused until Thursday?", "Should search be off in two hours?", "Should admins be mailed at 17:30?", "Should exports be off through August?",
		"Should refunds be held until further notice?", "Should invoices be checked in a few days?", "Should billing be off on the 3rd?",
	},
	"at hand": {
		"Should we merge the pull request into main?", "Should we merge PR into main?", "Should we merge the PR into main?", "Should we merge our PR into main?",
		"Should we run the migration on production?", "Should we deploy the hotfix to production?", "Should we ship the release to customers?",
		"Should we revert the change to the billing service?", "Should we roll back the deployment in production?", "Should we merge the feature branch into main?",
		"Should we delete the given user from the database?", "Should we use the provided API key for billing?", "Should the specified change be merged into main?",
		"Should we pay the overdue invoice from Acme?", "Should we deploy the updated billing service to production?", "Which of the listed databases should billing use?",
		"Which of the following databases should billing use?", "Should the merchant be paid out by billing?", "Should the student be enrolled in billing?",
		"Should we rotate the leaked Stripe key?", "Should we restart the crashed billing pod?", "Should we use the version mentioned in Slack?",
		"Should we use the database described in the README?", "Should we use the 2nd database for billing?", "Should billing follow the recommendation?",
		"Should the merge request be squashed in billing?", "Should customers be told about the crash?", "Should the aforementioned limit hold for EU?",
		"Should billing follow the vendor's proposal?", "Should the subscriber be billed in EUR?", "Should their draft be used by billing?", "Should search use the suggested index?",
	},
	"choices": {
		"Should we implement option-B for billing?", "Should we implement Option 2 for billing?", "Should we take route B for the billing migration?",
		"Should we use strategy B for billing?", "Should we use method 2 for billing retries?", "Should we take path A or path B for billing?",
		"Should we go with alternative (b) for billing?", "Should billing use A, B or C?", "Should we implement approach #2 for billing?", "Should billing use either database?",
		"Should billing follow variant C?", "Should search use design 3?", "Should exports use approach (a)?", "Should we take X or Y for exports?", "Should invoices go by plan D?",
	},
}

func TestPointingInEveryDress(t *testing.T) {
	for kind, list := range pointing {
		for _, q := range list {
			m := again(t, q, q, revue.RememberRule)
			require.Equal(t, revue.Confirm, m.ReuseGuidance, "%s: %s", kind, q)
			require.Equal(t, revue.VerdictLikely, memory.New(nil).Same(revue.Question{Text: q}, revue.Question{Text: q}).Verdict, "%s: %s", kind, q)
		}
	}
}

// What is not worded as a standing policy is reused where the human made it a rule, and not else.
func TestOnlyPoliciesAreReusedByDefault(t *testing.T) {
	for kind, list := range map[string][]string{
		"state": {
			"Is the contract with Acme signed?", "Does CI pass on the main branch?", "Do the billing tests pass on main?", "Does the staging database have the orders index?",
			"Which version is deployed in production?", "Who is on call for payments?", "What is the status of the payments migration?", "How many customers have signed up for billing?",
			"Is the invoices index built?", "Do the nightly backups work?", "Who has access to the vault?", "How many replicas are running in EU?",
			"Do we have a backup of invoices?", "Where is the staging cluster?",
		},
		"consent": {
			"How about dropping the orders table?", "Does anyone mind dropping the orders table?", "Why not drop the orders table?", "Why don't we drop the orders table?",
			"What about dropping the orders table in production?", "Are there any reservations about dropping the orders table?", "Are you comfortable dropping the orders table?",
			"Will you allow dropping the orders table?", "Do you allow the agent to drop the orders table?", "Is the agent free to drop the orders table?",
			"Is the agent entitled to drop the orders table?", "Is everyone good with dropping the orders table?", "Does anybody disagree with dropping the orders table?",
			"Do you support dropping the orders table?", "Do you see a downside to dropping the orders table?", "Is it time to drop the orders table?", "Do you want to drop the orders table?",
			"Do we drop the orders table?", "Will we drop the orders table?", "Would you drop the orders table?", "Could the agent drop the orders table?", "Do agents get to drop the orders table?",
			"What do you say to dropping the orders table?", "Anything against dropping the orders table?", "Is there anything wrong with dropping the orders table?",
			"Do we dare drop the orders table?", "Can we live without the orders table?", "Should you drop the orders table?", "Do we agree to lose the orders table?",
		},
		"one act": {
			"Should we refund Acme?", "Should Acme be refunded 500 EUR?", "Should we raise the billing rate limit by 10%?", "Should we extend the Acme contract by a year?",
			"Should we double the orders replicas?", "Should we charge Acme for the overage?", "Should we rerun billing CI?", "Should we bump the billing version?",
			"Should we cut a release of billing?", "Should we publish the billing package to npm?", "Should we tag billing as released?", "Should we push to origin/main?",
			"Should we force-push the billing branch?", "Should we merge feature/login into main?", "Should we drop the orders table?", "Should the orders table be dropped?",
			"Should we delete 3 replicas of the orders database?", "Should ops restart the billing database?", "Should we overwrite local changes in billing?",
			"Should we pay Globex?", "Should we lower the quota by 5 GB?", "Should we reindex search?", "Should the search cluster be upgraded?", "Should we cancel order 4711?",
			"Should we restart billing?", "Should support refund Globex?", "Should we delete all backups of invoices?", "Should we add an index to the orders table?",
		},
		"one thing": {
			"Should the invoice be paid by billing?", "Should the payment be refunded by billing?", "Should the transaction be reversed in billing?", "Should the account be deleted from billing?",
			"Should the order be cancelled by billing?", "Should the client be refunded by billing?", "Should the announcement name customers?", "Should the flag be on in EU?",
			"Should billing emails use the first template?", "Should the voucher be valid in EU?", "Should the shipment go by air?", "Should the applicant list show the photo?",
		},
		"other languages": {
			"Moeten we de tabel met orders indexeren?", "Devemos guardar os pedidos no Postgres?", "¿Deberíamos guardar los pedidos en Postgres?", "Sollen wir Bestellungen in Postgres speichern?",
			"Faut-il garder les commandes dans Postgres ?", "Dovremmo salvare gli ordini in Postgres?", "Нужно ли хранить заказы в Postgres?", "删除生产数据库吗？", "本番データベースを削除しますか？",
		},
		"more than a question": {
			"The audit is over. Should we encrypt backups at rest?", "Should we encrypt backups at rest? The audit wants it.", "Should the values file of billing be\nprod:\n  replicas: 3",
			"Context: the audit is over; should we encrypt backups at rest?",
		},
	} {
		for _, q := range list {
			require.Equal(t, revue.Confirm, again(t, q, q, revue.RememberDefault).ReuseGuidance, "%s: %s", kind, q)
			s := newSource()
			s.make(revue.Decision{Question: q, Answer: "yes", Options: options("yes", "no")})
			r := recall(t, memory.New(nil), s, revue.Query{Text: q, Request: true, Options: options("yes", "no")})
			require.True(t, r.Permission || r.Deictic, "%s: %s: the human has to see that it takes a rule", kind, q)
		}
	}
	for _, q := range []string{
		"Is the invoices API public?", "What is the upload limit for invoices?", "Who approves changes to the invoices module?", "Tabs or spaces in Go files?", "Where do reports read invoices from?",
		"Does the admin UI have to work in IE11?", "Sollen wir Bestellungen in Postgres speichern?", "我们应该加密客户数据吗？", "Do you prefer Postgres or MySQL for invoices?",
	} {
		require.Equal(t, revue.Apply, again(t, q, q, revue.RememberRule).ReuseGuidance, "as a rule: %s: %s", q, again(t, q, q, revue.RememberRule).Reason)
		require.Equal(t, revue.Confirm, again(t, q, q, revue.RememberDefault).ReuseGuidance, q)
	}
}

// Languages that nobody listed here are not applied at all, and pointing words of those listed are found in all their forms.
func TestOtherLanguagesThatPoint(t *testing.T) {
	for _, q := range []string{
		"Moeten we vandaag de orders database migreren?", "Moeten we de nieuwe database gebruiken?", "Is de nieuwe database beter dan Postgres?", "Moeten we deze tabel met orders wissen?",
		"Moeten wij de vorige tabel met orders wissen?", "Devemos apagar o banco do cliente agora?", "Devemos usar o novo banco do time?", "Devemos apagar esta tabela do cliente?",
		"Devemos apagar a tabela anterior de pedidos?", "¿Deberíamos migrar las nuevas tablas a Postgres?", "¿Deberíamos borrar las tablas anteriores de pedidos?", "¿Deberíamos migrar esta noche la tabla de pedidos?",
		"Faut-il déployer les nouvelles tables ?", "Faut-il supprimer la table suivante ?", "Faut-il migrer la base la semaine prochaine ?", "Dobbiamo usare le nuove tabelle ordini?",
		"Dovremmo migrare domani la tabella ordini?", "Нужно ли удалить новые таблицы заказов?", "Нужно ли удалить текущие таблицы заказов?", "Нужно ли удалить последние резервные копии?",
		"Нужно ли удалить базу на следующей неделе?", "Sollen wir die heutige Sicherung löschen?", "Sollen wir die obige Tabelle löschen?", "Welche der beiden Datenbanken nehmen wir?",
		"我们应该删除上周的备份吗？", "下周要不要升级生产数据库？", "要不要马上重启生产数据库？", "昨晚的备份要不要删除？", "来週本番データベースを更新すべきですか？", "先ほどのバックアップを削除すべきですか？",
		"Чи потрібно зараз видалити цю базу замовлень?", "Да изтрием ли сега таблицата с поръчки?", "Czy wdrożyć to dzisiaj na produkcję?", "Ska vi köra migreringen idag?",
		"Sollen wir die neuen Tabellen indizieren?", "Dobbiamo cancellare quella tabella ordini?", "Devons-nous supprimer cette table de commandes ?", "Bu sipariş tablosunu silelim mi?",
		"我们要不要删除刚才的备份？", "さっきのバックアップを消すべきですか？", "이 주문 테이블을 삭제할까요?", "Нужно ли сейчас удалить таблицу заказов?", "¿Debemos borrar la tabla de ayer?",
	} {
		require.Equal(t, revue.Confirm, again(t, q, q, revue.RememberRule).ReuseGuidance, q)
	}
}

// Wordings that differ in what a fold might take for nothing.
func TestSpellingsThatSaySomethingElse(t *testing.T) {
	m := memory.New(nil)
	for kind, list := range map[string][][2]string{
		"quotes": {
			{"Should missing emails be stored as `null`?", "Should missing emails be stored as \"null\"?"},
			{"Should the import treat `NULL` as a missing email?", "Should the import treat 'NULL' as a missing email?"},
			{"Should the order id be serialised as `5`?", "Should the order id be serialised as \"5\"?"},
			{"Should the billing API return `true` on success?", "Should the billing API return 'true' on success?"},
			{"Should the default of the role column be `currentUser`?", "Should the default of the role column be 'currentUser'?"},
			{"Should the default of the role column be 'user'?", "Should the default of the role column be \"user\"?"},
			{"Should billing compare ids as \"42\" or 42?", "Should billing compare ids as `42` or 42?"},
			{"Should logs name `userId`?", "Should logs name userId?"},
			{"Should the key be \"id_token\"?", "Should the key be id_token?"},
			{"Should exports have the header \"Date\"?", "Should exports have the header 'Date'?"},
		},
		"lines": {
			{"Should the values file of billing be\nprod:\n  replicas: 3\ndebug: true", "Should the values file of billing be\nprod:\n  replicas: 3\n  debug: true"},
			{"Should the billing deploy script be:\ncd /srv # enter\nrm -rf old", "Should the billing deploy script be:\ncd /srv # enter rm -rf old"},
			{"Should billing run\n    if late:\n        notify()\n    charge()", "Should billing run\n    if late:\n        notify()\n        charge()"},
			{"Should the deploy script run:\nset -e # stop\nrm -rf /srv/old?", "Should the deploy script run: set -e # stop rm -rf /srv/old?"},
			{"Should jobs be\n- a\n- b\nin this order?", "Should jobs be\n- a\n  - b\nin this order?"},
			{"Should the Makefile say\nall:\n\tgo build", "Should the Makefile say\nall:\n    go build"},
			{"Should the mail say\nHello\n\nBye", "Should the mail say\nHello\nBye"},
		},
		"articles": {
			{"Should we delete the 3 replicas of the orders database?", "Should we delete 3 replicas of the orders database?"},
			{"Should we keep the one replica of orders?", "Should we keep one replica of orders?"},
			{"Should the two billing services share a database?", "Should two billing services share a database?"},
			{"Should the few users on IE11 be supported by billing?", "Should few users on IE11 be supported by billing?"},
			{"Which service should get the most replicas?", "Which service should get most replicas?"},
			{"Should we drop the columns without an owner in orders?", "Should we drop columns without an owner in orders?"},
			{"Should we revoke the tokens of contractors?", "Should we revoke tokens of contractors?"},
			{"Should we delete the backups of the orders database?", "Should we delete backups of the orders database?"},
			{"Should engineers be on a call during billing deploys?", "Should engineers be on call during billing deploys?"},
			{"Should we edit config files in a place of their owner?", "Should we edit config files in place of their owner?"},
			{"Should billing be in a charge of refunds?", "Should billing be in charge of refunds?"},
			{"Should support call the customers on a hold?", "Should support call customers on hold?"},
			{"Should a replica of orders serve reports?", "Should the replica of orders serve reports?"},
			{"Should we have the search in the house style?", "Should we have search in house style?"},
			{"Should reports be sent on the demand of a customer?", "Should reports be sent on demand of a customer?"},
			{"Should the release take the place of the beta?", "Should release take place of beta?"},
			{"Should the billing job run in the order of priority?", "Should the billing job run in order of priority?"},
			{"Should the offer be on the table in EU?", "Should the offer be on table in EU?"},
			{"Should the five workers share a queue?", "Should five workers share a queue?"},
			{"Should all the admins see invoices?", "Should all admins see invoices?"},
			{"Should we keep the last replica?", "Should we keep last replica?"},
			{"Should the workers cache responses?", "Should workers cache responses?"},
			{"Should exports be under the control of finance?", "Should exports be under control of finance?"},
		},
		"other folds": {
			{"Should the header background be Azure?", "Should the header background be azure?"},
			{"Should we build mobile—first checkout?", "Should we build mobile-first checkout?"},
			{"Should queries for orders go through the repository?", "Should queries for orders go through the repo?"},
			{"a record TTL should be 60 or 300 seconds?", "record TTL should be 60 or 300 seconds?"},
			{"Should an admin account exist on Windows hosts?", "Should an administrator account exist on Windows hosts?"},
			{"Should i start at 0 in billing loops?", "Should I start at 0 in billing loops?"},
			{"Should the range be 1–5?", "Should the range be 1-5?"},
			{"Should pages say A–Z?", "Should pages say A-Z?"},
		},
	} {
		for _, p := range list {
			require.NotEqual(t, memory.Canonical(p[0]), memory.Canonical(p[1]), "%s: %q %q", kind, p[0], p[1])
			v := m.Same(revue.Question{Text: p[0]}, revue.Question{Text: p[1]}).Verdict
			require.NotEqual(t, revue.VerdictSame, v, "%s: %q %q", kind, p[0], p[1])
			require.NotEqual(t, revue.VerdictLikely, v, "%s: %q %q", kind, p[0], p[1])
			for _, remember := range []revue.Remember{revue.RememberDefault, revue.RememberRule} {
				require.Equal(t, revue.Confirm, again(t, p[0], p[1], remember).ReuseGuidance, "%s: %q %q", kind, p[0], p[1])
				require.Equal(t, revue.Confirm, again(t, p[1], p[0], remember).ReuseGuidance, "%s: %q %q", kind, p[1], p[0])
			}
		}
	}
	// What is typography alone.
	for _, p := range [][2]string{
		{"Should exports have the header “Date”?", "Should exports have the header \"Date\"?"},
		{"Should exports have the header ‘Date’?", "Should exports have the header 'Date'?"},
		{"Should the default be `on`?\r\n", "Should the default be `on`?"},
		{"Should the mail say\r\n  Hello", "Should the mail say\n  Hello"},
		{"Which database should the billing service use?", "which database should billing service use"},
		{"Should the orders table be partitioned by month?", "should orders table be partitioned by month"},
	} {
		require.Equal(t, memory.Canonical(p[0]), memory.Canonical(p[1]), "%q %q", p[0], p[1])
	}
}

// "Who asks" and courtesies inside a sentence make a difference where the sentence is another one then.
func TestJoinsThatWereOdd(t *testing.T) {
	m := memory.New(nil)
	for _, p := range [][2]string{
		{"Should i start at 0 in billing loops?", "Should we start at 0 in billing loops?"},
		{"Should emails be kindly worded by support?", "Should emails be worded by support?"},
		{"Should I approve refunds in billing?", "Should we approve refunds in billing?"},
		{"Should replies be kindly signed by support?", "Should replies be signed by support?"},
		{"May I delete invoices in billing?", "May we delete invoices in billing?"},
		{"Which region should we log in for audits?", "In for audits, which region should we log?"},
		{"Should x or i name the loop index?", "Should x or we name the loop index?"},
	} {
		v := m.Same(revue.Question{Text: p[0]}, revue.Question{Text: p[1]}).Verdict
		require.NotEqual(t, revue.VerdictSame, v, "%q", p)
		require.NotEqual(t, revue.VerdictLikely, v, "%q", p)
	}
}

// Standing policies in plain English are reused as they always were.
// A wording that breaks off anywhere is read like any other.
func TestWordingsThatBreakOff(t *testing.T) {
	for _, q := range []string{
		"Which database does the orders service use?", "For invoices, which database should we use?", "In which region do we store the EU backups?",
		"When should alerts page somebody?", "Should the orders table not be dropped?", "Do we keep the list that billing holds?", "Which database holds the orders?",
		"What do reports read from, if not from our ledger?", "If the provider times out should we retry payments?",
	} {
		words := strings.Fields(q)
		for from := range words {
			for to := from; to <= len(words); to++ {
				part := strings.Join(words[from:to], " ")
				require.NotPanics(t, func() { again(t, part+"?", part+"?", revue.RememberDefault) }, part)
			}
		}
	}
}

func TestPoliciesAreReused(t *testing.T) {
	for _, q := range []string{
		"Which database should the billing service use?", "Should we store passwords with bcrypt?", "Do we encrypt backups at rest?", "How long should access tokens live?",
		"Should invoices be deleted after seven years?", "Should failed payments be retried when the provider times out?", "Where do we keep protobuf definitions?",
		"How should services authenticate to each other?", "Who should approve refunds over 500 EUR?", "In which region should EU customers be stored?", "For invoices, which database should we use?",
		"Must every pull request have two reviewers?", "Should we always deploy billing behind a flag?", "Should the API use cursor pagination?", "Should admins see deleted orders?",
		"When should alerts page somebody?", "What should a missing email be stored as, `null` or `''`?", "Should the nightly job run at 02:00 UTC?", "Should we deploy to production on Fridays?",
		// What is so as a rule.
		"Which region holds EU data?", "Which database does the orders service use?", "Which database do reports read from?", "What format do exports use?",
		"Which licence does the billing module get?", "Which service owns invoices?",
	} {
		m := again(t, q, q, revue.RememberDefault)
		require.Equal(t, revue.Apply, m.ReuseGuidance, "%s: %s", q, m.Reason)
	}
}

// An unknown repository pins nothing, and neither do files of another one.
func TestUnknownRepositoryPinsNothing(t *testing.T) {
	m := memory.New(nil)
	const q = "Should this file be kept in version control?"
	for _, c := range []struct {
		a, b string
		want revue.Verdict
	}{
		{"", "", revue.VerdictLikely},
		{"h/a", "", revue.VerdictLikely},
		{"", "h/a", revue.VerdictLikely},
		{"h/a", "h/b", revue.VerdictLikely},
		{"h/a", "h/a", revue.VerdictSame},
	} {
		a := revue.Question{Text: q, Files: []string{".env"}, Repo: c.a}
		b := revue.Question{Text: q, Files: []string{".env"}, Repo: c.b}
		require.Equal(t, c.want, m.Same(a, b).Verdict, "%q %q", c.a, c.b)
	}
}

// Package revue lets agents ask a human one clear question, and remembers the answer.
//
// An agent that must know something only a human can decide makes a [Decider.Request]. The request is
// grouped with those of other agents that ask the same, shown to a human as one card (a [Lot]), and waits
// without ever losing the answer. The answer is remembered as a [Decision]; the next agent that
// asks the same gets it at once, with a statement of how far it may be reused. Humans correct what is
// remembered through a [Reviewer]; agents never can.
//
// # The pieces
//
// A [Desk] is the one implementation of what all this means. It works on a [Store] (packages
// storage/sqlite and storage/memstore, or your own), finds precedents with a [Memory] (package memory, or
// your own), and tells humans through any number of [Notifier] values. It is a [Plane]: it hands out a [Decider]
// for each agent, a [Reviewer] for each human, and an [Admin] for the plane itself. Transports such as
// transport/revuemcp are built on these interfaces alone, and so can yours be.
//
//	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
//	go desk.Run(ctx)
//	agent := desk.Decider(revue.Agent{Workspace: "default", Credential: "build-bot", Name: "build bot"})
//	out, err := agent.Request(ctx, revue.Ask{
//		Question: "Which database should the billing service use?",
//		Options:  []revue.Option{{Value: "postgres"}, {Value: "sqlite"}},
//		Wait:     50 * time.Second,
//	})
//
// # Outcomes
//
// A request comes back as [OutcomeReused] (remembered; nobody was interrupted), [OutcomeAnswered],
// [OutcomeDismissed] (a human does not want to decide this), or [OutcomePending]: the wait ended first. Pending is
// not a refusal: the identical request takes up the same ask, from another process or after
// a restart as well. An approval can also be [OutcomeExpired].
//
// # What is promised
//
//   - No answer is lost or doubled: it is committed first, and told afterwards.
//   - Silence is never consent: a timeout, an interrupt or a blank never becomes an answer.
//   - A decision is applied without asking only to the same question, in a fitting scope, with the
//     options the human had; in doubt a human is asked to confirm.
//   - Agents cannot answer, correct, or see another workspace.
//
// All text that agents write is hostile until it is escaped by whoever shows it.
package revue

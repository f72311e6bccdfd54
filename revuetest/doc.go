// Package revuetest has what code around revue is tested with: one suite that says what a plane must
// do, and the fakes that users of the library need.
//
// # The contract
//
// [Contract] is the meaning of revue written as tests. It knows a plane only through [revue.Decider] and
// [revue.Reviewer], so the same cases run against a [revue.Desk] in the process, against a client of
// its HTTP API, and against an agent that speaks MCP to another process. A transport passes it by
// handing over a [System]:
//
//	func TestContract(t *testing.T) {
//		revuetest.Contract(t, func(t *testing.T) revuetest.System {
//			desk := revue.New(store, memory, nil)
//			return revuetest.System{
//				Decider:  func(t *testing.T, a revue.Agent) revue.Decider { return desk.Decider(a) },
//				Reviewer: func(t *testing.T, h revue.Human) revue.Reviewer { return desk.Reviewer(h) },
//				Library:  true,
//			}
//		})
//	}
//
// The zero System is the strictest one: a transport that can't carry something says so by a
// switch, and each switch leaves out as few cases as possible. Every case has a workspace of its own. No case
// relies on how fast anything is: what must happen is polled with a deadline, what must not happen is
// looked for behind a later event of the journal, which would come after it.
//
// # Fakes
//
// [AnswerAll] plays the human: it follows the journal and answers what a function tells it to.
// [Recorder] is a [revue.Notifier] that keeps what it was told, for tests of code that depends on
// notices. Both work with any implementation of revue's interfaces.
package revuetest

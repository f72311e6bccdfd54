// Package memory is the default [revue.Memory]: it finds the decisions that bear on a question and says how far
// each may be reused.
//
//	desk := revue.New(store, memory.New(nil), nil)
//
// # What counts as the same question
//
// A remembered answer that is given to the wrong question does more harm than one that is not found. So nothing
// here that measures likeness decides anything: pairs that differ in one crucial word (5 and 50, staging and
// production, with and without) look more alike to every such measure than two honest wordings of one
// question. Two questions are the same when their ordered canonical tokens are equal ([Canonical]) and none has "a"
// where the other has "the", or when a human has accepted the one as another wording of the other (an alias). Each
// alias makes the memory find more, and none of them is a guess.
//
// # When an answer may be applied
//
// A match says [revue.Apply] only if all of this holds, else [revue.Confirm]:
//
//   - the question is the same as the decision's, or as one of its aliases;
//   - it has two content words at least, and one of them says what it is about;
//   - it has no deictic word ("this", "new", "today"), no pronoun without anything before it that it could stand for,
//     and no character that hides or reorders text. "This file" and "these files" are pinned where both
//     questions name the same files, and some, in the same repository; nothing pins a word about time;
//   - it chooses none of several that it does not name ("option A", "the second option", "of the two");
//   - it has no word that may mean another thing by now ("existing", "old", "still", "pending", "immediately", "the
//     ticket", a day of the week) and does not ask how things stand ("has the vendor signed?");
//   - it asks for leave or consent only where the human made the answer a rule. That is "may", "can", "could" or "shall"
//     in front, "should I", "ok to", "any objection", "confirm", "green light" and the like, and every wording that
//     names an act and asks nothing: "delete the bucket?". "Should we" and "should the" ask for a decision;
//   - nor does any of that hold for the question that was answered, where the match is an alias of it;
//   - [revue.Decision.Obstacle] finds nothing: corrections, age, scope and options;
//   - no other live decision on the question, whose scope fits that of this one, answers otherwise;
//   - no decision on the question with the same answer was withdrawn as wrong after this one was last confirmed.
//
// The guards know English well, and the commonest pointing words and permission forms of German, Dutch, French,
// Spanish, Portuguese, Italian, Russian, Chinese, Japanese and Thai. A question in another script is never applied.
//
// # How a match is found and scored
//
// Recall searches an inverted index with BM25 over Porter2 stems; the question and its aliases count most, then
// concepts, answer, files and options. The score of a match is 1 for the same question. Otherwise it is the mean of
// the relevance and of the share of common content words, at most 0.95 where only harmless words differ,
// 0.8 where other words do and 0.6 where the difference is of a kind that always matters: a negation, a number, an
// environment, a direction and the like. Scopes that do not fit take 15 percent off. Matches below [MinScore] are
// left out. The score orders matches of one guidance; it never makes one.
//
// # How it keeps current
//
// The index of a workspace is built at its first recall, and before each later one the journal is read on to
// its head. Only decisions named there are read again. Any number of processes may write to the store. A journal
// that is not the one that was indexed, since the store was put back from a copy, is noticed when it is shorter or
// goes on differently, and the workspace is read anew.
package memory

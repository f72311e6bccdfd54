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
// question. Two questions are the same when their ordered canonical tokens are equal ([Canonical]), or when a human has accepted the one as another wording of the other (an alias). Each
// alias makes the memory find more, and none of them is a guess; one that was taken back ([revue.Decision.Accepted]) counts
// no more. The canonical form has a version, [CanonicalVersion], and golden vectors in testdata.
//
// A question that meets an open card gets one of three verdicts from [Memory.Same]: same joins it silently, likely joins it
// as a wording that the human sees (also equal words that point at something), and related is linked and never joined. What was measured of all this is in
// docs/matching.md, and "make eval" measures it again.
//
// # When an answer may be applied
//
// A match says [revue.Apply] only if all of this holds, else [revue.Confirm]:
//
//   - the question is the same as the decision's, or as one of its aliases;
//   - it has two content words at least, and one of them says what it is about;
//   - it has no deictic word ("this", "new", "today"), no pronoun without anything before it that it could stand for,
//     and no character that hides or reorders text. "This file" and "these files" are pinned where both
//     questions name the same files, and some, in the same known repository; nothing pins a word about time;
//   - it chooses none of several that it does not name ("option A", "the second option", "of the two");
//   - it has no word that may mean another thing by now ("existing", "old", "still", "pending", "immediately", "the
//     ticket", a day of the week, "the customer", "Q3", "at noon", "the default branch") and does not ask how things stand ("has
//     the vendor signed?"). Phrases that point at nothing are let through: "next to", "prior to", "new users" without "the",
//     "should last 14 days", "the build image", and a "that" that begins a clause;
//   - it is worded as a standing policy, or the human made the answer a rule. A policy is one question of the form "should (must) X …",
//     "do we …" or "which (what, how, where, when, who) … should (must, may, can, do we) …". It is no question about how things
//     stand ("is", "does", "who is"), no act on one thing ("refund Acme", "drop the orders table"; "delete invoices after seven
//     years" is about all of a kind), and calls nothing "the" of which there may be others ("the invoice"): parts of systems
//     and organisations, of a list, what has a name, and plurals stand. More than one sentence, and every
//     language but English, is no such form;
//   - it asks for leave or consent only where the human made the answer a rule. That is "may", "can", "could" or "shall"
//     in front, "should I", "ok to", "any objection", "confirm", "green light" and the like, and every wording that
//     names an act and asks nothing: "delete the bucket?";
//   - nor does any of that hold for the question that was answered, and for the alias of it that was matched;
//   - [revue.Decision.Obstacle] finds nothing: corrections, age, scope and options;
//   - no other live decision on the question, whose scope fits that of this one, answers otherwise;
//   - no decision on the question with the same answer was withdrawn as wrong after this one was last confirmed.
//
// The guards look at words in lower case, without quotes, dashes, slashes and genitives. They know English well, and the commonest
// pointing words and permission forms of German, Dutch, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese and
// Thai: what a human makes a rule in these is applied. A question in another script, or in a language that looks like none of
// these, is never applied.
//
// # How a match is found and scored
//
// Recall searches an inverted index with BM25 over Porter2 stems; the question and its aliases count most, then
// concepts, answer, files and options. What is skipped on the way never changes what is found: the most relevant
// are those that scoring every decision gives, with the newest first among equals. A young workspace borrows the statistics of
// common words from a built-in table.
//
// The score of a match is 1 for the same question and 0.95 where only harmless words differ. Else it follows from the
// relevance, which is the mean of BM25, divided by what a decision gets that has each word in its question, and of the share of common
// content words. What is less relevant than [MinScore] is left out. The rest is put where it belongs by what differs: from
// 0.7 up where it is the same in another form, from 0.5 up where something differs that may matter, and from [MinScore]
// up where one place differs and all else is equal, which is most often another decision. Scopes that do not fit take
// 15 percent off the relevance, and off 1 and 0.95. The score orders matches of one guidance; it never makes one. Equal scores are ordered by
// the relevance, then the newest first, then by id.
//
// Read it so: from 0.7 on it is the same decision in other words, if it still holds. From 0.5 to 0.6 it is that about
// every second time, below hardly ever. That is on a mix of which half was made to look alike; docs/matching.md has the
// shares. A list of keywords is no question: its matches get their relevance, up to 0.8.
//
// # What differs crucially
//
// Where a human says that a question is a precedent again, its wording becomes an alias only where nothing crucial
// differs ([revue.Comparison]). What may differ is listed, and all else is crucial:
//
//   - courtesies, and "environment" behind the name of one;
//   - "do we" and "should we", before a verb for what is done as a matter of course ("do we store", and not "do we have"),
//     unless it asks when, why or how;
//   - the passive that names nobody who does it, where each word keeps its part: "should we store dates in UTC", "should dates be
//     stored in UTC". Not "notify users in the EU" and "users be notified in the EU", which may say where the users are;
//   - a preposition said again behind "or": "in UTC or in local time".
//
// No two words stand for each other, and no word may be left out or have another ending. What is hardly alike is crucial, and so
// is every difference of a wording with more than 96 tokens. Such wordings are not compared word by word: they are the same where
// their tokens are equal, and related at most where they are not.
//
// The reason of a match names up to four words that are in both, and then what differs, most important kind first:
// negation, environment, number, version, unit or date, path, name, opposite, order of words, direction, quantity, other words,
// question word, punctuation.
//
// # Embeddings
//
// With an [Embedder], the fifty most relevant of what was found are ordered anew: 0.3 of the relevance above and 0.7 of
// the cosine take its place in the relevance, so that the score keeps its bounds. Nothing is found by vectors alone: what is compared is the same with an Embedder and without. And nothing
// becomes [revue.Apply] or stops being it. An Embedder that fails, is late, or returns what can't be, leaves the
// lexical order as it is, to the bit, and is left alone for a second and longer each time it fails again. Package embedhttp has one.
//
// # How it keeps current
//
// The index of a workspace is built at its first recall, and before each later one the journal is read on to
// its head. Only decisions named there are read again. Any number of processes may write to the store. A journal
// that is not the one that was indexed, since the store was put back from a copy, is noticed when it is shorter or
// goes on differently, and the workspace is read anew. While one recall reads, those that find the index at the
// head of the journal go on.
//
// A decision of a short question takes about 300 bytes, all that is told of it included. Indexes that nobody uses are
// dropped, and so are the least used ones where all take too much: see [Options]. A recall compares in full the newest 200
// decisions on the question, and the 50 most relevant others or twice Query.Limit, so its cost grows slowly with the store. What
// is less relevant than these is not in the list, whatever its score would be. To find what answers otherwise it reads the
// newest 400 decisions with a wording, and 100 of those withdrawn. Where there are more, and one that was not read may stand
// against a match, it says [revue.Confirm].
package memory

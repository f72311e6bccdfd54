// Package matcheval measures how well a [revue.Memory] matches questions: what it applies that it must not, which
// wordings it joins, what it finds, what its score means, and how often a team's humans are asked in a month.
//
//	report, err := matcheval.Run(ctx, &matcheval.Options{Gold: topics, NewMemory: …, NewStore: …})
//
// Everything is made from one seed, so that two runs of the same code print the same table. Texts of a data folder are
// measured from where they lie, and none of them is printed.
package matcheval

//go:build !race

package revuehttp_test

const raceEnabled = false

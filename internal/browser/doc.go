// Package browser drives Chromium in tests.
//
// A [Chromium] is one process, started at its first use; a test binary has one, and closes it in TestMain. Each test
// takes a [Profile] of its own, with its own cookies and nothing in its caches, and opens tabs in it. Where there is no
// Chromium on the machine the test is left out, as package testneed says.
//
// A tab is watched from its first moment to the end of its test. What no page of ours may do fails the test, whatever
// else it looks for: an error or a warning on the console, an exception that nobody caught, a violation of the content
// security policy, a dialog, a window that opens by itself, a request to any place but the one that the profile is
// for. A test that means to provoke one of these says so with [Tab.Allow].
//
// Methods of a tab wait, up to [Patience], for what they need, and end the test where it does not come. Elements are
// named by a CSS selector, to which " :: text" can be added: the first one shown whose text, label or value has the
// words. A [Tab] and its profile are for one goroutine.
package browser

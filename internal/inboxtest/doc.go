// Package inboxtest tests the web inbox in a real browser: what people do in it with the keyboard, the mouse, a telephone
// and without scripts; what agents may try through it; how it looks and how it can be read; and how fast it is.
//
// "make test" runs it where there is a Chromium, "make browser" says so where there is none, and "make pictures" takes the
// pictures of the documents. The pictures of every page go to the folder named by REVUE_SCREENSHOTS, by default
// dist/screenshots.
package inboxtest

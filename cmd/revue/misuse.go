package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
)

// later reports whether a command is one that a later version has. Who reads of it should not look for a typing
// error.
func later(name string) bool {
	return slices.Contains([]string{"connect", "doctor"}, name)
}

// takes checks how many words follow a command. The use of the command says what they are.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch n := len(args); {
		case n < least:
			return misuse(fmt.Sprintf("%s: something is missing; it is %q", cmd.CommandPath(), usage(cmd)))
		case n > most && most == 0:
			return misuse(fmt.Sprintf("%s takes no %q", cmd.CommandPath(), args[0]))
		case n > most:
			return misuse(fmt.Sprintf("%s: %q is too much; it is %q, and what has spaces goes in quotes", cmd.CommandPath(), args[most], usage(cmd)))
		}
		return nil
	}
}

func usage(cmd *cobra.Command) string { return strings.TrimSuffix(cmd.UseLine(), " [flags]") }

// knownCommand refuses a word that is none of the commands below cmd.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd == cmd.Root() && later(args[0]) {
		return misuse(fmt.Sprintf("%q is not in this version: \"revue --help\" lists what is", args[0]))
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "? "
	}
	return misuse(fmt.Sprintf("unknown command %q: %s%q lists those there are", args[0], hint, cmd.CommandPath()+" --help"))
}

// flagError says in plain words what is wrong with a flag.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() { // the flag may be that of a command which does not exist
		if word := a.firstWord(cmd); word != "" {
			return knownCommand(cmd, []string{word})
		}
	}
	text := err.Error()
	switch {
	case strings.HasPrefix(text, "unknown flag: "), strings.HasPrefix(text, "unknown shorthand flag: "):
		_, flag, _ := strings.Cut(text, "flag: ")
		if _, in, ok := strings.Cut(flag, " in "); ok {
			flag = in
		}
		if cmd.Name() == "correct" {
			if _, err := parseWhen(flag); err != nil && err.Error() != badWhen(flag).Error() {
				return err // a time that is negative
			}
		}
		if cmd.Name() == "answer" || cmd.Name() == "decisions" {
			return misuse(fmt.Sprintf("unknown flag %s: what begins with a dash and is no flag goes after --, as in \"%s -- %s\"; %q lists the flags",
				flag, cmd.CommandPath()+example(cmd), shellWord(flag), cmd.CommandPath()+" --help"))
		}
		return misuse(fmt.Sprintf("unknown flag %s: %q lists the flags", flag, cmd.CommandPath()+" --help"))
	case strings.HasPrefix(text, "flag needs an argument: "):
		flag := strings.TrimPrefix(text, "flag needs an argument: ")
		return misuse(flag + " needs a value")
	case strings.HasPrefix(text, "invalid argument "):
		var bad interface{ GetValue() string }
		_, rest, _ := strings.Cut(text, `" for "`)
		flag, _, ok := strings.Cut(rest, `" flag: `)
		if !ok || !errors.As(err, &bad) {
			return err
		}
		what := "it is true or false"
		if f := cmd.Flags().Lookup(strings.TrimPrefix(flag, "--")); f != nil && strings.HasPrefix(f.Value.Type(), "int") {
			what = "it is a whole number"
		}
		return misuse(fmt.Sprintf("%s %s: %s", flag, bad.GetValue(), what))
	}
	return err
}

// example is what stands between a command and the word that begins with a dash.
func example(cmd *cobra.Command) string {
	if first := strings.Fields(cmd.Use); len(first) > 2 {
		return " " + first[1]
	}
	return ""
}

// firstWord returns the first word after cmd on the command line that is no flag and no value of one.
func (a *app) firstWord(cmd *cobra.Command) string {
	args := a.args
	if cmd.HasParent() {
		i := slices.Index(args, cmd.Name())
		args = args[i+1:]
	}
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--db", arg == "--workspace":
			i++
		case !strings.HasPrefix(arg, "-"):
			return arg
		}
	}
	return ""
}

// flagOf says what a field of the core is called on a command line, "" for one that is not there.
func flagOf(field string) string {
	switch field {
	case "seen", "text", "note", "reason", "owner", "label", "confirms", "name", "position":
		return "--" + field
	case "members":
		return "--except"
	case "undoes":
		return "--undo"
	case "remember":
		return "--rule or --once"
	case "value":
		return "VALUE"
	case "expires":
		return "WHEN"
	case "query":
		return "TEXT"
	case "workspace":
		return "the workspace"
	}
	return ""
}

// message is an error as the user reads it.
func message(err error) string {
	text := err.Error()
	if !errors.Is(err, revue.ErrInvalid) {
		return text
	}
	field, problem, ok := strings.Cut(text, ": ")
	name := flagOf(field)
	switch {
	case !ok || name == "":
		return text
	case strings.HasPrefix(problem, "is "), strings.HasPrefix(problem, "has "):
		return name + " " + problem
	default:
		return name + ": " + problem
	}
}

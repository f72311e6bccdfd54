package main

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue/internal/telemetry"
)

// logFlags are the flags of a command that runs for long.
type logFlags struct{ format, level string }

func (l *logFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.format, "log-format", "text", "how to log to stderr: text or json")
	cmd.Flags().StringVar(&l.level, "log-level", "info", "from which level to log: debug, info, warn or error")
	_ = cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
}

// durationText writes a duration as its text, like 1.89s, in JSON too, where a number would leave its unit to be guessed.
func durationText(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		d := a.Value.Duration()
		switch abs := d.Abs(); {
		case abs >= time.Second:
			d = d.Round(10 * time.Millisecond)
		case abs >= time.Millisecond:
			d = d.Round(10 * time.Microsecond)
		}
		a.Value = slog.StringValue(d.String())
	}
	return a
}

// logger returns the log that the flags ask for. No secret gets into it.
func (l *logFlags) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return nil, misuse(fmt.Sprintf("--log-level %s: it is debug, info, warn or error", l.level))
	}
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: durationText}
	w = telemetry.ScrubWriter(w)
	switch l.format {
	case "text":
		return slog.New(telemetry.Scrub(slog.NewTextHandler(w, opts))), nil
	case "json":
		return slog.New(telemetry.Scrub(slog.NewJSONHandler(w, opts))), nil
	default:
		return nil, misuse(fmt.Sprintf("--log-format %s: it is text or json", l.format))
	}
}

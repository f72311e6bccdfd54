package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue/transport/revuemcp"
)

// stdioServer is the options of the command.
type stdioServer struct {
	*app
	profile  string
	logFlags logFlags
}

func (a *app) mcpCmd() *cobra.Command {
	m := &stdioServer{app: a}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve one agent over stdio",
		Long: `Serve one agent over stdio. It runs a plane of its own on the database of --db or REVUE_DB;
one of them is needed, and the file is made where it is missing. Several may share one
file, with each other and with "revue serve". This version can't talk to a plane elsewhere.

The agent's thread is REVUE_THREAD_ID or REVUE_WORKSTREAM_ID, else one for this process. Its
repository is REVUE_REPO, else the git remote of the working directory.`,
		Example: `  revue mcp --db ~/.local/share/revue/revue.db
  claude mcp add revue -- revue mcp --db ~/.local/share/revue/revue.db`,
		Args: takes(0, 0),
		RunE: does(func(cmd *cobra.Command, _ []string) error { return m.run(cmd.Context()) }),
	}
	cmd.Flags().StringVar(&a.db, "db", "", "the database file (default $REVUE_DB; one of the two is needed)")
	cmd.Flags().StringVar(&m.profile, "profile", string(revuemcp.Decisions), "which tools it has: decisions or approvals")
	m.logFlags.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(profileNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (m *stdioServer) run(ctx context.Context) error {
	profile, err := parseProfile(m.profile)
	if err != nil {
		return err
	}
	log, err := m.logFlags.logger(m.stderr)
	if err != nil {
		return err
	}
	path, named, err := m.dbPath()
	if err != nil {
		return err
	}
	if !named {
		return m.noPlane()
	}
	sigCtx, restore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer restore()
	p, err := openPlane(ctx, path, log)
	if err != nil {
		return err
	}
	runCtx, stopRun := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- p.Run(runCtx) }()

	// Parked calls must return before the session ends, so that their answers can still be written.
	serveCtx, stopServe := context.WithCancel(ctx)
	defer stopServe()
	go func() {
		<-sigCtx.Done()
		restore() // a second signal ends the process
		p.Drain()
		stopServe()
	}()
	agent := m.localAgent(ctx)
	if m.env("REVUE_REPO") != "" && agent.Repo == "" {
		log.Warn("REVUE_REPO is no address of a repository, like github.com/acme/api: the repository is unknown")
	}
	srv := revuemcp.NewServer(p, &revuemcp.Options{Profile: profile, Version: version(), Log: log})
	err = srv.Serve(serveCtx, agent, m.stdin, m.stdout)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil { // stopped by a signal, as asked
		err = nil
	}
	stopRun()
	<-ran
	if cerr := p.close(); err == nil {
		err = cerr
	}
	return err
}

// noPlane says why there is nothing to serve.
func (m *stdioServer) noPlane() error {
	var missing []string
	for _, key := range []string{"REVUE_API_URL", "REVUE_API_KEY"} {
		if m.env(key) == "" {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		verb := " is"
		if len(missing) > 1 {
			verb = " are"
		}
		return misuse(strings.Join(missing, " and ") + verb + " not set: that is what \"revue login\" is for, once this program can talk to a plane elsewhere; until then run one here with --db PATH or REVUE_DB")
	}
	return errors.New("this version can't talk to a plane elsewhere: point the agent at the /mcp address of \"revue serve\", or run a plane here with --db PATH or REVUE_DB")
}

package inbox

// boards are what waits in each workspace, kept current from its journal.
type boards struct{}

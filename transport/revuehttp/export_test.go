package revuehttp

// Row is a row of the table of routes, as far as the tests of who may call what need it.
type Row struct {
	Method, Path, Who, MediaType string
	Status                       int
	Body, Stream                 bool
	Statuses                     []int
}

// Table returns the table of routes.
func Table() []Row {
	var out []Row
	for _, rt := range routes() {
		out = append(out, Row{
			Method: rt.method, Path: rt.path, Who: string(rt.who), MediaType: rt.mediaType, Status: rt.status,
			Body: rt.body != nil, Stream: rt.stream, Statuses: rt.statuses(),
		})
	}
	return out
}

// Describe returns the OpenAPI document.
func Describe() ([]byte, error) { return describe(routes()) }

// FieldNotes returns what the document says of fields, by their names.
func FieldNotes() map[string]string { return fieldNotes() }

// TypeNotes returns what the document says of types.
func TypeNotes() map[string]string { return typeNotes() }

// NeededFields returns which fields a body can't go without.
func NeededFields() map[string][]string { return neededFields() }

// BoundFields returns the names of fields with bounds.
func BoundFields() []string {
	var out []string
	for name := range fieldBounds() {
		out = append(out, name)
	}
	return out
}

// WriteIn is how long a reader may take to take in one event.
const WriteIn = writeIn

// Parked is how many calls wait.
func (s *Server) Parked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.parked)
}

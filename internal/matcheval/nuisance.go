package matcheval

import (
	"math/rand/v2"
	"strings"
)

// nuisance returns n different questions about the same kind of things, none of them a known wording.
func nuisance(rng *rand.Rand, n int, known map[string]bool) []string {
	words := map[string][]string{
		"{service}": strings.Fields("ledger catalogue pricing shipping identity loyalty reporting inventory notification onboarding gateway scheduler importer recommendation fraud ticketing calendar media address coupon"),
		"{store}":   strings.Fields("database cache bucket queue topic index table warehouse ledger archive"),
		"{things}":  strings.Fields("invoices sessions receipts thumbnails contracts payouts vouchers drafts addresses devices bookings reviews parcels tickets balances exports transcripts attachments snapshots metrics events customers users orders emails"),
		"{who}":     strings.Fields("admins analysts partners sellers auditors moderators contractors editors owners guests customers agents"),
		"{verb}":    strings.Fields("archive compress encrypt mirror paginate batch validate throttle translate merge deduplicate replicate export import sign hash tag publish approve cache"),
		"{done}":    strings.Fields("archived compressed encrypted mirrored paginated batched validated throttled translated merged deduplicated replicated exported imported signed hashed tagged published approved cached"),
		"{place}":   strings.Fields("staging production sandbox Frankfurt Ireland Oregon Sydney preview"),
		"{tool}":    strings.Fields("Vault Consul Envoy Nomad Airflow dbt Snowflake BigQuery Spark Flink Temporal Argo Helm Bazel Buildkite Sentry Honeycomb Segment Braze Figma"),
		"{limit}":   strings.Fields("timeout limit quota retention budget target threshold interval"),
		"{n}":       strings.Fields("2 3 4 6 8 9 12 15 20 21 25 35 40 45 60 75 120 180 250 365 400 500"),
		"{unit}":    strings.Fields("seconds minutes hours days weeks months"),
		"{page}":    strings.Fields("checkout dashboard settings profile search pricing signup cart inbox help"),
		"{style}":   strings.Fields("imports headings enums tooltips abstracts footnotes fixtures migrations schemas handlers interfaces diagrams"),
		"{case}":    strings.Fields("snake_case kebab-case PascalCase alphabetical plural singular"),
	}
	templates := []string{
		"Should the {service} service {verb} {things}?",
		"Which {store} should the {service} service use for {things}?",
		"How long do we keep {things} in the {store}?",
		"Do we {verb} {things} before they reach the {service} service?",
		"Who may {verb} {things} in the {service} service?",
		"Should {things} be {done} after {n} {unit}?",
		"What is the {limit} for {things} in the {service} service?",
		"Should {who} be able to {verb} {things}?",
		"Do we move {things} of the {service} service to {tool}?",
		"Should the {page} page show {things} to {who}?",
		"Which region holds the {things} of {who}, {place} or elsewhere?",
		"Should the {service} service run in {place}?",
		"Should {style} be in {case}?",
		"How many {things} may {who} {verb} in {n} {unit}?",
		"Is {tool} allowed for {things}?",
		"Where are {things} {done}?",
		"Should failed {things} be {done} again?",
		"Do {who} see {things} on the {page} page by default?",
		"Should we use {tool} in the {service} service?",
		"When are {things} {done} in {place}?",
	}
	out := make([]string, 0, n)
	seen := map[string]bool{}
	for tries := 0; len(out) < n && tries < 100*n; tries++ {
		text := templates[rng.IntN(len(templates))]
		for {
			i := strings.IndexByte(text, '{')
			if i < 0 {
				break
			}
			j := i + strings.IndexByte(text[i:], '}') + 1
			from := words[text[i:j]]
			text = text[:i] + from[rng.IntN(len(from))] + text[j:]
		}
		if p := plain(text); !seen[p] && !known[p] {
			seen[p] = true
			out = append(out, text)
		}
	}
	return out
}

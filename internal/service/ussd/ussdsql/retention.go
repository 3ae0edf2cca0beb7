package ussdsql

import "github.com/castalia-org/castalia/internal/platform/retention"

// Retained are the records that operators may choose to keep for a while only.
func (s *Store) Retained() map[string][]retention.Source {
	return map[string][]retention.Source{
		retention.Forms: {retention.Rows{
			DB: s.db, Name: "ussd_submissions", At: "at_ms", Slice: 200,
			Parts: []retention.Part{{Table: "ussd_submission_values", Where: "submission = $1"}},
		}},
		retention.Audit: {retention.Rows{DB: s.db, Name: "ussd_acts", At: "at_ms", Slice: 200}},
	}
}

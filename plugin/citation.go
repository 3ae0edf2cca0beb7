package plugin

// Citation is a passage that an answer points to as [Number]. Numbers are unique in
// a turn.
type Citation struct {
	Number int `json:"number"`
	// Collection and Document say where the passage stands, Passage names it, as
	// knowledge_read and GET /knowledge/passages/{passage} take it.
	Collection     string   `json:"collection"`
	CollectionName string   `json:"collectionName,omitempty"`
	Document       string   `json:"document"`
	Passage        string   `json:"passage"`
	Title          string   `json:"title"`
	Name           string   `json:"name,omitempty"`
	Page           int      `json:"page,omitempty"`
	Headings       []string `json:"headings,omitempty"`
	// Text is what the model was shown of the passage, bounded.
	Text string `json:"text"`
}

package instructions

// Everyday are questions that every oracle answers, also without a model.
func Everyday() []Opening {
	return untitled("What is Castalia?", "What can you do?", "How do I add a document?", "List my files")
}

// Sample are questions that the documents of the sample community answer.
func Sample() []Opening {
	return untitled("When is the clinic open on Saturday?", "What did we decide about the pump?", "How much is DAP?",
		"Mbolea ya DAP ni bei gani?", "What is Castalia?")
}

// untitled are questions that are shown as they are.
func untitled(questions ...string) []Opening {
	out := make([]Opening, len(questions))
	for i, q := range questions {
		out[i] = Opening{Title: q, Text: q}
	}
	return out
}

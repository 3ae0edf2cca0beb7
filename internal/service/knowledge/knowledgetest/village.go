package knowledgetest

import "fmt"

// VillageHours is the document of a Village that VillageWords mean.
const VillageHours = "hours.txt"

// VillageWords ask for VillageHours with words that share no letters with it.
const VillageWords = "zahanati kufungua"

// Village are documents by name: enough of them that it is known what is usual.
func Village() map[string]string {
	out := map[string]string{VillageHours: "# Hours\nThe dispensary opens early."}
	for i := range 30 {
		out[fmt.Sprintf("%02d.txt", i)] = fmt.Sprintf("# House %d\nHouse number%d has roof%d, wall%d and garden%d behind fence%d.", i, i, i, i, i, i)
	}
	return out
}

// VillageEmbedder knows what VillageWords mean.
func VillageEmbedder(model string) *Embedder {
	return &Embedder{Name: model, Same: map[string]string{"zahanati": "dispensary", "kufungua": "opens"}}
}

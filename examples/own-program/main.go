// Command oracle is Castalia with a plugin of this folder.
package main

import "github.com/castalia-org/castalia"

func main() { castalia.Main(&Hours{}) }

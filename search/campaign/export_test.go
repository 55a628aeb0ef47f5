package campaign

import "slices"

// Known says whether a guarantee has a place among the causes.
func Known(guarantee string) bool { return slices.Contains(causes, guarantee) }

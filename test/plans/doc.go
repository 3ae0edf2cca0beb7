// Package plans holds what workers do all the time, and what operators' pages ask, to the rows that they
// read on a database in which every table is large: CASTALIA_LONG=1 makes it a million rows each.
package plans

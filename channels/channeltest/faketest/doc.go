// Package faketest has what the servers of the fake platforms share: a lock whose holder tells others that
// something changed, faults that are arranged for calls to come, and a listener inside the process, for
// tests in a testing/synctest bubble.
package faketest

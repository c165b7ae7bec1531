// Package wire is what the providers of core/model share about the far end of a connection: its address
// ([ParseBase]), the bounded and never redirected exchange with it ([Client], [Bounded]), what its refusals
// mean to a person ([Far.Refused], [Said]), what a broken exchange means ([Far.Transport]), and the names
// and ids that every protocol takes ([ToolName], [UsableID]).
//
// The errors made here are *model.Error. They hold no key, no user information of an address and no text
// that a server wrote, since servers quote keys and conversations; only its status and code words.
package wire

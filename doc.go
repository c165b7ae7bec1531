// Package parley runs agents that stop when they need a person: a tool call waits for an approval, the model
// asks a question, a tool asks for a form, a confirmation or a step on a web page. A turn that waits is in a
// file and nowhere else; it goes on from where it stopped, minutes or days later, in whichever process.
//
//	rt, err := parley.Open("agents.db", parley.Options{})
//	agent, err := rt.Agent(parley.Definition{ID: "ops", Model: m, Tools: []parley.Tool{drop}})
//	run, err := agent.Run(ctx, "Delete the staging database", parley.User("alice"))
//	for err == nil && run.Status == parley.InputRequired {
//		run, err = run.Inputs[0].Answer(ctx, true, parley.From("alice"))
//	}
//	fmt.Println(run.Text)
//
// Every answer goes through the same rules as one typed in a chat: who may, what fits, once.
package parley

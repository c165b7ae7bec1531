package program

import (
	"github.com/spf13/cobra"
)

func (p *program) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "About the configuration file", Args: cobra.NoArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(&cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := p.stdout.Write(configSchema)
			return err
		},
	})
	return cmd
}

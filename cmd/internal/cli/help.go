package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/export/terminal"
)

// Commands stand in the order in which one needs them.
func init() { cobra.EnableCommandSorting = false }

// usage is cobra's own template, with commands in groups and flags that fit a terminal.
const usage = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$all := .Commands}}{{range $g := .Groups}}

{{$g.Title}}{{range $all}}{{if and (eq .GroupID $g.ID) .IsAvailableCommand}}
  {{rpad .Name 16}}{{.Short}}{{end}}{{end}}{{end}}{{$other := true}}{{range $all}}{{if and (eq .GroupID "") (or .IsAvailableCommand (eq .Name "help"))}}{{if $other}}

Other commands:{{$other = false}}{{end}}
  {{rpad .Name 16}}{{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Global flags:
{{.InheritedFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

"{{.CommandPath}} COMMAND --help" says more about a command.{{end}}
`

// helpful gives a root command, and so all below it, help that fits a terminal.
func helpful(root *cobra.Command) {
	root.SetUsageTemplate(usage)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		text := c.Long
		if text == "" {
			text = c.Short
		}
		for _, paragraph := range strings.Split(text, "\n\n") {
			for _, line := range terminal.Flow(paragraph, terminal.Columns) {
				c.Println(line)
			}
			c.Println()
		}
		c.Print(c.UsageString())
	})
}

// section adds commands below a title, in this order.
func section(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

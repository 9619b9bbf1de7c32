package main

import (
	"embed"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
)

// completions are the shells' scripts, which ask the program itself what fits.
//
//go:embed completion/hanse.bash completion/hanse.zsh completion/hanse.fish
var completions embed.FS

// completionCommand prints what makes a shell complete commands.
func completionCommand() *cli.Command {
	shells := []string{"bash", "zsh", "fish"}
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the script that makes a shell complete commands and flags",
		ArgsUsage: "bash|zsh|fish",
		Description: `In the shell that is open:

   source <(hanse completion bash)
   hanse completion fish | source

In every one from now on:

   hanse completion bash > ~/.local/share/bash-completion/completions/hanse
   hanse completion zsh > ~/.zfunc/_hanse      # and in ~/.zshrc, before compinit:
                                               # fpath+=~/.zfunc
   hanse completion fish > ~/.config/fish/completions/hanse.fish`,
		BashComplete: func(c *cli.Context) {
			for _, shell := range shells {
				fmt.Fprintln(c.App.Writer, shell)
			}
		},
		Action: anyOrder(func(c *cli.Context) error {
			shell, err := oneArgument(c, "shell", "bash|zsh|fish")
			if err != nil {
				return err
			}
			text, err := completions.ReadFile("completion/hanse." + shell)
			if err != nil {
				return usage.Errorf("there is no completion for %q; want bash, zsh or fish%s", shell,
					wording.DidYouMean(shell, shells))
			}
			_, err = c.App.Writer.Write(text)
			return err
		}),
	}
}

// setCompletion has shells complete the flags of a command and of all below it. Where a command takes arguments, the
// library would offer help alone: saying nothing has shells offer files.
func setCompletion(c *cli.Command) {
	for _, sub := range c.Subcommands {
		setCompletion(sub)
	}
	if len(c.Subcommands) == 0 && c.BashComplete == nil {
		c.BashComplete = cli.DefaultCompleteWithFlags(&cli.Command{Flags: append(slices.Clip(c.Flags), cli.HelpFlag)})
	}
}

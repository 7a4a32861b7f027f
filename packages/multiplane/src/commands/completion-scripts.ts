/*
 * `multiplane __complete <words>` prints a word per line, with a tab and its description, then `:4`, or `:0` where files are
 * completed: the form of cobra.
 */

/** The descriptions and the directive are dropped: bash shows words only. */
const bash = String.raw`# bash completion of multiplane
_multiplane_complete() {
  local line="${'${COMP_LINE:0:COMP_POINT}'}" words=() word
  read -ra words <<<"$line"
  case "$line" in *[[:space:]]) words+=("") ;; esac
  word="${'${words[${#words[@]}-1]}'}"
  local answer directive candidate start=""
  answer="$(multiplane __complete "${'${words[@]:1}'}" 2>/dev/null)" || return
  directive="${'${answer##*:}'}"
  # Readline replaces only what follows the last of these.
  case "$COMP_WORDBREAKS" in *:*) case "$word" in *:*) start="${'${word%:*}'}:" ;; esac ;; esac
  if [ -z "$start" ]; then
    case "$COMP_WORDBREAKS" in *=*) case "$word" in --*=*) start="${'${word%%=*}'}=" ;; esac ;; esac
  fi
  COMPREPLY=()
  while IFS= read -r candidate; do
    case "$candidate" in :[0-9]*) continue ;; esac
    candidate="${"${candidate%%$'\\t'*}"}"
    case "$candidate" in "$word"*) COMPREPLY+=("${'${candidate#"$start"}'}") ;; esac
  done <<<"$answer"
  if [ "$directive" = 0 ]; then
    while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "${'${word#"$start"}'}")
  fi
}
complete -o filenames -o nosort -F _multiplane_complete multiplane 2>/dev/null ||
  complete -o filenames -F _multiplane_complete multiplane
`;

const zsh = String.raw`#compdef multiplane
# zsh completion of multiplane
_multiplane() {
  local -a lines described
  local line directive
  lines=("${'${(@f)$(multiplane __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}'}")
  directive="${'${lines[-1]}'}"
  for line in "${'${(@)lines[1,-2]}'}"; do
    # _describe separates word and description by the first colon that has no backslash.
    described+=("${"${${line%%$'\\t'*}//:/\\\\:}"}:${"${line#*$'\\t'}"}")
  done
  if [[ "$directive" == ":0" ]]; then
    _files
  else
    _describe -V 'multiplane' described
  fi
}
compdef _multiplane multiplane
`;

const fish = String.raw`# fish completion of multiplane
function __multiplane_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (multiplane __complete $words[2..-1] 2>/dev/null)
    for line in $lines
        switch $line
            case ':0'
                __fish_complete_path (commandline -ct)
            case ':*'
            case '*'
                echo $line
        end
    end
end
complete -c multiplane -f -a '(__multiplane_complete)'
`;

const powershell = String.raw`# PowerShell completion of multiplane
Register-ArgumentCompleter -Native -CommandName multiplane -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
    # An empty argument is dropped by versions before 7.3, so one is passed in quotes.
    if ($wordToComplete -eq '') { $words += if ($PSVersionTable.PSVersion -ge [version]'7.3') { '' } else { '""' } }
    multiplane __complete @words 2>$null | Where-Object { $_ -notmatch '^:\d+$' } | ForEach-Object {
        $word, $description = $_ -split "${'`'}t", 2
        if (-not $description) { $description = $word }
        [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $description)
    }
}
`;

/** Per shell the script, and the command that installs it. */
export const completionScripts: Readonly<Record<string, { readonly install: string; readonly script: string }>> = {
  bash: { install: 'source <(multiplane completion bash), in ~/.bashrc', script: bash },
  zsh: { install: 'source <(multiplane completion zsh), in ~/.zshrc after compinit', script: zsh },
  fish: { install: 'multiplane completion fish > ~/.config/fish/completions/multiplane.fish', script: fish },
  powershell: {
    install: 'multiplane completion powershell | Out-String | Invoke-Expression, in $PROFILE',
    script: powershell,
  },
};
